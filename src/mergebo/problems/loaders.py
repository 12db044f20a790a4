"""Readers for the public instance formats: TSPLIB, QAPLIB and travelling thief files.

Malformed files raise an `InstanceFileError` with the file name, the line and the error.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from mergebo._typing import Ints
from mergebo.errors import InstanceFileError, NotAPermutationError
from mergebo.permutations import validate
from mergebo.problems.qap import QAP
from mergebo.problems.tsp import TSP, euclidean
from mergebo.problems.ttp import TTP

__all__ = ["read_qaplib", "read_qaplib_solution", "read_tour", "read_tsplib", "read_ttp"]


class TextFile(Protocol):
    """A text file: a path, or data inside the package."""

    @property
    def name(self) -> str: ...

    def read_text(self, encoding: str) -> str: ...


class Lines:
    """A reader of the lines of a file, whose errors give the line number."""

    def __init__(self, file: str | TextFile) -> None:
        source = Path(file) if isinstance(file, str) else file
        self.file = str(source) if isinstance(source, Path) else source.name
        try:
            text = source.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InstanceFileError(f"{self.file}: cannot be read as text: {error}") from error
        self.lines = text.splitlines()
        self.number = 0

    def fail(self, message: str) -> NoReturn:
        """Raise an error for the last line read."""
        raise InstanceFileError(f"{self.file}, line {self.number}: {message}")

    def next(self, what: str) -> str:
        """The next line that is not blank."""
        while self.more():
            line = self.lines[self.number].strip()
            self.number += 1
            if line:
                return line
        return self.fail(f"the file ends where {what} should follow")

    def more(self) -> bool:
        """Whether any non-blank lines remain."""
        return any(not line.isspace() and line for line in islice(self.lines, self.number, None))

    def numbers(self, line: str, what: str, count: int | None = None) -> list[float]:
        """The numbers on a line."""
        try:
            values = [float(token) for token in line.split()]
        except ValueError:
            self.fail(f"expected numbers ({what}), got {line[:60]!r}")
        if count is not None and len(values) != count:
            self.fail(f"expected {count} numbers ({what}), got {len(values)}: {line[:60]!r}")
        if not np.isfinite(values).all():
            self.fail(f"expected finite numbers ({what}), got {line[:60]!r}")
        return values

    def take(self, count: int, what: str) -> NDArray[np.float64]:
        """`count` numbers, over as many lines as necessary."""
        values: list[float] = []
        while len(values) < count:
            values += self.numbers(self.next(f"{what} ({len(values)} of {count} numbers so far)"), what)
        if len(values) > count:
            self.fail(f"{what} should be {count} numbers, got {len(values)}")
        return np.array(values)

    def table(self, count: int, columns: str) -> NDArray[np.float64]:
        """`count` lines, each with its index (from 1) and the named columns."""
        width = len(columns.split(", "))
        out = np.empty((count, width - 1))
        for k in range(count):
            index, *values = self.numbers(self.next(f"entry {k + 1} of {count}"), columns, width)
            if index != k + 1:
                self.fail(f"expected entry {k + 1} of {count}, got {index:g}")
            out[k] = values
        return out

    def header(self, stop: Callable[[str], bool]) -> tuple[dict[str, str], str]:
        """The `KEY: value` lines before the first section, and the line that starts the section."""
        found: dict[str, str] = {}
        while True:
            line = self.next("a section with data")
            if stop(line):
                return found, line
            key, colon, value = line.partition(":")
            if not colon:
                self.fail(f"expected 'KEY: value' or the start of a section, got {line[:60]!r}")
            found[key.strip().upper()] = value.strip()

    def count(self, header: dict[str, str], key: str) -> int:
        """A positive integer from the header."""
        value = self.value(header, key)
        if value < 1 or value != int(value):
            self.fail(f"{key} must be a positive integer, got {header[key]!r}")
        return int(value)

    def value(self, header: dict[str, str], key: str) -> float:
        """A number from the header."""
        if key not in header:
            self.fail(f"the header has no {key}")
        return self.numbers(header[key], key, 1)[0]

    def order(self, values: NDArray[np.float64], what: str) -> Ints:
        """An order of items numbered from 1, renumbered from 0."""
        try:
            return validate(values - 1)
        except NotAPermutationError as error:
            self.fail(f"{what} is not a permutation of 1..{len(values)} (counted from 0: {error})")


def read_tsplib(file: str | TextFile, name: str | None = None) -> TSP:
    """A TSP or ATSP in TSPLIB's format: EUC_2D, CEIL_2D or EXPLICIT distances."""
    lines = Lines(file)
    header, section = lines.header(lambda line: line.rstrip(": ").endswith("_SECTION"))
    n = lines.count(header, "DIMENSION")
    kind = header.get("EDGE_WEIGHT_TYPE", "")
    title = name or f"tsp:{header.get('NAME', Path(lines.file).stem)}"
    metrics: dict[str, Any] = {"EUC_2D": "round", "CEIL_2D": "ceil"}
    if kind in metrics:
        if not section.startswith("NODE_COORD_SECTION"):
            lines.fail(f"expected NODE_COORD_SECTION for {kind}, got {section!r}")
        coordinates = lines.table(n, "city, x, y")
        return TSP(title, euclidean(coordinates, metrics[kind]), coordinates)
    if kind != "EXPLICIT":
        lines.fail(f"EDGE_WEIGHT_TYPE {kind!r} is not supported; use EUC_2D, CEIL_2D or EXPLICIT")
    if not section.startswith("EDGE_WEIGHT_SECTION"):
        lines.fail(f"expected EDGE_WEIGHT_SECTION for EXPLICIT, got {section!r}")
    return TSP(title, _explicit(lines, header.get("EDGE_WEIGHT_FORMAT", ""), n))


