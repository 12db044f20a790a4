"""Metrics, statistics, tables and reports of benchmark runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from mergebo.errors import ArgumentError, ShapeError
from mergebo.experiments import SUITES, Job, Record, Store, get_suite, run_jobs
from mergebo.experiments.comparison import (
    compare,
    compare_runs,
    focal_method,
    mean_ranks,
    mean_score,
    published_order,
    worst_class,
)
from mergebo.experiments.competitors import COMPETITORS
from mergebo.experiments.figures import convergence, styles
from mergebo.experiments.findings import caveats
from mergebo.experiments.formatting import THIN, format_fixed, format_number, p_value
from mergebo.experiments.metrics import (
    RANDOM_SEARCHES,
    area_under_curve,
    best_so_far,
    evaluations_to_match,
    feature_length,
    median_evaluations,
    normalised_score,
    random_search,
    simple_regret,
)
from mergebo.experiments.published import PUBLISHED, SAME_DATA
from mergebo.experiments.report import page, report
from mergebo.experiments.report_metrics import metrics
from mergebo.experiments.report_tables import difference_table, method_table, regret_table, score_table, sign_table
from mergebo.experiments.runs import SuiteRuns, method_order, missing_seeds, sections
from mergebo.experiments.statistics import bootstrap_interval, estimate, paired_difference, sign_test
from mergebo.experiments.tables import Bold, Table, best_bold
from mergebo.methods.registry import METHODS
from mergebo.problems import get

numbers = st.floats(-1e6, 1e6)
lists = st.lists(numbers, min_size=1, max_size=30)
pairs = st.integers(1, 30).flatmap(lambda n: st.tuples(*[arrays(np.float64, n, elements=numbers)] * 2))


def record(method: str, seed: int, values: list[float], problem: str = "qap:chr15a", **changes: object) -> Record:
    """A run of the suite paper-low, apart from `changes`."""
    job = Job(problem, method, seed, budget=200, initial=20, protocol="paper-low")
    return Record(replace(job, **changes), tuple(values), seconds={"ask": 0.5, "fit": 0.25, "total": 90.0})


def one(*records: Record) -> SuiteRuns:
    (section,) = sections(records)
    return section


# ------------------------------------------------------------------------------------------------------------ metrics


def test_regret_and_auc_by_hand() -> None:
    best = best_so_far([7, 9, 5, 6, 4], 5)
    assert best.tolist() == [7, 7, 5, 5, 4]
    regret = simple_regret(best, 3.0)
    assert regret.tolist() == [4, 4, 2, 2, 1]
    assert area_under_curve(regret) == 13


def test_a_run_that_ended_early_keeps_its_best() -> None:
    regret = simple_regret(best_so_far([7, 5], 4), 4.0)
    assert regret.tolist() == [3, 1, 1, 1]
    assert area_under_curve(regret) == 6


@pytest.mark.parametrize("values", [[], [1.0, 2.0, 3.0]])
def test_values_must_fit_the_budget(values: list[float]) -> None:
    with pytest.raises(ArgumentError, match=f"between 1 and 2 values, got {len(values)}"):
        best_so_far(values, 2)


def test_regret_ignores_rounding_and_is_negative_for_better_values() -> None:
    assert simple_regret([1e6 + 1e-5, 1e6 - 1.0], 1e6).tolist() == [0, -1]


@given(lists)
def test_the_best_value_never_increases(values: list[float]) -> None:
    best = best_so_far(values, len(values) + 3)
    assert (np.diff(best) <= 0).all()
    assert best[-1] == min(values)
    assert best[0] == values[0]


@given(arrays(np.float64, 5, elements=st.floats(-100, 100)), st.floats(0.1, 100), st.floats(-100, 100), st.floats(0.1, 10))
def test_score_does_not_depend_on_the_units(best: np.ndarray, random: float, shift: float, scale: float) -> None:
    score = normalised_score(best, random, 0.0)
    moved = normalised_score(best * scale + shift, random * scale + shift, shift)
    np.testing.assert_allclose(moved, score, rtol=1e-6, atol=1e-6)
    order = np.argsort(best)
    assert (np.diff(score[order]) <= 0).all()


def test_score_by_hand() -> None:
    assert normalised_score([10.0, 4.0, 7.0, 13.0], 10.0, 4.0).tolist() == [0, 1, 0.5, -0.5]
    assert np.isnan(normalised_score([4.0], 4.0, 4.0)).all()


def test_random_search_agrees_with_exact_values() -> None:
    name, budget = "tsp:random(n=5,seed=1)", 6
    values = np.sort(get(name).evaluate(np.array(list(permutations(range(5))))))
    for k in (1, budget):
        above = 1 - np.arange(len(values) + 1) / len(values)  # chance that one draw is beyond the i-th value
        expected = float(values @ (above[:-1] ** k - above[1:] ** k))
        assert abs(random_search(name, budget)[k - 1] - expected) < 4 * values.std() / np.sqrt(RANDOM_SEARCHES)
    assert (np.diff(random_search(name, budget)) <= 0).all()


def test_random_search_draws_as_the_design_does() -> None:
    """Without binary choices the designs are equal; runs are compared with random search in their own design."""
    np.testing.assert_array_equal(random_search("qap:chr15a", 9), random_search("qap:chr15a", 9, "uniform"))
    name = "ttp:a280-n279-uncorr"
    stratified, uniform = (random_search(name, 9, design) for design in ("stratified", "uniform"))
    assert (stratified < uniform).all()  # taking nothing is better than taking half
    values = list(range(9))
    for protocol, expected in (("", stratified), ("paper-high", uniform)):
        runs = one(record("random", 0, values, problem=name, budget=9, initial=3, protocol=protocol)).runs[0]
        np.testing.assert_array_equal(runs.random, expected)


def test_evaluations_to_match() -> None:
    best = [9.0, 6.0, 6.0, 2.0]
    assert evaluations_to_match(best, 9.0) == 1
    assert evaluations_to_match(best, 6.0 - 1e-12) == 2
    assert evaluations_to_match(best, 3.0) == 4
    assert evaluations_to_match(best, 1.0) is None
    assert median_evaluations([4, None, 2, 6]) == 5
    assert median_evaluations([4, None]) is None


def test_feature_lengths() -> None:
    def length(method: str, problem: str = "qap:chr15a") -> int | None:
        return feature_length(record(method, 0, [1.0], problem).job)

    assert [length(method) for method in ("mergebo", "bops-h", "bops-random")] == [45, 105, 45]
    assert [length(method) for method in ("random", "turbo", "pymoo-ga")] == [None, None, None]
    assert length("mergebo", "ttp:a280-n279-uncorr") == 2009


# --------------------------------------------------------------------------------------------------------- statistics


def test_sign_test_by_hand_and_as_scipy() -> None:
    # 8 wins and 2 losses: 2 (C(10, 0) + C(10, 1) + C(10, 2)) / 2^10.
    found = sign_test([0] * 8 + [2] * 2 + [1], [1] * 11)
    assert (found.wins, found.ties, found.losses) == (8, 1, 2)
    assert found.p == pytest.approx(112 / 1024)
    assert found.p == stats.binomtest(8, 10).pvalue
    assert sign_test([1.0], [1.0 + 1e-13]).p == 1


@given(pairs)
def test_signs_and_differences_are_symmetric(ab: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = ab
    here, there = sign_test(a, b), sign_test(b, a)
    assert (here.wins, here.ties, here.losses, here.p) == (there.losses, there.ties, there.wins, there.p)
    assert here.wins + here.ties + here.losses == len(a)
    assert 0 < here.p <= 1
    assert paired_difference(a, b).mean == pytest.approx(-paired_difference(b, a).mean)


def test_standard_error_and_bootstrap_as_scipy() -> None:
    x = np.random.default_rng(5).normal(size=12)
    found = estimate(x)
    assert found.mean == pytest.approx(x.mean())
    assert found.error == pytest.approx(stats.sem(x))
    reference = stats.bootstrap((x,), np.mean, method="percentile", random_state=np.random.default_rng(0))
    assert found.interval == pytest.approx(tuple(reference.confidence_interval))
    assert estimate(x) == found
    low, high = bootstrap_interval(x, confidence=0.5)
    assert found.interval is not None
    assert found.interval[0] < low < found.mean < high < found.interval[1]


@given(lists, st.floats(-100, 100))
def test_an_interval_moves_with_its_data(values: list[float], shift: float) -> None:
    here, there = estimate(values), estimate(np.array(values) + shift)
    assert there.mean == pytest.approx(here.mean + shift, abs=1e-6)
    assert (here.interval is None) == (len(values) == 1)
    if here.interval and there.interval:
        np.testing.assert_allclose(there.interval, np.array(here.interval) + shift, atol=1e-6)
        assert here.interval[0] <= here.interval[1]


def test_pairs_must_be_pairs() -> None:
    with pytest.raises(ShapeError, match=r"\(2,\) and \(3,\)"):
        sign_test([1, 2], [1, 2, 3])
    with pytest.raises(ShapeError, match=r"\(0,\)"):
        estimate([])


# ---------------------------------------------------------------------------------------------------- sorting out runs


def test_runs_are_grouped_by_suite() -> None:
    low, outside = record("random", 0, [1.0]), record("random", 0, [1.0], budget=30)
    relabelled = record("random", 0, [1.0], relabelled=True)
    found = sections([outside, relabelled, low])
    assert [section.title for section in found] == [
        "paper-low",
        "paper-low, items relabelled",
        "20 + 10 evaluations, protocol paper-low",
    ]
    assert [list(section.groups) for section in found] == [["QAP n=15"], ["QAP n=15"], ["qap:chr15a"]]


def test_records_are_matched_to_their_suites() -> None:
    for name, suite in SUITES.items():
        found = sections([Record(job, (1.0,)) for job in suite.jobs(["random"], [0])])
        assert [runs.case for section in found for runs in section.runs] == list(suite.cases)
        assert [case for section in found for case in section.planned] == list(suite.cases)
        assert not any(section.absent for section in found)
        # Two budgets: two sections, the smaller one first.
        plans = {"holdout": ("20 + 80", "20 + 200"), "thief": ("5 + 50", "20 + 200"), "design": ("20 + 80", "20 + 100")}
        titles = [f"{name}, {plan} evaluations" for plan in plans[name]] if name in plans else [name]
        assert [section.title for section in found] == titles


def test_methods_are_sorted_consistently() -> None:
    shuffled = ["pymoo-ga", "mergebo(search='relaxation')", "random", "mergebo"]
    assert sorted(shuffled, key=method_order) == ["mergebo", "mergebo(search='relaxation')", "random", "pymoo-ga"]


def test_comparison_over_common_seeds_by_hand() -> None:
    reference = 9896.0
    section = one(
        *(record("mergebo", seed, [50000.0, value]) for seed, value in enumerate([20000.0, 10000.0, 30000.0, 1e5])),
        *(record("random", seed, [40000.0, value]) for seed, value in enumerate([30000.0, 10000.0, 20000.0])),
    )
    (runs,) = section.runs
    assert runs.seeds("mergebo", "random") == [0, 1, 2]
    assert missing_seeds(runs, section.seeds) == {"random": [3]}
    found = compare_runs(section.runs, "mergebo", "random")
    assert found is not None
    assert (found.sign.wins, found.sign.ties, found.sign.losses, found.sign.p) == (1, 1, 1, 1.0)
    assert found.difference is not None
    assert found.difference.mean == pytest.approx(0)
    assert found.evaluations == 2  # 2, 2 and never
    scale = random_search("qap:chr15a", 200)[-1] - reference
    score = mean_score(section.runs, "random")
    assert score is not None
    assert score.mean == pytest.approx((scale + reference - 20000) / scale)
    assert compare_runs(section.runs, "mergebo", "turbo") is None


def test_ranks_by_hand() -> None:
    finals = {"mergebo": [1.0, 5.0], "bops-h": [2.0, 2.0], "random": [2.0, 9.0]}
    section = one(*(record(method, seed, [value]) for method, each in finals.items() for seed, value in enumerate(each)))
    ranks = {method: rank.mean for method, rank in mean_ranks(section).items()}
    assert ranks == {"mergebo": 1.5, "bops-h": 1.75, "random": 2.75}


def test_an_unknown_optimum_is_a_caveat() -> None:
    section = one(record("random", 0, [5.0], "tsp:random(n=9,seed=77)"))
    assert section.runs[0].score("random", 200) is None
    assert score_table(section) is None
    assert "No reference value is known for tsp:random(n=9,seed=77)" in caveats(section)[0]


@pytest.mark.slow
def test_few_problems_are_a_caveat(paired: list[Record]) -> None:
    def caveat(*records: Record) -> str:
        return " ".join(each for each in caveats(one(*records)) if "are unreliable" in each)

    runs = [record("random", 0, [1e9], case.problem) for case in SUITES["paper-low"].cases]
    assert caveat(runs[0]) == ""
    assert "over 2 problems" in caveat(*runs[:2])
    assert "over 4 problems" in caveat(*runs)
    assert caveat(*paired) == ""


def test_a_reference_that_random_search_reaches_is_a_caveat() -> None:
    section = one(record("random", 0, [9896.0], "tsp:pcb15-0"))
    runs = section.runs[0]
    runs.__dict__["problem"] = replace(get("tsp:pcb15-0"), optimum=replace(get("tsp:pcb15-0").optimum, value=1e9))
    assert not runs.has_score
    assert any("Random search reaches the reference" in caveat for caveat in caveats(section))
    assert any("Better than the reference" in caveat for caveat in caveats(section))


# -------------------------------------------------------------------------------------------------- paired differences


def holdout_runs(*, absent: tuple[str, ...] = (), methods: tuple[str, ...] = ("auto", "bops-h", "random")) -> list[Record]:
    """Made-up runs of the smaller problems of the holdout suite, without those whose names contain one of `absent`."""
    rng = np.random.default_rng(8)
    return [
        Record(job, tuple(get(job.problem).optimum.value + 50 * rng.exponential(1.0, 100)))
        for job in get_suite("holdout").jobs(methods, range(3))
        if job.budget == 100 and not any(part in job.problem for part in absent)
    ]


def plain_differences(records: list[Record], a: str, b: str, budget: int, b_budget: int) -> dict[str, list[float]]:
    """Differences in score by class, one per instance, computed run by run from the definition."""
    found: dict[str, dict[str, list[float]]] = {}
    for x in records:
        for y in records:
            if (x.job.method, y.job.method) != (a, b) or (x.job.problem, x.job.seed) != (y.job.problem, y.job.seed):
                continue
            (group,) = {case.group for case in SUITES["holdout"].cases if case.problem == x.job.problem}
            random = random_search(x.job.problem, 100)[b_budget - 1]
            scale = random - get(x.job.problem).optimum.value
            scores = (random - min(x.values[:budget])) / scale, (random - min(y.values[:b_budget])) / scale
            found.setdefault(group, {}).setdefault(x.job.problem, []).append(scores[0] - scores[1])
    return {group: [sum(each) / len(each) for each in by.values()] for group, by in found.items()}


@pytest.fixture(scope="module")
def paired() -> list[Record]:
    return holdout_runs(absent=("qap", "floorplan", "cells", "n=50", "n=15"))


@pytest.mark.slow
@pytest.mark.parametrize(("checkpoint", "b_checkpoint"), [(0, 0), (1, 1), (1, 0)])
def test_paired_differences_as_defined(paired: list[Record], checkpoint: int, b_checkpoint: int) -> None:
    section = one(*paired)
    assert list(section.parts) == ["TSP 30", "Flow shop 20", "Linear ordering 30", "All", "All but TSP"]
    budgets = (100, 50)
    by_class = plain_differences(paired, "auto", "bops-h", budgets[checkpoint], budgets[b_checkpoint])
    expected = {
        **by_class,
        "All": [each for group in by_class.values() for each in group],
        "All but TSP": [each for name, group in by_class.items() if name != "TSP 30" for each in group],
    }
    for part, values in expected.items():
        found = compare_runs(section.parts[part], "auto", "bops-h", checkpoint, b_checkpoint)
        assert found is not None
        assert found.difference is not None
        assert found.difference.count == len(values)
        assert found.difference.mean == pytest.approx(np.mean(values))
        assert found.difference.error == pytest.approx(np.std(values, ddof=1) / np.sqrt(len(values)))
        assert found.instances.wins == sum(value > 0 for value in values)
        assert found.sign.wins + found.sign.ties + found.sign.losses == 3 * len(values)
    worst = worst_class(section, "auto", "bops-h", checkpoint, b_checkpoint)
    assert worst is not None
    assert worst.group == min(by_class, key=lambda name: float(np.mean(by_class[name])))
    assert worst.difference.mean == pytest.approx(min(np.mean(values) for values in by_class.values()))


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


@pytest.mark.slow
def test_instances_that_were_not_run_are_reported(paired: list[Record]) -> None:
    """Some for no method, one for one method: partial figures are marked."""
    lacking = [
        each
        for each in paired
        if "seed=908" not in each.job.problem
        and (each.job.problem, each.job.method) != ("lop:planted(n=30,seed=905)", "auto")
    ]
    section = one(*lacking)
    rows = {row[0]: row[1] for row in difference_table(section).rows}
    assert rows["TSP 30"].endswith("(4 of 5)")
    assert rows["Linear ordering 30"].endswith("(3 of 5)")
    assert rows["All"].endswith("(11 of 45)")
    assert rows["All but TSP"].endswith("(7 of 35)")
    assert mean_score(section.runs, "auto") is None
    assert mean_score(section.runs, "bops-h") is not None
    found = caveats(section)
    assert "33 problems of the suite have no finished run: TSP 15, tsp:random(n=30,seed=908), QAP 15" in found[0]
    assert found[1] == "Seeds of the suite that were not run: 3-4."
    assert "auto has no finished run on lop:planted(n=30,seed=905)." in found
    figures = metrics(lacking)["suites"]["holdout, 20 + 80 evaluations"]
    assert figures["instances"]["All"] == {"run": 12, "planned": 45}
    assert len(figures["absent"]) == 33


def test_seeds_that_some_problems_lack_are_a_caveat(paired: list[Record]) -> None:
    def caveat(kept: Callable[[Job], bool]) -> str:
        (found,) = [
            each for each in caveats(one(*(each for each in paired if kept(each.job)))) if "which others have" in each
        ]
        return found

    single = caveat(lambda job: "lop:planted(n=30,seed=909" not in job.problem or job.seed < 2 or job.method != "bops-h")
    assert single.startswith("bops-h lacks the seeds 2, which others have, on lop:planted(n=30,seed=909)")
    common = caveat(lambda job: "lop:planted(n=30,seed=909" not in job.problem or job.seed < 2)
    assert common.startswith("auto, bops-h and random lack the seeds 2, which others have, on lop:planted(n=30,seed=909)")
    many = caveat(lambda job: "seed=905" in job.problem or job.seed < 2)
    assert "on 4 of 5 of TSP 30, 4 of 5 of Flow shop 20 and 4 of 5 of Linear ordering 30:" in many


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


def test_the_focal_method_can_be_chosen(paired: list[Record], tmp_path: Path) -> None:
    assert focal_method(one(*paired)) == "auto"
    assert focal_method(replace(one(*paired), focal="bops-h")) == "bops-h"
    assert (
        focal_method(one(record("auto", 0, [1.0]), record("mergebo", 0, [1.0]))) == "mergebo"
    )  # the published figures' method
    some = [each for each in paired if "tsp" in each.job.problem]
    assert metrics(some, "random")["suites"]["holdout, 20 + 80 evaluations"]["compared"] == "random"
    write(tmp_path, some)
    with pytest.raises(ArgumentError, match="did you mean 'bops-h'"):
        report(tmp_path, "bops")


# ---------------------------------------------------------------------------------------------------- published figures


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


# -------------------------------------------------------------------------------------------------------------- tables


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


def test_numbers() -> None:
    texts = [format_number(x) for x in (0, 0.123456, -2.5, 999.6, 1234567, 3.21e-7, 100)]
    assert [text.replace(THIN, " ").replace("\N{MINUS SIGN}", "-") for text in texts] == [
        *("0", "0.123", "-2.50", "1 000", "1 230 000", "3.21e-07", "100")
    ]
    assert format_number(float("nan")) == "\N{EN DASH}"
    assert [format_fixed(-0.001), format_fixed(0.25, "+")] == ["0.00", "+0.25"]
    assert p_value(0.0004) == "<0.001"
    assert [type(text) for text in best_bold([(2.0, "2"), (None, "-"), (1.0, "1")])] == [str, str, Bold]
    assert not any(isinstance(text, Bold) for text in best_bold([(2.0, "2"), (None, "-")]))


# ------------------------------------------------------------------------------------------------------------- reports

METHODS_RUN = ("mergebo", "bops-h", "random", "optuna-tpe")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Made-up runs: two problems with a reference and one without, a seed that is missing, and a failure."""
    rng = np.random.default_rng(3)
    records = [
        record(method, seed, (get(problem).optimum.value + rng.exponential(3000, 200)).tolist(), problem)
        for problem in ("qap:chr15a", "tsp:pcb15-0")
        for method in METHODS_RUN
        for seed in range(3)
        if (method, seed) != ("random", 2)
    ]
    records += [record(method, 0, [3.0, 2.0], "tsp:random(n=9,seed=77)", budget=5, protocol="") for method in METHODS_RUN]
    records.append(Record(replace(records[0].job, seed=9), error="Traceback\nValueError: 1 < 2 & <script>"))
    write(tmp_path, records)
    return tmp_path


