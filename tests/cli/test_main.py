"""The command line as a whole: help, version, errors, and settings of other packages."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any
from unittest import mock

import optuna
import pytest
from rich.emoji import Emoji
from typer.core import TyperArgument, TyperOption
from typer.main import get_command

from cli_helpers import (
    JOURNAL,
    MISPLACED,
    optimize,
    refused,
    run,
    script,
    works,
)
from mergebo import studies
from mergebo.cli import PANELS, app
from mergebo.studies.storage import open_storage

COMMANDS = [name for panel in PANELS.values() for name in panel] + ["bench run", "bench report", "bench suites"]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command: str) -> None:
    output = works(*command.split(), "--help")
    assert f"Example: mergebo {command}" in output.out


@pytest.mark.parametrize("command", ["new", "optimize"])
def test_help_shows_examples_literally(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rich would turn `:100:` into an emoji, also inside backticks."""
    monkeypatch.setenv("COLUMNS", "200")  # so that lines are not wrapped
    assert "heat=20:80, or time=0.1:10:log for a log scale" in works(command, "--help").out


def test_help_has_no_emoji_codes() -> None:
    def texts(command: Any) -> Iterator[str]:
        yield command.help or ""
        yield from (
            parameter.help or "" for parameter in command.params if isinstance(parameter, TyperOption | TyperArgument)
        )
        for each in getattr(command, "commands", {}).values():
            yield from texts(each)

    found = list(texts(get_command(app)))
    assert len(found) > 80
    assert [text for text in found if Emoji.replace(text) != text] == []


@pytest.mark.slow
def test_help_lists_every_command_without_heavy_imports() -> None:
    code = "import sys; from mergebo.cli import main\ntry: main()\nfinally: print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=True)
    shown, loaded = done.stdout.rstrip().rsplit("\n", 1)
    assert not {"numpy", "scipy", "numba", "torch", "optuna", "sqlalchemy", "matplotlib"} & set(loaded.split())
    for command in COMMANDS:
        assert command.split()[0] in shown


def test_no_arguments_show_the_help() -> None:
    output = run()
    assert "Usage: mergebo" in output.out + output.err


def test_version_and_completion() -> None:
    assert works("--version").out.startswith("mergebo 0.")
    script = subprocess.run(  # as a shell asks for it; --show-completion would detect the shell first
        [sys.executable, "-m", "mergebo"],
        env={**os.environ, "_MERGEBO_COMPLETE": "source_bash"},
        capture_output=True,
        text=True,
    )
    assert "complete -o default" in script.stdout


def test_unknown_commands_and_options_are_refused() -> None:
    for arguments in (["aks"], ["ask", "--cuont", "3"], ["ask", "-k", "0"], ["ask", "-k", "x"], ["new"], ["optimize"]):
        output = run(*arguments)
        assert output.status == 2
        assert output.out == ""


def test_errors_of_bench() -> None:
    assert "paper-low" in works("bench", "suites").out
    assert "must be one of" in refused("bench", "run", "--suite", "paper", "--out", "x")


def test_bugs_are_not_hidden() -> None:
    with mock.patch("mergebo.cli.methods.print_json", side_effect=ZeroDivisionError), pytest.raises(ZeroDivisionError):
        run("methods", "--json")


@pytest.mark.slow
def test_settings_of_other_packages_are_restored() -> None:
    """Log level of Optuna, garbage collector, warning filters: the same after a command, or after opening a storage."""
    before = optuna.logging.get_verbosity(), gc.get_threshold(), [*warnings.filters]
    works("new", "one", "--items", "a,b,c")
    works("ask", "--json")
    optimize(script(MISPLACED) + " {order}", 2, "--storage", "sqlite:///x.db", items="a,b,c")
    refused("ask", "--storage", "sqlite:///missing.db")
    assert studies.load(JOURNAL, "one").name == "one"
    assert (optuna.logging.get_verbosity(), gc.get_threshold(), [*warnings.filters]) == before


def test_optuna_logs_nothing_during_a_command_and_as_usual_afterwards(caplog: pytest.LogCaptureFixture) -> None:
    logger = optuna.logging.get_logger("optuna")
    logger.addHandler(caplog.handler)
    try:
        works("new", "one", "--items", "a,b,c")
        assert not caplog.messages
        optuna.create_study(storage=open_storage(JOURNAL))
        assert "A new study" in caplog.messages[0]
    finally:
        logger.removeHandler(caplog.handler)