def _explicit(lines: Lines, layout: str, n: int) -> NDArray[np.float64]:
    triangles = {
        "UPPER_ROW": np.triu_indices(n, 1),
        "UPPER_DIAG_ROW": np.triu_indices(n),
        "LOWER_ROW": np.tril_indices(n, -1),
        "LOWER_DIAG_ROW": np.tril_indices(n),
    }
    if layout == "FULL_MATRIX":
        return lines.take(n * n, "EDGE_WEIGHT_SECTION").reshape(n, n)
    if layout not in triangles:
        lines.fail(f"EDGE_WEIGHT_FORMAT {layout!r} is not supported; use FULL_MATRIX, {', '.join(triangles)}")
    matrix = np.zeros((n, n))
    matrix[triangles[layout]] = lines.take(len(triangles[layout][0]), "EDGE_WEIGHT_SECTION")
    return np.maximum(matrix, matrix.T)


def read_tour(file: str | TextFile) -> Ints:
    """The order of cities, numbered from 0, in a TSPLIB tour file."""
    lines = Lines(file)
    header, _ = lines.header(lambda line: line.startswith("TOUR_SECTION"))
    return lines.order(lines.take(lines.count(header, "DIMENSION"), "TOUR_SECTION"), "the tour")


def read_qaplib(file: str | TextFile, name: str | None = None) -> QAP:
    """A QAPLIB `.dat` file: n, then the matrices A and B."""
    lines = Lines(file)
    n = _size(lines, lines.numbers(lines.next("the size n"), "the size n", 1)[0])
    a, b = (lines.take(n * n, f"matrix {which}").reshape(n, n) for which in "AB")
    if lines.more():
        lines.fail("the file contains more than n and two n x n matrices")
    return QAP(name or f"qap:{Path(lines.file).stem}", a, b)


def read_qaplib_solution(file: str | TextFile) -> tuple[float, Ints]:
    """A QAPLIB `.sln` file: n and the value, then the permutation, converted to numbers from 0."""
    lines = Lines(file)
    size, value = lines.numbers(lines.next("n and the value").replace(",", " "), "n and the value", 2)
    n = _size(lines, size)
    lines.lines[lines.number :] = [line.replace(",", " ") for line in lines.lines[lines.number :]]
    return value, lines.order(lines.take(n, "the permutation"), "the solution")


def _size(lines: Lines, value: float) -> int:
    if value < 1 or value != int(value):
        lines.fail(f"the size n must be a positive integer, got {value:g}")
    return int(value)


def read_ttp(file: str | TextFile, name: str | None = None, **options: Any) -> TTP:
    """A travelling thief file in the format of Polyakovskiy et al.; options go to `TTP` (such as `overweight="penalty"`)."""
    lines = Lines(file)
    header, _ = lines.header(lambda line: line.startswith("NODE_COORD_SECTION"))
    if header.get("EDGE_WEIGHT_TYPE") != "CEIL_2D":
        lines.fail(f"EDGE_WEIGHT_TYPE must be CEIL_2D, got {header.get('EDGE_WEIGHT_TYPE')!r}")
    n, items = lines.count(header, "DIMENSION"), lines.count(header, "NUMBER OF ITEMS")
    slowest, fastest = lines.value(header, "MIN SPEED"), lines.value(header, "MAX SPEED")
    if not 0 < slowest <= fastest:
        lines.fail(f"MIN SPEED must be above 0 and at most MAX SPEED, got {slowest:g} and {fastest:g}")
    capacity = lines.value(header, "CAPACITY OF KNAPSACK")
    if not capacity > 0:
        lines.fail(f"CAPACITY OF KNAPSACK must be above 0, got {capacity:g}")
    coordinates = lines.table(n, "city, x, y")
    section = lines.next("ITEMS SECTION")
    if not section.startswith("ITEMS SECTION"):
        lines.fail(f"expected ITEMS SECTION, got {section[:60]!r}")
    profits, weights, cities = lines.table(items, "item, profit, weight, city").T
    if not ((cities >= 1) & (cities <= n)).all():
        lines.fail(f"items are in cities 1..{n}, got {cities[(cities < 1) | (cities > n)][0]:g}")
    if not (weights > 0).all():
        light = int(np.argmin(weights > 0))
        lines.fail(f"weights must be above 0; that of item {light + 1} is {weights[light]:g}")
    return TTP(
        name or f"ttp:{Path(lines.file).stem}",
        coordinates,
        profits,
        weights,
        cities.astype(np.int64) - 1,
        capacity=capacity,
        rent=lines.value(header, "RENTING RATIO"),
        min_speed=slowest,
        max_speed=fastest,
        **options,
    )
