"""Optima and best-known values of the benchmark problems: the solvers that find them, and the command that stores them."""

__all__: list[str] = []
