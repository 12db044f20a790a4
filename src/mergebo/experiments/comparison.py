"""Two methods side by side: on the same problems, with the same seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from mergebo._typing import Floats
from mergebo.errors import ArgumentError, unknown_choice
from mergebo.experiments.metrics import evaluations_to_match, median_evaluations
from mergebo.experiments.results import Runs, Section, read_records, sections
from mergebo.experiments.statistics import Estimate, SignTest, estimate, sign_test
from mergebo.experiments.tables import NOTHING, Table, fixed, p_value, part_of, scored, shown


@dataclass(frozen=True)
class Comparison:
    """Method a against method b, over the seeds that both have."""

    sign: SignTest
    """Over pairs of runs."""
    instances: SignTest
    """Over instances, each the mean of its seeds."""
    difference: Estimate | None
    """Of the normalised score, a - b, over instances, each the mean of its seeds; None where no score is known."""
    evaluations: float | None
    """What a needed to be as good as b was in the end, the median over all pairs of runs; None if it mostly never was."""


def compare_runs(runs: Sequence[Runs], a: str, b: str, stage: int = 0, b_stage: int | None = None) -> Comparison | None:
    """Compare on these cases at the full budget, or with `stage=k` at the k-th budget below it. None without a pair.

    `b_stage`: that of b, if b has another budget than a. Both scores then refer to random search with b's budget.
    """
    ours: list[float] = []
    theirs: list[float] = []
    means: list[tuple[float, float]] = []
    differences: list[float] = []
    needed: list[int | None] = []
    last = stage if b_stage is None else b_stage
    for each in runs:
        seeds = each.seeds(a, b)
        if not seeds or max(stage, last) >= len(each.budgets):
            continue
        budget, b_budget = each.budgets[stage], each.budgets[last]
        x, y = each.best(a, seeds)[:, :budget], each.best(b, seeds)[:, :b_budget]
        ours += x[:, -1].tolist()
        theirs += y[:, -1].tolist()
        means.append((float(x[:, -1].mean()), float(y[:, -1].mean())))
        needed += [evaluations_to_match(mine, other[-1]) for mine, other in zip(x, y, strict=True)]
        scores = each.score(a, budget, seeds, random_budget=b_budget), each.score(b, b_budget, seeds)
        if scores[0] is not None and scores[1] is not None:
            differences.append(float(np.mean(scores[0] - scores[1])))
    if not ours:
        return None
    difference = estimate(differences) if differences else None
    return Comparison(sign_test(ours, theirs), sign_test(*zip(*means, strict=True)), difference, median_evaluations(needed))


@dataclass(frozen=True)
class Worst:
    """The class where one method does worst beside another, and the difference in score there."""

    group: str
    difference: Estimate


def worst_class(section: Section, a: str, b: str, stage: int = 0, b_stage: int | None = None) -> Worst | None:
    """Where a does worst beside b; None where no score is known."""
    found = {group: compare_runs(runs, a, b, stage, b_stage) for group, runs in section.groups.items()}
    known = [Worst(group, each.difference) for group, each in found.items() if each and each.difference]
    return min(known, key=lambda worst: worst.difference.mean) if known else None


def mean_score(runs: Sequence[Runs], method: str, stage: int = 0) -> Estimate | None:
    """The normalised score over those of the instances that have one, each the mean of its seeds.

    None if there are no such instances, or if the method was not run on all of them.
    """
    scores = [each.score(method, each.budgets[stage]) if each.seeds(method) else None for each in scored_at(runs, stage)]
    means = [float(score.mean()) for score in scores if score is not None]
    return estimate(means) if means and len(means) == len(scores) else None


def scored_at(runs: Sequence[Runs], stage: int = 0) -> list[Runs]:
    """The cases that have a score, and a budget at this stage."""
    return [each for each in runs if each.has_score and stage < len(each.budgets)]


def mean_ranks(section: Section) -> dict[str, Estimate]:
    """The mean rank of each method over the cases, 1 for the best; within a case, the mean over the seeds that all have.

    Of methods that were run on all cases.
    """
    methods = [method for method in section.methods if all(runs.seeds(method) for runs in section.runs)]
    cases = [runs for runs in section.runs if methods and runs.seeds(*methods)]
    if len(methods) < 2 or not cases:
        return {}
    ranks = np.array([_ranks(runs, methods) for runs in cases])
    return {method: estimate(ranks[:, k]) for k, method in enumerate(methods)}


def _ranks(runs: Runs, methods: Sequence[str]) -> Floats:
    seeds = runs.seeds(*methods)
    final = np.array([runs.best(method, seeds)[:, -1] for method in methods])
    # Values that differ by rounding only get the same rank.
    digits = 9 - int(np.ceil(np.log10(max(1.0, float(np.abs(final).max())))))
    ranks: Floats = stats.rankdata(np.round(final, digits), axis=0).mean(axis=1)
    return ranks


def comparison_table(section: Section, a: str, b: str) -> Table:
    """One row for each class of problems, and one for all."""
    header = ("class", "instances", "difference", "95 % interval", "wins / ties / losses", "p", "evaluations to match")
    note = (
        f"Difference in normalised score, {a} less {b}, over the seeds that both have: mean over instances ± standard error "
        f"and 95 % bootstrap interval. Wins, ties and losses of {a} over pairs of runs, with the exact two-sided sign "
        f"test. Last, the evaluations after which {a} was as good as {b} in the end (median over pairs of runs)."
    )
    rows = tuple((part, *_cells(compare_runs(runs, a, b), section.size(part))) for part, runs in section.parts.items())
    return Table(f"{a} against {b}", note, header, rows)


def _cells(found: Comparison | None, planned: int) -> tuple[str, ...]:
    if found is None:
        return (NOTHING,) * 6
    difference, sign = found.difference, found.sign
    interval = difference.interval if difference else None
    return (
        part_of(difference.count, planned) if difference else NOTHING,
        scored(difference, "+"),
        f"{fixed(interval[0], '+')} to {fixed(interval[1], '+')}" if interval else NOTHING,
        f"{sign.wins} / {sign.ties} / {sign.losses}",
        p_value(sign.p),
        "never" if found.evaluations is None else shown(found.evaluations),
    )


def compare(folder: str | Path, method_a: str, method_b: str) -> list[Table]:
    """Method a against method b: a table for each suite in the folder that has both."""
    found = sections(read_records(folder))
    known = sorted({method for section in found for method in section.methods})
    for method in (method_a, method_b):
        if method not in known:
            raise unknown_choice(f"method in {folder}", method, known)
    both = [section for section in found if section.with_all(method_a, method_b)]
    if not both:
        raise ArgumentError(f"{method_a} and {method_b} have no problem and seed in common in {folder}")
    return [comparison_table(section, method_a, method_b).titled(section.title) for section in both]
