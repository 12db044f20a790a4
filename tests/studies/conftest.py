from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy

from mergebo.studies import program
from worker_helpers import (
    PROGRAM,
    SERVER,
    Place,
    on_server,
)


@pytest.fixture
def program_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Run each test in an empty folder; all temporary files must be gone at the end."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(program, "RETRY_SECONDS", 0.01)
    yield tmp_path
    assert not list(temporary.iterdir())
    assert not (tmp_path / "pwned").exists()


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    kind = request.param
    name = f"mergebo_{uuid.uuid4().hex}"
    program = tmp_path / "program"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    if kind == "postgresql":
        assert SERVER is not None
        with on_server() as server:
            server.execute(sqlalchemy.text(f"CREATE DATABASE {name}"))
        url = sqlalchemy.make_url(SERVER).set(database=name).render_as_string(hide_password=False)
    else:
        url = f"{kind}:///{tmp_path}/storage"
    shared = Place(url, tmp_path, kind, [])
    yield shared
    for path in tmp_path.glob("hold*"):
        path.unlink()
    if "study" in vars(shared) and kind != "journal":
        shared.study.close()
    for process in shared.started:
        if process.is_alive():
            shared.kill(process)
    if kind == "postgresql":
        with on_server() as server:
            server.execute(sqlalchemy.text(f"DROP DATABASE {name} WITH (FORCE)"))
