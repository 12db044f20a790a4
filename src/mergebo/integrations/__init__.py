"""Integrations with other tools; each module needs its tool to be installed."""

__all__: list[str] = []
