"""Storages: their addresses, and where Optuna's storage interface and the keys of attributes are used."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterator
from pathlib import Path

import optuna
import pytest
from optuna.exceptions import StorageInternalError
from optuna.storages import BaseStorage
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

import mergebo
from mergebo.spaces import Permutation, Space
from mergebo.studies import create, load, study_names
from mergebo.studies.storage import server_outage
from mergebo.studies.study import StudyConfig

SOURCE = Path(mergebo.__file__).parent
STORAGE_CALLS = {name for name in vars(BaseStorage) if not name.startswith("_")} | {
    "record_heartbeat",
    "get_heartbeat_interval",
}
PUBLIC = {"get_trials", "get_all_study_names"}
"""Methods of Optuna's storages that other classes or modules of Optuna offer, too."""


def private_use(tree: ast.AST) -> Iterator[str]:
    """Attributes and methods of Optuna's storage interface, and its private attributes of studies and trials."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            if node.attr in ("_storage", "_study_id", "_trial_id", "_suggest", "_cached_frozen_trial"):
                yield node.attr
            if node.attr in STORAGE_CALLS - PUBLIC:
                yield node.attr


def test_the_storage_interface_is_used_in_one_module() -> None:
    found = {
        path.relative_to(SOURCE).as_posix(): sorted(set(private_use(ast.parse(path.read_text()))))
        for path in SOURCE.rglob("*.py")
    }
    used = found.pop("studies/storage.py")
    assert {"_storage", "_study_id", "_trial_id", "create_new_trial", "set_trial_user_attr", "record_heartbeat"} <= set(used)
    allowed = {"remove_session"}  # the function of that name in `storage`
    assert {name: uses for name, uses in found.items() if set(uses) - allowed} == {}


def test_private_use_is_found() -> None:
    code = (
        "study._storage.create_new_trial(0); trial._trial_id; study.get_trials(); storage.set_trial_system_attr(1, 'a', 2)"
    )
    assert sorted(private_use(ast.parse(code))) == ["_storage", "_trial_id", "create_new_trial", "set_trial_system_attr"]


def test_stored_keys_are_defined_in_one_module() -> None:
    for path in SOURCE.rglob("*.py"):
        if path.relative_to(SOURCE).as_posix() != "studies/attributes.py":
            keys = [
                node.value
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.match(r"mergebo:\w*$", node.value)
            ]
            assert keys in ([], ["mergebo: "]), f"{path} has {keys}"


@pytest.mark.parametrize("kind", ["sqlite", "journal"])
def test_names_of_studies(kind: str, tmp_path: Path) -> None:
    url = f"{kind}:///{tmp_path}/storage"
    for name in ("b", "a"):
        create(url, name, StudyConfig(mergebo.Space(order=mergebo.Permutation(3)), "random")).close()
    assert study_names(url) == ["a", "b"]
    study = load(url, "a")
    assert study.name == "a"
    study.close()


@pytest.mark.parametrize(
    ("message", "away"),
    [
        ('connection to server at "127.0.0.1", port 1 failed: Connection refused', True),
        ("connection is bad: ... failed: No such file or directory\n\tIs the server running locally and accepting", True),
        ("connection failed: FATAL:  the database system is starting up", True),
        ('FATAL:  database "db" is not currently accepting connections', True),
        ("terminating connection due to administrator command", True),
        ("(2002, \"Can't connect to local MySQL server through socket '/run/mysqld/mysqld.sock' (2)\")", True),
        ("(2003, \"Can't connect to MySQL server on 'h:3306' (111)\")", True),
        ("failed to resolve host 'nosuchhost': [Errno -2] Name or service not known", False),
        ('connection failed: FATAL:  password authentication failed for user "u"', False),
        ('connection failed: FATAL:  database "d" does not exist', False),
        ("(2005, \"Unknown MySQL server host 'h' (-2)\")", False),
        ("(1045, \"Access denied for user 'u'@'h' (using password: YES)\")", False),
    ],
)
def test_outages_of_servers(message: str, away: bool) -> None:
    error = StorageInternalError()
    error.__cause__ = OperationalError("connect", {}, Exception(message))
    assert server_outage(error) == (message.partition("\n")[0] if away else None)
    assert server_outage(Exception(message)) is None


def test_the_interface_has_these_calls() -> None:
    """So that a new version of Optuna without them fails here, rather than in a study."""
    for name in ("create_new_trial", "set_trial_user_attr", "set_trial_system_attr", "set_trial_state_values"):
        assert callable(getattr(BaseStorage, name))
    study = optuna.create_study()
    assert study._storage.get_study_name_from_id(study._study_id) == study.study_name


def test_connections_are_closed_with_the_study(tmp_path: Path) -> None:
    """Python 3.13 warns of connections that are left open."""
    study = create(f"sqlite:///{tmp_path}/x.db", "x", StudyConfig(Space(order=Permutation(3)), "random"))
    study.ask(2)
    count, closed = study.storage.engine.pool.checkedin(), []
    assert count
    event.listen(study.storage.engine, "close", lambda *_: closed.append(True))
    del study
    gc.collect()
    assert len(closed) == count
