"""Paired comparisons of two methods on the same problems with the same seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from mergebo._names import read_call
from mergebo._typing import Floats
from mergebo.errors import ArgumentError, unknown_choice
from mergebo.experiments.formatting import EMPTY, MINUS, format_fixed, format_number, format_score, p_value, part_of
from mergebo.experiments.metrics import evaluations_to_match, median_evaluations
from mergebo.experiments.published import PUBLISHED
from mergebo.experiments.runs import CaseRuns, SuiteRuns, read_records, sections
from mergebo.experiments.statistics import Estimate, SignTest, estimate, sign_test
from mergebo.experiments.tables import Table

__all__ = ["Comparison", "WorstClass", "compare", "compare_runs", "mean_ranks", "mean_score", "worst_class"]


@dataclass(frozen=True)
class Comparison:
    """Method a against method b, over the seeds that both were run with."""

    sign: SignTest
    """Over pairs of runs."""
    instances: SignTest
    """Over instances, each the mean of its seeds."""
    difference: Estimate | None
    """In normalised score, a - b, over instances, each the mean of its seeds; None if no score is defined."""
    evaluations: float | None
    """Evaluations that a needed to match the final value of b, the median over pairs of runs; None if most never did."""


def compare_runs(
    runs: Sequence[CaseRuns], a: str, b: str, checkpoint: int = 0, b_checkpoint: int | None = None
) -> Comparison | None:
    """Compare on these cases at the full budget, or with `checkpoint=k` at the k-th smaller one. None without pairs.

    `b_checkpoint`: the checkpoint of b, if it differs from that of a. Both scores then refer to random search with b's
    budget.
    """
    a_final: list[float] = []
    b_final: list[float] = []
    means: list[tuple[float, float]] = []
    differences: list[float] = []
    needed: list[int | None] = []
    last = checkpoint if b_checkpoint is None else b_checkpoint
    for each in runs:
        seeds = each.seeds(a, b)
        if not seeds or max(checkpoint, last) >= len(each.budgets):
            continue
        budget, b_budget = each.budgets[checkpoint], each.budgets[last]
        x, y = each.best(a, seeds)[:, :budget], each.best(b, seeds)[:, :b_budget]
        a_final += x[:, -1].tolist()
        b_final += y[:, -1].tolist()
        means.append((float(x[:, -1].mean()), float(y[:, -1].mean())))
        needed += [evaluations_to_match(curve, target[-1]) for curve, target in zip(x, y, strict=True)]
        scores = each.score(a, budget, seeds, random_budget=b_budget), each.score(b, b_budget, seeds)
        if scores[0] is not None and scores[1] is not None:
            differences.append(float(np.mean(scores[0] - scores[1])))
    if not a_final:
        return None
    difference = estimate(differences) if differences else None
    return Comparison(
        sign_test(a_final, b_final), sign_test(*zip(*means, strict=True)), difference, median_evaluations(needed)
    )


@dataclass(frozen=True)
class WorstClass:
    """The class of problems where a method does worst compared with another, and the difference in score."""

    group: str
    difference: Estimate


def worst_class(
    section: SuiteRuns, a: str, b: str, checkpoint: int = 0, b_checkpoint: int | None = None
) -> WorstClass | None:
    """The class where a does worst compared with b; None if no score is defined."""
    found = {group: compare_runs(runs, a, b, checkpoint, b_checkpoint) for group, runs in section.groups.items()}
    known = [WorstClass(group, each.difference) for group, each in found.items() if each and each.difference]
    return min(known, key=lambda worst: worst.difference.mean) if known else None


def mean_score(runs: Sequence[CaseRuns], method: str, checkpoint: int = 0) -> Estimate | None:
    """The mean normalised score over the instances that have one, each the mean of its seeds.

    None if there are no such instances, or if the method was not run on all of them.
    """
    scores = [
        each.score(method, each.budgets[checkpoint]) if each.seeds(method) else None for each in scored_at(runs, checkpoint)
    ]
    means = [float(score.mean()) for score in scores if score is not None]
    return estimate(means) if means and len(means) == len(scores) else None


def scored_at(runs: Sequence[CaseRuns], checkpoint: int = 0) -> list[CaseRuns]:
    """The cases with a score and a budget at this checkpoint."""
    return [each for each in runs if each.has_score and checkpoint < len(each.budgets)]


def mean_ranks(section: SuiteRuns) -> dict[str, Estimate]:
    """The mean rank of each method over the cases, 1 for the best; within a case, the mean over the common seeds.

    Only of methods that were run on all cases.
    """
    methods = [method for method in section.methods if all(runs.seeds(method) for runs in section.runs)]
    cases = [runs for runs in section.runs if methods and runs.seeds(*methods)]
    if len(methods) < 2 or not cases:
        return {}
    ranks = np.array([_ranks(runs, methods) for runs in cases])
    return {method: estimate(ranks[:, k]) for k, method in enumerate(methods)}


def _ranks(runs: CaseRuns, methods: Sequence[str]) -> Floats:
    seeds = runs.seeds(*methods)
    final = np.array([runs.best(method, seeds)[:, -1] for method in methods])
    # Values that differ only by rounding get the same rank.
    digits = 9 - int(np.ceil(np.log10(max(1.0, float(np.abs(final).max())))))
    ranks: Floats = stats.rankdata(np.round(final, digits), axis=0).mean(axis=1)
    return ranks


def comparison_table(section: SuiteRuns, a: str, b: str) -> Table:
    """One row for each class of problems, and one for all of them."""
    header = ("class", "instances", "difference", "95 % interval", "wins / ties / losses", "p", "evaluations to match")
    note = (
        f"Difference in normalised score, {a} {MINUS} {b}, over the common seeds: mean over instances ± standard error "
        f"and 95 % bootstrap interval. Wins, ties and losses of {a} over pairs of runs, with the exact two-sided sign "
        f"test. The last column has the evaluations that {a} needed to match the final value of {b} (median over pairs "
        "of runs)."
    )
    rows = tuple((part, *_cells(compare_runs(runs, a, b), section.size(part))) for part, runs in section.parts.items())
    return Table(f"{a} against {b}", note, header, rows)


def _cells(found: Comparison | None, planned: int) -> tuple[str, ...]:
    if found is None:
        return (EMPTY,) * 6
    difference, sign = found.difference, found.sign
    interval = difference.interval if difference else None
    return (
        part_of(difference.count, planned) if difference else EMPTY,
        format_score(difference, "+"),
        f"{format_fixed(interval[0], '+')} to {format_fixed(interval[1], '+')}" if interval else EMPTY,
        f"{sign.wins} / {sign.ties} / {sign.losses}",
        p_value(sign.p),
        "never" if found.evaluations is None else format_number(found.evaluations),
    )


def compare(folder: str | Path, method_a: str, method_b: str) -> list[Table]:
    """Method a against method b: one table for each suite in the folder where both were run."""
    found = sections(read_records(folder))
    known = sorted({method for section in found for method in section.methods})
    for method in (method_a, method_b):
        if method not in known:
            raise unknown_choice(f"method in {folder}", method, known)
    both = [section for section in found if section.with_all(method_a, method_b)]
    if not both:
        raise ArgumentError(f"{method_a} and {method_b} have no problem and seed in common in {folder}")
    return [comparison_table(section, method_a, method_b).titled(section.title) for section in both]


FOCAL_METHODS = ("auto", "mergebo")
"""The default focal method: the first of these that was run."""


def focal_method(section: SuiteRuns) -> str:
    """The method that the others are compared with: the user's choice, the default, or the best by mean rank.

    The default is the published method for suites with published figures.
    """
    if section.focal in section.methods:
        return section.focal
    names = FOCAL_METHODS[::-1] if section.suite in PUBLISHED else FOCAL_METHODS
    defaults = [method for name in names for method in section.methods if read_call(method)[0] == name]
    ranks = mean_ranks(section)
    return (defaults or sorted(ranks, key=lambda method: ranks[method].mean) or section.methods)[0]


def best_other(section: SuiteRuns) -> str | None:
    """The best method but the focal one: by mean score if that is defined, otherwise by mean rank."""
    others = [method for method in section.methods if method != focal_method(section)]
    scores = {method: value.mean for method in others if (value := mean_score(section.runs, method))}
    if scores:
        return max(scores, key=lambda method: scores[method])
    ranks = {method: value.mean for method, value in mean_ranks(section).items() if method in others}
    return min(ranks, key=lambda method: ranks[method]) if ranks else None


def published_order(section: SuiteRuns, runs: CaseRuns) -> tuple[dict[str, int], dict[str, int]]:
    """Ranks by mean regret, here and published, of the methods in both."""
    quoted = PUBLISHED[section.suite].get(runs.case.group, {})
    both = [method for method in section.methods if method in runs.records and method in quoted]
    if runs.reference_value is None or not both:
        return {}, {}
    regret = [float(np.mean(runs.best(method)[:, -1])) - runs.reference_value for method in both]
    ranks = (stats.rankdata(values, "min") for values in (np.round(regret, 9), [quoted[method].regret for method in both]))
    here, published = ({method: int(rank) for method, rank in zip(both, each, strict=True)} for each in ranks)
    return here, published