def write(folder: Path, records: list[Record]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "records.jsonl").write_text("".join(record.to_line() + "\n" for record in records))


class Reader(HTMLParser):
    """Checks that tags are closed, and collects the addresses that a page would fetch."""

    void = ("meta", "img", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.fetched += [str(value) for key, value in attrs if key in ("src", "href")]
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.slow
def test_the_report_is_complete_and_self_contained(folder: Path) -> None:
    page = report(folder)
    assert page == folder / "report.html"
    text = page.read_text()
    reader = Reader()
    reader.feed(text)
    assert not reader.open
    assert not reader.tags & {"script", "link", "iframe"}
    assert all(address.startswith(("data:image/svg+xml;base64,", "#")) for address in reader.fetched)
    for part in (
        "Table 1",
        "Table 3",
        "Failed jobs",
        "1 &lt; 2 &amp; &lt;script&gt;",
        "random lacks the seeds",
        "No reference",
    ):
        assert part in text
    pictures = {path.name for path in (folder / "figures").iterdir()}
    assert {"paper-low-mean-ranks.png", "paper-low-scores.png", "paper-low-qap-n-15.png"} <= pictures
    markdown = (folder / "report.md").read_text()
    linked = re.findall(r"\]\(figures/(.*?)\)", markdown)
    assert set(linked) == pictures
    assert "1 < 2 & <script>" in markdown
    latex = (folder / "tables.tex").read_text()
    assert latex.count(r"\begin{table}") == latex.count(r"\end{table}") > 10
    assert re.search(r"(?<!\\)[%#_]", latex) is None
    assert json.loads((folder / "timings.json").read_text())["seconds"]["paper-low"]["QAP n=15"]["random"]["ask"] == 0.5


@pytest.mark.slow
def test_metrics_by_hand(folder: Path) -> None:
    report(folder)
    found = json.loads((folder / "metrics.json").read_text())
    assert len(found["failed"]) == 1
    case = found["suites"]["paper-low"]["cases"]["QAP n=15"]
    assert case["reference"] == 9896
    assert case["methods"]["random"]["seeds"] == [0, 1]
    store = Store(folder)
    runs = [r for r in store.records() if (r.job.problem, r.job.method) == ("qap:chr15a", "bops-h") and not r.error]
    store.close()
    best = [np.minimum.accumulate(run.values) - 9896 for run in runs]
    final = case["methods"]["bops-h"]["200"]
    assert final["regret"]["mean"] == pytest.approx(np.mean([each[-1] for each in best]))
    assert final["auc"]["mean"] == pytest.approx(np.mean([each.sum() for each in best]))
    assert final["regret"]["deviation"] == pytest.approx(np.std([each[-1] for each in best], ddof=1))
    random = case["random"]["200"]
    assert final["score"]["mean"] == pytest.approx(1 - final["regret"]["mean"] / (random - 9896))
    assert "seconds" not in json.dumps(found)


@pytest.mark.slow
def test_the_order_of_records_and_their_timings_change_no_metrics(folder: Path, tmp_path: Path) -> None:
    report(folder)
    store = Store(folder)
    shuffled = [replace(each, seconds={"ask": 7.0}, made_with={"numpy": "9"}) for each in reversed(store.records())]
    store.close()
    other = tmp_path / "other"
    write(other, shuffled)
    report(other)
    assert (other / "metrics.json").read_bytes() == (folder / "metrics.json").read_bytes()


@pytest.mark.slow
def test_a_resumed_run_has_the_same_metrics(tmp_path: Path) -> None:
    jobs = get_suite("smoke").jobs(["random", "local-search"], [0, 1])
    run_jobs(jobs, tmp_path / "whole")
    run_jobs(jobs[3:5], tmp_path / "resumed")
    run_jobs(jobs, tmp_path / "resumed")
    for part in ("whole", "resumed"):
        report(tmp_path / part)
    whole, resumed = ((tmp_path / part / "metrics.json").read_bytes() for part in ("whole", "resumed"))
    assert whole == resumed


@pytest.mark.slow
def test_figures_are_deterministic(folder: Path) -> None:
    report(folder)
    before = (folder / "report.html").read_bytes()
    report(folder)
    assert (folder / "report.html").read_bytes() == before


@pytest.mark.slow
def test_the_page_alone_is_that_of_the_report(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Byte for byte; random search is not simulated again, and no file is written."""
    written = report(folder).read_text()
    (folder / "report.html").unlink()
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.name != ".locks"}
    monkeypatch.setattr("mergebo.experiments.runs.random_search", None)
    assert page(folder) == written
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.name != ".locks"} == before


@pytest.mark.slow
def test_the_page_alone_ignores_outdated_metrics(folder: Path) -> None:
    written = report(folder).read_text()
    path = folder / "metrics.json"
    known = json.loads(path.read_text())
    case = known["suites"]["paper-low"]["cases"]["QAP n=15"]
    case["random"]["200"] += 1000
    path.write_text(json.dumps(known))
    assert page(folder) != written
    case["reference"] += 1  # of other data
    path.write_text(json.dumps(known))
    assert page(folder) == written


def test_metrics_at_checkpoints() -> None:
    jobs = get_suite("holdout").jobs(["random"], [0])[:1]
    (suite,) = metrics([Record(jobs[0], tuple(np.linspace(9, 5, 100)))])["suites"].values()
    (case,) = suite["cases"].values()
    assert set(case["methods"]["random"]) == {"seeds", "50", "100"}
    assert case["methods"]["random"]["100"]["best"]["mean"] == 5


def test_failures_alone_make_a_report(tmp_path: Path) -> None:
    write(tmp_path, [replace(record("random", 0, []), error="ValueError: no")])
    assert "ValueError: no" in report(tmp_path).read_text()


def test_a_folder_without_records(tmp_path: Path) -> None:
    missing = tmp_path / "typo"
    with pytest.raises(ArgumentError, match=r"no records in .*typo"):
        report(missing)
    assert not missing.exists()


def test_compare(folder: Path) -> None:
    first, second = compare(folder, "mergebo", "random")
    assert first.title == "mergebo against random (paper-low)"
    assert [row[0] for row in first.rows] == ["TSP n=15", "QAP n=15", "All", "All but TSP"]
    assert [row[1] for row in first.rows] == ["1", "1", "2 of 4", "1 of 3"]  # of the suite's
    assert sum(map(int, first.rows[2][4].split(" / "))) == 4  # two problems with two common seeds
    assert second.rows[0][4] == "0 / 1 / 0"
    with pytest.raises(ArgumentError, match="did you mean 'mergebo'"):
        compare(folder, "mergbo", "random")
    write(folder, [record("mergebo", 0, [1.0]), record("random", 1, [1.0])])
    with pytest.raises(ArgumentError, match="no problem and seed in common"):
        compare(folder, "mergebo", "random")


def test_every_method_has_a_distinct_style() -> None:
    found = styles([*METHODS, *COMPETITORS, "mergebo(search='relaxation')"])
    assert len({(str(style["color"]), str(style["linestyle"])) for style in found.values()}) == len(found)


def test_a_curve_at_zero_stays_visible() -> None:
    section = one(record("random", 0, [20000.0, 9896.0]), record("mergebo", 0, [20000.0]))
    figure, caption = convergence("QAP", section.runs, styles(section.methods))
    (axes,) = figure.axes
    assert "along the bottom" in caption
    low, high = axes.get_ylim()
    assert all(low <= line.get_ydata().min() and line.get_ydata().max() <= high for line in axes.lines[:2])
    _, caption = convergence("QAP", one(record("random", 0, [20000.0])).runs, styles(["random"]))
    assert "along the bottom" not in caption


@pytest.mark.parametrize("factor", [1.02, 1.2, 1.8, 2.5, 7, 50, 1e4])
@pytest.mark.parametrize("least", [1.1, 3.3, 8.5])
def test_a_regret_axis_has_several_ticks(least: float, factor: float) -> None:
    optimum = 9896  # of chr15a
    section = one(record("random", 0, [optimum + 100 * least * factor, optimum + 100 * least]))
    figure, _ = convergence("QAP", section.runs, styles(section.methods))
    (axes,) = figure.axes
    low, high = axes.get_ylim()
    assert 2 <= sum(low <= mark <= high for mark in axes.get_yticks()) <= 9


def test_the_readme_has_the_scores_of_the_committed_runs() -> None:
    root = Path(__file__).parents[1]
    scores = json.loads((root / "docs/results/holdout/metrics.json").read_text())["suites"]["holdout, 20 + 80 evaluations"][
        "scores"
    ]
    names = {"hill climbing": "local-search", "MergeBO": "mergebo", "Optuna TPE": "optuna-tpe"}
    table = (root / "README.md").read_text().partition("| | `auto`")[2].partition("\n\n")[0]
    header, _, *lines = f"`auto`{table}".splitlines()
    methods = [names.get(cell, cell.lower()) for cell in re.sub("`", "", header).strip("| ").split(" | ")]
    assert methods[0] == "auto"
    assert len(lines) == len(scores) - 1  # all classes, and over all of them
    for line in lines:
        group, *cells = line.strip("| ").split(" | ")
        shown = [cell.strip("*").split(" ± ")[0] for cell in cells]
        assert shown == [f"{scores[group][method][0]['mean']:.2f}" for method in methods]
