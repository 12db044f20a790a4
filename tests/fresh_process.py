"""Code that runs in a process of its own, with or without packages that are optional."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]

TORCH = {"torch", "gpytorch", "botorch", "linear_operator"}
"""PyTorch and the packages that are built on it."""


def python(code: str, *flags: str) -> str:
    """What the code prints in a new process."""
    return subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout


def without(packages: Iterable[str]) -> str:
    """Code that hides these packages from a process, as if they were not installed."""
    return f"""
from importlib.machinery import PathFinder

find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *more: None if name.partition(".")[0] in {set(packages)} else find(name, *more)
"""
