"""Tests, a package so that processes that they start import them from here, not from another package with this name."""
