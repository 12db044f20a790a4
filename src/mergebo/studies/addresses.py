"""Addresses of storages without their passwords, and the commands that messages recommend for a storage."""

from __future__ import annotations

import os
import re
import shlex
from urllib.parse import unquote_plus

from mergebo._text import DEFAULT_STORAGE

__all__ = ["address", "command_line", "without_password"]

HIDDEN = "***"
"""What is shown instead of a password."""
FILE = re.compile(r"(sqlite|journal):///", re.IGNORECASE)
"""The beginning of the address of a file, in which `:` and `@` are part of its name."""
SCHEME = re.compile(r"(postgres|mysql|mariadb|oracle|mssql|redis|sqlite|journal)[\w+.-]*:/+", re.IGNORECASE)
"""The beginning of an address, which may have too few or too many slashes; any other `word:` may be a user."""
IS_SECRET = re.compile(r"pass|pwd|secret|token|credential", re.IGNORECASE)
"""What is found in the name of a setting that is a password, or in a value that contains such settings."""
SETTING = re.compile(r"([^?&=]+)(=)([^&]*)")
"""A setting in the query of an address."""
KEYWORD = re.compile(r"\s*(\w+)(\s*=\s*)('(?:[^'\\]|\\.)*'|(?:\\.|\S)*)")
"""A setting as libpq has them instead of an address: `host=h password='secret'`."""


def address(url: str) -> str:
    """The address of a storage without its password, for messages; also of one that is mistyped.

    >>> address("postgresql://user:p@ss@host/db?sslpassword=secret")
    'postgresql://user:***@host/db?sslpassword=***'
    """
    return _hide(url)[0]


def without_password(text: str, url: str) -> str:
    """A message about a storage, such as one of its driver, without any part of its password."""
    for secret in sorted(_hide(url)[1], key=len, reverse=True):
        whole_word = "" if len(secret) > 3 else r"\b"
        text = re.sub(whole_word + re.escape(secret) + whole_word, HIDDEN, text)
    return text


def command_line(words: str, url: str, study: str = "") -> str:
    """A command of mergebo as it has to be typed for a storage and a study, given what the environment says.

    >>> command_line("ask", "sqlite:///lab.db", "second one")
    "mergebo ask --study 'second one' --storage sqlite:///lab.db"
    """
    options = ""
    if study and study != os.environ.get("MERGEBO_STUDY"):
        options += f" --study {shlex.quote(study)}"
    if url and address(url) != address(os.environ.get("MERGEBO_STORAGE") or DEFAULT_STORAGE):
        options += f" --storage {shlex.quote(address(url))}"
    return f"mergebo {words}{options}"


def _hide(url: str) -> tuple[str, set[str]]:
    """An address without its password, and what was left out: the password, its parts, and how drivers read them."""
    secrets: set[str] = set()

    def hide(secret: str) -> str:
        # Drivers end a password at the first @ and take the rest for a host.
        secrets.update(form for each in (secret, *secret.split("@")) for form in (each, unquote_plus(each), each.strip("'")))
        return HIDDEN

    def hide_setting(found: re.Match[str]) -> str:
        name, equals, value = found.groups()
        before = found[0][: found.start(1) - found.start()]
        is_secret = IS_SECRET.search(unquote_plus(name)) or re.search(IS_SECRET.pattern + ".*=", unquote_plus(value), re.I)
        return before + name + equals + (hide(value) if is_secret and value else value)

    shown = url
    if KEYWORD.match(url):
        shown = KEYWORD.sub(hide_setting, url)
    elif not FILE.match(url):
        scheme = SCHEME.match(url)
        start = scheme.end() if scheme else 0
        login, at, rest = url[start:].rpartition("@")
        user, colon, password = login.partition(":")
        if at and colon:
            shown = f"{url[:start]}{user}:{hide(password)}@{rest}"
    base, mark, query = shown.partition("?")
    shown = base + mark + SETTING.sub(hide_setting, query)
    return shown, {each for each in secrets if each and each != HIDDEN}
