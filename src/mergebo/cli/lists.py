"""`mergebo problems` and `mergebo methods`: what there is."""

from __future__ import annotations

from typing import Annotated

import typer

from mergebo.cli.screen import Json, console, number, print_json, say


def problems(
    family: Annotated[str, typer.Argument(help="Such as `tsp`; all of them otherwise.")] = "",
    as_json: Json = False,
) -> None:
    """List the benchmark problems that come along, with their sizes and best known values.

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
        table.add_row(Text(each.name), str(each.space.width), number(_best(each)))
    console().print(table)
    say()
    say('In Python: mb.problems.get("tsp:a280"); ~7 behind a name renames the items at random, with seed 7.')


def _best(problem: object) -> float | None:
    optimum = getattr(problem, "optimum", None)
    return None if optimum is None else float(optimum.value)


def methods(as_json: Json = False) -> None:
    """List the methods, with what each is.

    Example: `mergebo methods`
    """
    from rich.table import Table
    from rich.text import Text

    from mergebo.optimizers.methods import ABOUT

    if as_json:
        print_json(ABOUT)
        return
    table = Table("method", "what it is", box=None, pad_edge=False, header_style="bold")
    for name, text in ABOUT.items():
        table.add_row(name, Text(text))
    console().print(table)
