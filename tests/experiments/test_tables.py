"""Tables in Markdown, LaTeX and HTML."""

from __future__ import annotations

import pytest

from mergebo.errors import ShapeError
from mergebo.experiments.tables import Bold, Table


def test_cells_are_escaped() -> None:
    table = Table("a_b", "50 % & more", ("name", "x|y"), (("<b>", Bold("1 ± 2")), ("\\", "#1")))
    assert "a\\_b. 50 \\% \\& more" in table.latex()
    assert "\\textless{}b\\textgreater{} & \\textbf{1 $\\pm$ 2} \\\\" in table.latex()
    assert "\\textbackslash{} & \\#1" in table.latex()
    assert "<th>&lt;b&gt;</th><td><strong>1 ± 2</strong></td>" in table.html()
    assert "50 % &amp; more" in table.html()
    assert "| name | x\\|y |" in table.markdown()
    assert "| &lt;b> | **1 ± 2** |" in table.markdown()


def test_a_row_must_fit() -> None:
    with pytest.raises(ShapeError, match="2 columns, got the row"):
        Table("t", "", ("a", "b"), (("1",),))
