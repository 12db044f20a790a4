"""Addresses of storages, and storages that do not work."""

from __future__ import annotations

import contextlib
import re
import shlex
import sqlite3
from pathlib import Path

import optuna
import pytest

from cli_helpers import (
    refused,
    run,
    works,
)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("", "is not the address of a storage"),
        ("results.db", "did you mean sqlite:///results.db?"),
        ("nosql://x", "is not the address of a storage"),
        ("sqlite://", "does not name a file"),
        ("sqlite:///", "does not name a file"),
        ("sqlite:///:memory:", "does not name a file"),
        ("journal://x.log", "does not name a file"),
        ("sqlite:///no/such/folder/x.db", "the folder of no/such/folder/x.db does not exist"),
        ("journal:///no/such/folder/x.log", "does not exist"),
        ("sqlite:///folder", "folder is a folder"),
        ("sqlite:///text.db", "cannot be opened: text.db is not a database of SQLite"),
        ("journal:///text.db", "cannot be opened"),
        ("journal:///binary", "cannot be opened"),
        ("mysql://me:secret@host/db", "needs a driver that is not installed"),
    ],
)
def test_invalid_storages(url: str, expected: str) -> None:
    Path("folder").mkdir()
    Path("text.db").write_text("no database\n" * 500)
    Path("binary").write_bytes(bytes(range(256)))
    message = refused("new", "--items", "a,b", "--storage", url)
    assert expected in message
    assert "secret" not in message
    assert message.count("\n") == 1
    refused("ask", "--storage", url)


def test_absolute_paths_have_four_slashes(folder: Path) -> None:
    message = refused("new", "--items", "a,b", "--storage", f"journal://{folder}/x.log")
    assert f"has four slashes: journal:///{folder}/x.log" in message
    works("new", "--items", "a,b", "--storage", f"journal:///{folder}/x.log")
    assert (folder / "x.log").exists()


@pytest.mark.slow
def test_a_database_that_cannot_be_written() -> None:
    works("new", "--items", "a,b,c", "--method", "random", "--storage", "sqlite:///x.db")
    with contextlib.closing(sqlite3.connect("x.db")) as database:
        database.execute("create trigger t before insert on trials begin select raise(abort, 'no room'); end")
        database.commit()
    message = refused("ask", "--storage", "sqlite:///x.db")
    assert "the storage of the studies failed: no room" in message
    assert message.count("\n") == 1
    assert "study: no trials yet" in works("show", "--storage", "sqlite:///file:x.db?mode=ro&uri=true").out


def test_a_study_of_another_program() -> None:
    backend = optuna.storages.journal.JournalFileBackend("studies.log")
    other = optuna.create_study(storage=optuna.storages.JournalStorage(backend), study_name="other")
    other.ask()
    assert "'other' in journal:///studies.log was not created by mergebo" in refused("ask")
    assert "was not created by mergebo" in refused(
        "optimize", "--study", "other", "--items", "a,b", "--budget", 1, "--command", "ls {order}"
    )


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:secret@127.0.0.1:1/db",
        "postgresql://127.0.0.1:1/db?user=u&password=secret",
        "postgresql:/u:secret@h/db",
        "journal://u:secret@h/x",
        "u:secret@h/db",
        "host=h user=u password=secret dbname=x",
        "postgresql://u:se@cret@127.0.0.1:1/db",
    ],
)
def test_passwords_are_not_shown(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for command in (["show"], ["new", "--items", "a,b"], ["ask", "--json"]):
        assert "cret" not in refused(*command, "--storage", url)
    monkeypatch.setenv("MERGEBO_STORAGE", url)
    assert "cret" not in refused("show")


def commands_in(text: str) -> list[list[str]]:
    """The arguments of the commands that a message recommends."""
    found = [shlex.split(command) for command in re.findall("`mergebo ([^`]*)`", text)]
    assert found, text
    return [[{"VALUE": "1.5", "TRIAL": "0"}.get(word, word) for word in words] for words in found]


@pytest.mark.slow
@pytest.mark.parametrize("in_environment", [False, True])
def test_recommended_commands_work_as_printed(in_environment: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With several studies, in another storage than the usual one."""
    storage = ["--storage", "sqlite:///two words.db"]
    if in_environment:
        monkeypatch.setenv("MERGEBO_STORAGE", storage.pop())
        storage = []
    (create,) = commands_in(refused("ask", *storage))
    works(*create)
    study = ["--study", "second one", *storage]
    (ask,) = commands_in(works("new", "second one", "--items", "a,b,c,d", "--method", "random", "--noisy", *storage).out)
    assert ask == ["ask", *study]
    assert commands_in(works("show", *study).out) == [ask]
    assert commands_in(refused("tell", 0, 1, *study)) == [ask]
    no_results = run("best", *study)
    assert commands_in(no_results.err)[0] == ask
    tell, fail = commands_in(works(*ask).out)
    assert commands_in(no_results.err)[1] == tell == ["tell", "0", "1.5", *study]
    assert commands_in(refused("tell", 0, "nan", *study)) == [fail] == [["fail", "0", *study]]
    (best,) = commands_in(works(*tell).out)
    works(*best)
    assert works("best", "--json", *study).json["trial"] == 0
    (export,) = commands_in(refused("tell", 0, 2, *study))
    works(*export)
    Path("t.csv").write_text("result\n1\n")
    works(*commands_in(refused("import", "t.csv", *study))[0])
    works(*commands_in(works(*ask).out)[1])
    assert [each["state"] for each in works("show", "--json", *study).json["trials"]] == ["done", "failed"]
    monkeypatch.setenv("MERGEBO_STUDY", "second one")
    assert commands_in(works("ask", *storage).out)[0] == ["tell", "2", "1.5", *storage]


@pytest.mark.parametrize("command", [["show"], ["best"], ["ask"], ["export"]])
def test_a_foreign_database_is_left_as_it_is(command: list[str]) -> None:
    with contextlib.closing(sqlite3.connect("f.db")) as database:
        database.execute("create table t(a)")
        database.commit()
    Path("empty.db").touch()
    for name in ("f.db", "empty.db"):
        before = Path(name).read_bytes()
        assert f"there are no studies in sqlite:///{name}; create one with" in refused(
            *command, "--storage", f"sqlite:///{name}"
        )
        assert Path(name).read_bytes() == before
