"""Tables in Markdown, LaTeX and HTML, and the formatting of numbers in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape

import numpy as np

from mergebo.errors import ShapeError
from mergebo.experiments.formatting import EMPTY, MINUS, THIN

__all__ = ["Table"]

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
        """The same table with `more` in brackets after its title."""
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


def best_bold(cells: Sequence[tuple[float | None, str]], *, largest: bool = False) -> list[str]:
    """The texts of a row of numbers, with the best one, or all ties for the best, in bold."""
    known = [figure for figure, _ in cells if figure is not None]
    best = (max if largest else min)(known) if len(known) > 1 else None
    return [
        Bold(text) if best is not None and figure is not None and np.isclose(figure, best) else text
        for figure, text in cells
    ]
