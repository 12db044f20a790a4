"""Tables in Markdown, LaTeX and HTML, and the formatting of numbers in them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape

import numpy as np

from mergebo._typing import Floats
from mergebo.errors import ShapeError
from mergebo.experiments.statistics import Estimate

EMPTY = "\N{EN DASH}"
"""The text of an empty cell."""

THIN = "\N{NARROW NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"

LATEX = {
    "\\": r"\textbackslash{}",
    **{each: "\\" + each for each in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
    MINUS: r"$-$",
    EMPTY: "--",
    THIN: r"\,",
}
"""LaTeX escapes by character."""


class Bold(str):
    """The text of a cell in bold."""

    __slots__ = ()


@dataclass(frozen=True)
class Table:
    """A table whose first column names the rows."""

    title: str
    note: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.header):
                raise ShapeError(f"the table {self.title!r} has {len(self.header)} columns, got the row {row}")

    def titled(self, more: str) -> Table:
        """The same table with more in its title."""
        return replace(self, title=f"{self.title} ({more})")

    def markdown(self) -> str:
        """Title, table and note in GitHub Flavored Markdown."""

        def cell(text: str) -> str:
            plain = text.replace("\\", "\\\\").replace("|", r"\|").replace("*", r"\*").replace("<", "&lt;")
            return f"**{plain}**" if isinstance(text, Bold) else plain

        lines = [f"| {' | '.join(map(cell, row))} |" for row in (self.header, *self.rows)]
        lines.insert(1, "|" + "|".join(["---", *["---:"] * (len(self.header) - 1)]) + "|")
        return "\n".join([f"**{cell(self.title)}**", "", *lines, "", cell(self.note), ""])

    def latex(self) -> str:
        """A table environment; needs the package booktabs."""

        def cell(text: str) -> str:
            plain = "".join(LATEX.get(character, character) for character in text)
            return rf"\textbf{{{plain}}}" if isinstance(text, Bold) else plain

        lines = [" & ".join(map(cell, row)) + r" \\" for row in (self.header, *self.rows)]
        return "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{cell(self.title)}. {cell(self.note)}}}",
                rf"\begin{{tabular}}{{l{'r' * (len(self.header) - 1)}}}",
                r"\toprule",
                lines[0],
                r"\midrule",
                *lines[1:],
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
                "",
            ]
        )

    def html(self) -> str:
        """A table element in a horizontally scrollable box, and the note."""

        def cell(text: str, tag: str = "td") -> str:
            inner = f"<strong>{escape(text)}</strong>" if isinstance(text, Bold) else escape(text)
            return f"<{tag}>{inner}</{tag}>"

        head = "".join(cell(text, "th") for text in self.header)
        body = "\n".join(f"<tr>{cell(row[0], 'th')}{''.join(cell(text) for text in row[1:])}</tr>" for row in self.rows)
        note = f'<p class="note">{escape(self.note)}</p>' if self.note else ""
        return (
            f'<div class="table"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>\n{note}'
        )


def format_number(number: float | None, digits: int = 3) -> str:
    """A number with `digits` significant digits, in scientific notation only if it is very small.

    >>> format_number(14923.0).replace(THIN, " "), format_number(0.07671), format_number(2.0)
    ('14 900', '0.0767', '2')
    """
    if number is None or not math.isfinite(number):
        return EMPTY
    rounded = float(f"{number:.{digits}g}")
    if rounded == 0:
        return "0"
    size = math.floor(math.log10(abs(rounded)))
    if size < -4:
        return f"{rounded:.{digits - 1}e}".replace("-", MINUS)
    decimals = 0 if rounded == int(rounded) else max(0, digits - 1 - size)
    return f"{rounded:,.{decimals}f}".replace(",", THIN).replace("-", MINUS)


def quoted_figure(number: float | None) -> str:
    """A published number, with all its digits.

    >>> quoted_figure(0.013), quoted_figure(38.3 * 1e5).replace(THIN, " ")
    ('0.013', '3 830 000')
    """
    return EMPTY if number is None else f"{number:,.9g}".replace(",", THIN)


def mean_and_std(values: Floats, digits: int = 3) -> str:
    """Mean ± standard deviation of values."""
    deviation = f" ± {format_number(float(values.std(ddof=1)))}" if len(values) > 1 else ""
    return format_number(float(values.mean()), digits) + deviation


def format_score(value: Estimate | None, sign: str = "") -> str:
    """A score ± its standard error; `sign="+"` for a difference of scores."""
    if value is None:
        return EMPTY
    error = f" ± {value.error:.2f}" if value.error is not None else ""
    return format_fixed(value.mean, sign) + error


def part_of(count: int, total: int) -> str:
    """A count, followed by the total if that is larger.

    >>> part_of(3, 5), part_of(5, 5)
    ('3 of 5', '5')
    """
    return str(count) if count == total else f"{count} of {total}"


def format_fixed(number: float, sign: str = "") -> str:
    """A number with two decimals; `sign="+"` always shows the sign."""
    return f"{round(number, 2) + 0.0:{sign}.2f}".replace("-", MINUS)


def p_value(p: float) -> str:
    """A p-value, or `<0.001`.

    >>> p_value(0.0213), p_value(1e-9), p_value(1.0)
    ('0.021', '<0.001', '1')
    """
    return "<0.001" if p < 0.001 else format_number(p, 2)


def best_bold(cells: Sequence[tuple[float | None, str]], *, largest: bool = False) -> list[str]:
    """The texts of a row of numbers, with the best one, or all ties for the best, in bold."""
    known = [figure for figure, _ in cells if figure is not None]
    best = (max if largest else min)(known) if len(known) > 1 else None
    return [
        Bold(text) if best is not None and figure is not None and np.isclose(figure, best) else text
        for figure, text in cells
    ]
