"""mergebo inside other tools; each module needs its tool installed."""
