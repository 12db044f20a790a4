"""Published figures belong to the suites and are compared with those measured here."""

from __future__ import annotations

import pytest

from benchmark_records import one, record
from mergebo.experiments import SUITES
from mergebo.experiments.comparison import (
    published_order,
)
from mergebo.experiments.formatting import THIN
from mergebo.experiments.published import PUBLISHED, SAME_DATA
from mergebo.experiments.report_tables import regret_table, sign_table
from mergebo.experiments.tables import Bold
from mergebo.methods.registry import METHODS
from mergebo.problems import get


def test_published_figures_belong_to_the_suites() -> None:
    for suite, rows in PUBLISHED.items():
        assert list(rows) == [case.group for case in SUITES[suite].cases]
        assert all(method in METHODS for row in rows.values() for method in row)
    assert PUBLISHED["paper-low"]["QAP n=15"]["bops-h"].regret == pytest.approx(8100)
    assert PUBLISHED["paper-high"]["TTP2 m=837"]["mergebo"].auc == pytest.approx(12.3e6)
    assert all(get(name) for name in SAME_DATA)


def test_published_figures_are_below_those_measured_here() -> None:
    section = one(*(record(method, 0, [10000.0 + k]) for k, method in enumerate(["bops-h", "mergebo", "random"])))
    table = regret_table(section)
    assert table.title.startswith("Table 1")
    assert table.rows[0] == ("QAP n=15", "regret, here", "105", "104", "106")  # in the order of methods
    assert isinstance(table.rows[0][3], Bold)
    assert table.rows[1][2].replace(THIN, " ") == "14 900 ± 5 500"
    assert table.rows[1][4] == "\N{EN DASH}"
    assert published_order(section, section.runs[0]) == ({"mergebo": 2, "bops-h": 1}, {"mergebo": 2, "bops-h": 1})
    assert sign_table(section).rows == (("QAP n=15", "0 / 0 / 1 (1)", "1 / 0 / 0 (1)"),)
