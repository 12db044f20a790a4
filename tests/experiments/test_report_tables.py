"""Tables of a report."""

from __future__ import annotations

import numpy as np

from benchmark_records import one
from mergebo.experiments import Record, get_suite
from mergebo.experiments.comparison import (
    compare_runs,
)
from mergebo.experiments.formatting import format_fixed
from mergebo.experiments.report_tables import difference_table, method_table
from mergebo.problems import get


def test_tables_of_paired_differences(paired: list[Record]) -> None:
    section = one(*paired)
    table = difference_table(section, 1, 0)
    assert table.title == "Paired differences in score: auto after 50 evaluations minus the others after 100"
    assert table.header == ("class", "bops-h", "random")
    found = compare_runs(section.runs, "auto", "bops-h", 1, 0)
    assert found is not None
    assert found.difference is not None
    rows = {row[0]: row[1] for row in table.rows}
    assert rows["All"] == f"{format_fixed(found.difference.mean, '+')} ± {found.difference.error:.2f} (15 of 45)"
    assert rows["TSP 30"].count("of") == 0
    assert list(rows)[-3:] == ["Worst class", "Problems won", "Runs won"]
    assert rows["Runs won"].endswith("% of 45")


def test_methods_with_settings_are_rows() -> None:
    methods = ("auto", "auto(embedding=False)", "auto(structures=['precedence'])")
    records = [
        Record(job, tuple(get(job.problem).optimum.value + 5 - k + np.linspace(3, 0, 100)))
        for k, method in enumerate(methods)
        for job in get_suite("design").jobs([method], range(3))
        if "tsp:random(n=15" in job.problem
    ]
    section = one(*records)
    table = method_table(section)
    assert table.header == ("method", "score after 100", "minus auto", "won", "score after 50", "minus auto", "won")
    assert [row[0] for row in table.rows] == ["auto", "auto(embedding=False)", "auto(structures=['precedence'])"]
    found = compare_runs(section.runs, "auto(embedding=False)", "auto")
    assert found is not None
    assert found.difference is not None
    assert table.rows[1][2] == f"{format_fixed(found.difference.mean, '+')} ± {found.difference.error:.2f} (3 of 27)"
    assert table.rows[1][3] == "100 % of 3"
