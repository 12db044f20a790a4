"""The command line, `mergebo --help`. Each command has a module, which imports what it needs when it runs."""

from __future__ import annotations

import functools
import gc
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

import mergebo
from mergebo.cli.ask import ask
from mergebo.cli.bench import bench
from mergebo.cli.best import best
from mergebo.cli.demo import demo
from mergebo.cli.export import export
from mergebo.cli.import_ import import_
from mergebo.cli.methods import methods
from mergebo.cli.new import new
from mergebo.cli.optimize import optimize
from mergebo.cli.output import warn
from mergebo.cli.plot import plot
from mergebo.cli.problems import problems
from mergebo.cli.show import show
from mergebo.cli.tell import fail, tell
from mergebo.errors import MergeboError

app = typer.Typer(
    name="mergebo",
    help="Bayesian optimization over permutations: find the best order of items when every evaluation is expensive.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
STUDIES: dict[str, dict[str, Callable[..., None]]] = {
    "Automatic studies": {"optimize": optimize},
    "Manual studies": {"new": new, "ask": ask, "tell": tell, "fail": fail},
    "Results": {"best": best, "show": show, "plot": plot, "export": export, "import": import_},
}
"""Commands that work on studies, which are stored by Optuna."""
PANELS: dict[str, dict[str, Callable[..., None]]] = {
    **STUDIES,
    "Reference": {"demo": demo, "methods": methods, "problems": problems},
}
SETTINGS: dict[str, dict[str, Any]] = {"tell": {"ignore_unknown_options": True}}
"""-3.2 is a value, not an option."""
ALLOCATIONS = 50_000
"""Number of new objects after which Python looks for garbage; 700 by default."""


def _quiet(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command so that Optuna logs only errors while it runs."""

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        import optuna

        from mergebo.studies.storage import log_level

        with log_level(optuna.logging.ERROR):
            command(**arguments)

    return run


for _panel, _commands in PANELS.items():
    for _name, _command in _commands.items():
        _register = app.command(_name, rich_help_panel=_panel, context_settings=SETTINGS.get(_name))
        _register(_quiet(_command) if _panel in STUDIES else _command)
app.add_typer(bench, name="bench", rich_help_panel="Reference")


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"mergebo {mergebo.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", callback=_version)] = False,
) -> None:
    pass


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Look for garbage less often, which would take as long as reading the trials: they live until the command ends."""
    before = gc.get_threshold()
    gc.set_threshold(ALLOCATIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def main() -> None:
    """Run the command line. An invalid request ends with a one-line message and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # an arrow that the terminal cannot encode must not end the program
    try:
        with _rare_collections():
            app(prog_name="mergebo")
    except MergeboError as error:
        warn(str(error))
        sys.exit(2)
    except Exception as error:
        from mergebo.studies.storage import database_error

        message = database_error(error)
        if message is None:
            raise
        warn(f"the storage of the studies failed: {message}")
        sys.exit(2)
