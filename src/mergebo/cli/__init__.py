"""The command line: `mergebo --help`. One module for each command, which loads what it needs when it runs."""

from __future__ import annotations

import functools
import io
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

import mergebo
from mergebo.cli.ask import ask
from mergebo.cli.bench import bench
from mergebo.cli.best import best
from mergebo.cli.demo import demo
from mergebo.cli.exchange import export, import_
from mergebo.cli.lists import methods, problems
from mergebo.cli.new import new
from mergebo.cli.optimize import optimize
from mergebo.cli.plot import plot
from mergebo.cli.screen import complain
from mergebo.cli.show import show
from mergebo.cli.tell import fail, tell
from mergebo.errors import MergeboError

app = typer.Typer(
    name="mergebo",
    help="Bayesian optimization over permutations: the best order of things, when each trial is expensive.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
STUDIES: dict[str, dict[str, Callable[..., None]]] = {
    "A program of yours says how good an order is": {"optimize": optimize},
    "You say how good an order is": {"new": new, "ask": ask, "tell": tell, "fail": fail},
    "What came of it": {"best": best, "show": show, "plot": plot, "export": export, "import": import_},
}
"""Commands about studies, which Optuna keeps."""
PANELS: dict[str, dict[str, Callable[..., None]]] = {
    **STUDIES,
    "What there is": {"demo": demo, "methods": methods, "problems": problems},
}
SETTINGS: dict[str, dict[str, Any]] = {"tell": {"ignore_unknown_options": True}}
"""-3.2 is a value, not an option."""


def _quiet(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with Optuna's log restricted to errors while it runs."""

    @functools.wraps(command)
    def run(**given: Any) -> None:
        import optuna

        from mergebo.integrations.optuna import log_level

        with log_level(optuna.logging.ERROR):
            command(**given)

    return run


for _panel, _commands in PANELS.items():
    for _name, _command in _commands.items():
        _made = app.command(_name, rich_help_panel=_panel, context_settings=SETTINGS.get(_name))
        _made(_quiet(_command) if _panel in STUDIES else _command)
app.add_typer(bench, name="bench", rich_help_panel="What there is")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mergebo {mergebo.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", help="Say which version this is.", callback=_version)] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line. What a user got wrong is said in one line; exit status 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # an arrow that a terminal does not have must not end the program
    try:
        app(prog_name="mergebo")
    except MergeboError as error:
        complain(str(error))
        sys.exit(2)
    except Exception as error:
        from mergebo.cli.studies import database_said

        said = database_said(error)
        if said is None:
            raise
        complain(f"the storage of the studies failed: {said}")
        sys.exit(2)
