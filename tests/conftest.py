from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

# No deadline: the first example compiles code, which takes seconds, and test machines are shared.
settings.register_profile("default", deadline=None, max_examples=25, derandomize="CI" in os.environ)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# Background jobs of a shell ignore Ctrl-C, and so do their child processes; some tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests marked `needs_torch`, and those of methods that need torch, if torch is not installed."""
    if find_spec("botorch") is not None:
        return
    for item in items:
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        methods = {each for each in parameters if isinstance(each, str)} & {"turbo", "optuna-gp"}
        if methods or item.get_closest_marker("needs_torch"):
            item.add_marker(pytest.mark.skip(reason="needs the extra torch"))


@pytest.fixture
def shell(tmp_path: Path) -> Callable[[str], str]:
    """A function that runs shell commands in an empty folder, with this environment's programs, and returns their output."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "MPLBACKEND": "Agg"}

    def run(commands: str) -> str:
        done = subprocess.run(["bash", "-e", "-c", commands], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="overwrite the golden traces")
    parser.addoption("--golden-exact", action="store_true", help="compare the golden traces exactly")
