"""Figures. They need the extra `mergebo[plot]`."""
