"""The command line: `mergebo --help`."""

from __future__ import annotations

import sys

import typer

from mergebo.cli.bench import bench
from mergebo.errors import MergeboError

app = typer.Typer(
    name="mergebo",
    help="Bayesian optimization over permutations: the best order of things, when each trial is expensive.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
app.add_typer(bench, name="bench")


@app.callback()
def _root() -> None:
    """Keeps `bench` a command of its own."""


def main() -> None:
    """Run the command line. What a user got wrong is said in one line; exit status 2."""
    try:
        app()
    except MergeboError as error:
        print(f"mergebo: {error}", file=sys.stderr)
        sys.exit(2)
