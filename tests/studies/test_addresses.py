"""Addresses without passwords, also mistyped ones."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mergebo.studies.addresses import address, without_password


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:s:e@cret@host:5432/db", "postgresql://me:***@host:5432/db"),
        ("postgresql://h:1/db?user=u&password=s e@c?ret", "postgresql://h:***@c?ret"),
        ("postgresql://h:1/db?user=u&password=secret", "postgresql://h:1/db?user=u&password=***"),
        ("postgresql://h/db?user=u&PassWord=s ecret&x=1", "postgresql://h/db?user=u&PassWord=***&x=1"),
        ("postgresql://h/db?p%61ssword=secret", "postgresql://h/db?p%61ssword=***"),
        ("mssql+pyodbc:///?odbc_connect=UID%3Du%3BPWD%3Dsecret", "mssql+pyodbc:///?odbc_connect=***"),
        ("postgresql:/u:secret@h/db", "postgresql:/u:***@h/db"),
        ("postgresql//u:secret@h/db", "postgresql//u:***@h/db"),
        ("journal://u:secret@h/x", "journal://u:***@h/x"),
        ("u:secret@h/db", "u:***@h/db"),
        ("host=h user=u password=secret dbname=x", "host=h user=u password=*** dbname=x"),
        (r"host=h password = 's ec\'ret' user=a@b", "host=h password = *** user=a@b"),
        (r"password=s\ ecret host=h", "password=*** host=h"),
    ],
)
def test_passwords_are_not_shown(url: str, shown: str) -> None:
    assert address(url) == shown
    assert "secret" not in address(url)
    assert address(shown) == shown


@pytest.mark.parametrize(
    "url", ["postgresql://me@host/db", "sqlite:////a/b.db", "sqlite:///C:/x@y.db", "journal:///a:b@c.log", "x.db", ""]
)
def test_addresses_without_a_password_are_shown_as_they_are(url: str) -> None:
    assert address(url) == url
    assert without_password("cannot open a:b@c", url) == "cannot open a:b@c"


PASSWORDS = st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S")), min_size=8)


@given(PASSWORDS.filter(lambda text: "***" not in text))
def test_no_password_is_shown(password: str) -> None:
    for url in (f"postgresql://u:{password}@h/db", f"u:{password}@h", f"postgresql:/u:{password}@h/db?x=1"):
        assert password not in address(url)
        assert password not in without_password(f"could not connect to {url}", url)
    assert password not in address(f"postgresql://h/db?user=u&password={quote(password, safe='')}")
    assert password not in address("host=h password='" + password.replace("\\", r"\\").replace("'", r"\'") + "'")


def test_messages_of_drivers_do_not_show_it_either() -> None:
    url = "postgresql://u:se@cret%21@host/db"  # drivers take the first @ for the end of the password
    assert without_password('could not translate host name "cret!@host"', url) == 'could not translate host name "***@host"'
    assert without_password("an error of a", "postgresql://u:a@h/db") == "an error of ***"
