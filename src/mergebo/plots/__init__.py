"""Figures. They need the extra `mergebo[plot]`."""

__all__: list[str] = []
