"""`mergebo methods`: list the optimization methods."""

from __future__ import annotations

from mergebo.cli.output import Json, console, print_json


def methods(as_json: Json = False) -> None:
    """List the optimization methods with a short description of each.

    Example: `mergebo methods`
    """
    from rich.table import Table
    from rich.text import Text

    from mergebo.methods.registry import METHODS

    if as_json:
        print_json({name: info.description for name, info in METHODS.items()})
        return
    table = Table("method", "description", box=None, pad_edge=False, header_style="bold")
    for name, info in METHODS.items():
        table.add_row(name, Text(info.description))
    console().print(table)
