"""Storages: their addresses, and where Optuna's storage interface is used."""

from __future__ import annotations

from mergebo.studies import address


def test_passwords_are_not_shown() -> None:
    assert address("postgresql://me:s:e@cret@host:5432/db") == "postgresql://me:***@host:5432/db"
    assert address("postgresql://me@host/db") == "postgresql://me@host/db"
    assert address("sqlite:////a/b.db") == "sqlite:////a/b.db"
