from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli_helpers import (
    JOURNAL,
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Run each test in an empty folder, with studies in a journal, which is faster than a database."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERGEBO_STORAGE", JOURNAL)
    monkeypatch.delenv("MERGEBO_STUDY", raising=False)
    yield tmp_path
    assert not (tmp_path / "pwned").exists()
