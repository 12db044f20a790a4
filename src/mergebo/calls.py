"""Things named with their settings, as people write them: `random(n=30,seed=3)`, `mergebo(search='scan')`."""

from __future__ import annotations

import ast
import re
from typing import Any

from mergebo.errors import ArgumentError


def read_call(text: str) -> tuple[str, dict[str, Any]]:
    """The name and the settings in it; a text without brackets has none."""
    match = re.fullmatch(r"([\w-]+)(?:\((.*)\))?", text)
    if not match:
        raise ArgumentError(f"a name reads like 'random' or 'random(n=30,seed=3)', got {text!r}")
    name, written = match.groups()
    try:
        call = ast.parse(f"f({written or ''})", mode="eval").body
        assert isinstance(call, ast.Call)
        settings = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
        if call.args:
            raise ValueError("each needs its name")
    except (SyntaxError, ValueError) as error:
        wanted = "n=30,search='scan', texts in quotes"
        raise ArgumentError(f"the settings in {text!r} should read like {wanted}: {error}") from error
    return name, settings


def write_call(name: str, settings: dict[str, Any]) -> str:
    """The text that `read_call` reads."""
    return f"{name}({','.join(f'{key}={value!r}' for key, value in settings.items())})" if settings else name


def split_calls(text: str) -> list[str]:
    """`a,b(c=1,d=2)` as `["a", "b(c=1,d=2)"]`."""
    return [part.strip() for part in re.findall(r"[^,(]+(?:\([^)]*\))?", text) if part.strip()]
