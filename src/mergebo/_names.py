"""Parse and write names with settings: `random(n=30,seed=3)`, `mergebo(search='scan')`."""

from __future__ import annotations

import ast
import re
from typing import Any

from mergebo.errors import ArgumentError


def read_call(text: str) -> tuple[str, dict[str, Any]]:
    """Split a text into name and settings; a text without brackets has no settings."""
    match = re.fullmatch(r"([\w-]+)(?:\((.*)\))?", text)
    if not match:
        raise ArgumentError(f"a name has the form 'random' or 'random(n=30,seed=3)', got {text!r}")
    name, arguments = match.groups()
    try:
        call = ast.parse(f"f({arguments or ''})", mode="eval").body
        assert isinstance(call, ast.Call)
        settings = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
        if call.args:
            raise ValueError("every setting needs a name")
    except (SyntaxError, ValueError) as error:
        example = "n=30,search='scan', with strings in quotes"
        raise ArgumentError(f"the settings in {text!r} must have the form {example}: {error}") from error
    return name, settings


def write_call(name: str, settings: dict[str, Any]) -> str:
    """The inverse of `read_call`."""
    return f"{name}({','.join(f'{key}={value!r}' for key, value in settings.items())})" if settings else name


def split_calls(text: str) -> list[str]:
    """`a,b(c=1,d=2)` as `["a", "b(c=1,d=2)"]`."""
    return [part.strip() for part in re.findall(r"[^,(]+(?:\([^)]*\))?", text) if part.strip()]
