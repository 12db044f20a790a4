"""`mergebo problems`: list the benchmark problems."""

from __future__ import annotations

from typing import Annotated

import typer

from mergebo._text import format_number
from mergebo.cli.output import Json, console, echo, print_json


def problems(
    family: Annotated[str, typer.Argument(help="Family of problems, such as `tsp`; all by default.")] = "",
    as_json: Json = False,
) -> None:
    """List the built-in benchmark problems with their sizes and best known values.

    Example: `mergebo problems tsp`
    """
    from rich.table import Table
    from rich.text import Text

    from mergebo.problems import available, get

    found = [get(name) for name in available(family or None)]
    if as_json:
        print_json([{"name": each.name, "numbers": each.space.width, "best known": _best(each)} for each in found])
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("problem", overflow="fold")
    table.add_column("numbers in a point", justify="right")
    table.add_column("best known value", justify="right")
    for each in found:
        table.add_row(Text(each.name), str(each.space.width), format_number(_best(each)))
    console().print(table)
    echo()
    echo('In Python: mb.problems.get("tsp:a280"). Add ~7 to a name to relabel the items at random with seed 7.')


def _best(problem: object) -> float | None:
    optimum = getattr(problem, "optimum", None)
    return None if optimum is None else float(optimum.value)
