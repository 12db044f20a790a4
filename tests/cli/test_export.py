"""`mergebo export`."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_helpers import (
    EVERYTHING,
    works,
)


@pytest.mark.slow
def test_export_and_import() -> None:
    works("new", "one", *EVERYTHING, "--method", "random")
    works("ask", "-k", 4, "--study", "one")
    works("tell", 0, 1.5, "--study", "one")
    works("tell", 1, "-1e-300", "--noise", 0.25, "--study", "one")
    works("fail", 2, "--reason", 'a "bad", bad\nday', "--study", "one")
    assert "Exported 4 trials to all.csv." in works("export", "--out", "all.csv", "--study", "one").out
    assert works("export", "--study", "one").out == Path("all.csv").read_text()
    works("new", "two", *EVERYTHING, "--method", "random")
    assert "Imported 2 results." in works("import", "all.csv", "--study", "two").out
    done = [
        [trial for trial in works("show", "--study", name, "--json").json["trials"] if trial["state"] == "done"]
        for name in ("one", "two")
    ]
    assert done[0] == done[1]
    assert "Imported 0 results; skipped 2 that the study already has." in works("import", "all.csv", "--study", "two").out
    works("ask", "--study", "two")
