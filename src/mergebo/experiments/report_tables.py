"""The tables of a report on one suite."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from mergebo._typing import Floats
from mergebo.experiments.comparison import (
    Comparison,
    best_other,
    compare_runs,
    comparison_table,
    focal_method,
    mean_score,
    published_order,
    scored_at,
    worst_class,
)
from mergebo.experiments.formatting import (
    EMPTY,
    MINUS,
    format_fixed,
    format_number,
    format_score,
    join_words,
    mean_and_std,
    p_value,
    part_of,
    quoted_figure,
)
from mergebo.experiments.metrics import feature_length
from mergebo.experiments.published import PUBLISHED, SAME_DATA, PublishedResult
from mergebo.experiments.runs import ALL, CaseRuns, SuiteRuns
from mergebo.experiments.statistics import SignTest
from mergebo.experiments.tables import Table, best_bold

__all__: list[str] = []


PARTLY = " Figures that cover only some of the suite's problems say how many."


def main_tables(section: SuiteRuns) -> list[Table]:
    """The main tables of a report."""
    scores = [table for checkpoint in section.checkpoints if (table := score_table(section, checkpoint))]
    if not PUBLISHED.get(section.suite):
        return _filled([method_table(section), *scores, *_comparisons(section)])
    return _filled([regret_table(section), rank_table(section), sign_table(section), *scores, *_comparisons(section)[1:]])


def further_tables(section: SuiteRuns) -> list[Table]:
    """The further tables of a report."""
    regret = [] if PUBLISHED.get(section.suite) else [regret_table(section)]
    return _filled([*regret, best_table(section), matching_table(section), timing_table(section), feature_table(section)])


def _filled(tables: list[Table]) -> list[Table]:
    """The tables with rows and at least one column of numbers."""
    return [table for table in tables if table.rows and len(table.header) > 1]


def _comparisons(section: SuiteRuns) -> list[Table]:
    if len(section.methods) < 2:
        return []
    other = best_other(section)
    tables = [sign_table(section)]
    if scored_at(section.runs):
        checkpoints = section.checkpoints
        tables += [difference_table(section, checkpoint) for checkpoint in checkpoints]
        tables += [difference_table(section, checkpoint, 0) for checkpoint in checkpoints[1:]]
    if other is not None:
        tables.append(comparison_table(section, focal_method(section), other))
    return tables


def score_table(section: SuiteRuns, checkpoint: int = 0) -> Table | None:
    """Mean scores by class, at the full budget or at the k-th smaller one. None if no score is defined."""

    def row(group: str, runs: Sequence[CaseRuns], evaluations: str) -> tuple[str, ...]:
        values = [mean_score(runs, method, checkpoint) for method in section.methods]
        cells = best_bold([(value.mean if value else None, format_score(value)) for value in values], largest=True)
        return (group, part_of(len(runs), section.size(group)), evaluations, *cells)

    reached = scored_at(section.runs, checkpoint)
    if not reached:
        return None
    part = replace(section, runs=tuple(reached))
    rows = [row(group, runs, str(runs[0].budgets[checkpoint])) for group, runs in part.groups.items()]
    if len(rows) > 1:
        rows.append(row(ALL, part.runs, ""))
    note = (
        f"(random {MINUS} method) / (random {MINUS} reference), where random is the mean best value of random search after "
        "as many evaluations: 0 is as good as random search, 1 as good as the best known value. Mean over instances ± "
        "standard error over instances (none for a single one), each instance the mean of its seeds. The last row is over "
        "all instances, for methods that were run on all of them."
    )
    where = (
        "at the full budget" if checkpoint == 0 else "at a smaller budget" + (f" ({checkpoint})" if checkpoint > 1 else "")
    )
    return Table(f"Score {where}", note, ("class", "instances", "evaluations", *section.methods), tuple(rows))


def regret_table(section: SuiteRuns) -> Table:
    """Final regret and AUC of each case, with the published figures below."""
    published = PUBLISHED.get(section.suite, {})
    rows: list[tuple[str, ...]] = []
    for runs in section.runs:
        if runs.reference_value is None:
            continue
        quoted = published.get(runs.case.group, {})
        here = ", here" if quoted else ""
        regret, auc = (
            {method: measure(method, runs.case.budget) for method in runs.records} for measure in (runs.regret, runs.auc)
        )
        figures = [quoted.get(method) for method in section.methods]
        rows.append((section.label(runs), f"regret{here}", *_means(section, regret, mean_and_std)))
        if quoted:
            rows.append(
                ("", "published", *best_bold([(each.regret if each else None, _published(each)) for each in figures]))
            )
        rows.append(("", f"AUC{here}", *_means(section, auc, lambda values: format_number(float(values.mean()), 4))))
        if quoted:
            aucs = [each.auc if each else None for each in figures]
            rows.append(("", "published", *best_bold([(value, quoted_figure(value)) for value in aucs])))
    note = (
        "Simple regret after the budget, mean ± standard deviation over seeds, and AUC, the mean over seeds of the sum of "
        "the regret after every evaluation, initial ones included."
    )
    title = "Regret and AUC"
    if published:
        title = {"paper-low": "Table 1", "paper-high": "Table 2"}[section.suite] + ": regret and AUC"
        same = [runs.case.group for runs in section.runs if runs.case.problem in SAME_DATA]
        note += (
            " The published figures are of other instances of the same kinds of problems"
            + (f", except {join_words(same)}" if same else "")
            + ": compare the order of methods, not the numbers."
        )
    return Table(title, note, ("problem", "", *section.methods), tuple(rows))


def rank_table(section: SuiteRuns) -> Table:
    """Ranks of the methods by mean regret, here and as published."""
    methods = [method for method in section.methods if any(method in row for row in PUBLISHED[section.suite].values())]
    rows = []
    for runs in section.runs:
        here, published = published_order(section, runs)
        cells = [f"{here[method]} / {published[method]}" if method in here else EMPTY for method in methods]
        rows.append((section.label(runs), *cells))
    note = "Rank by mean regret, here / published, among the methods in both; ties get the better rank."
    return Table("Order of methods, here and published", note, ("problem", *methods), tuple(rows))


def sign_table(section: SuiteRuns) -> Table:
    """Wins, ties and losses of the focal method against each other one, as in Table 3 of the paper."""
    focal = focal_method(section)
    note = (
        f"Wins / ties / losses of {focal} on the final value against each other method, over pairs of runs with the same "
        "seed; in brackets, the p-value of the exact two-sided sign test, ties dropped."
    )
    title = "Table 3: sign tests" if PUBLISHED.get(section.suite) else "Sign tests"
    if PUBLISHED.get(section.suite):
        note += " The published tests are not quoted here."

    def cell(found: Comparison) -> str:
        return f"{found.sign.wins} / {found.sign.ties} / {found.sign.losses} ({p_value(found.sign.p)})"

    return _against_others(section, f"{title} of {focal}", note, "problem", cell)


def method_table(section: SuiteRuns) -> Table:
    """A row for each method: its score, and the difference to the focal method, at each budget."""
    focal = focal_method(section)
    checkpoints = section.checkpoints if scored_at(section.runs) and len(section.methods) > 1 else range(0)

    def cells(method: str, checkpoint: int) -> tuple[str, str, str]:
        score = format_score(mean_score(section.runs, method, checkpoint))
        found = compare_runs(section.runs, method, focal, checkpoint) if method != focal else None
        if found is None:
            return score, EMPTY, EMPTY
        return score, difference_and_count(found, section.size(ALL)), _share(found.instances)

    header = (
        "method",
        *(
            text
            for checkpoint in checkpoints
            for text in (f"score after {evaluations_at(section, checkpoint)}", f"minus {focal}", "won")
        ),
    )
    rows = tuple(
        (method, *(cell for checkpoint in checkpoints for cell in cells(method, checkpoint))) for method in section.methods
    )
    note = (
        f"Score over all problems, for methods that were run on all of them; its difference to {focal} on the same problems "
        "with the same seeds; the share of these problems that the method wins. Means over problems ± standard error over "
        "problems." + PARTLY
    )
    return Table(f"Methods compared with {focal}", note, header, rows)


def difference_table(section: SuiteRuns, checkpoint: int = 0, other_checkpoint: int | None = None) -> Table:
    """Differences in score between the focal method and each other one, which may have another budget, by class."""
    focal, best = focal_method(section), best_other(section)
    others = [method for method in section.methods if method != focal]
    last = checkpoint if other_checkpoint is None else other_checkpoint
    found = {
        part: {other: compare_runs(runs, focal, other, checkpoint, last) for other in others}
        for part, runs in section.parts.items()
    }
    rows = [
        (part, *(difference_and_count(each, section.size(part)) if each else EMPTY for each in row.values()))
        for part, row in found.items()
    ]
    overall = found.get(ALL, next(iter(found.values())))
    if ALL in found:
        worst = [worst_class(section, focal, other, checkpoint, last) for other in others]
        rows.append(
            (
                "Worst class",
                *(f"{format_fixed(each.difference.mean, '+')} ({each.group})" if each else EMPTY for each in worst),
            )
        )
    rows += [
        ("Problems won", *(_share(each.instances) if each else EMPTY for each in overall.values())),
        ("Runs won", *(_share(each.sign) if each else EMPTY for each in overall.values())),
    ]
    note = (
        f"Score of {focal} minus that of the other method, over the common seeds: mean over instances ± standard error over "
        "instances (none for a single one), each instance the mean of its seeds."
        f"{f' Overall, the best of the others is {best}.' if best else ''}{PARTLY}"
    )
    title = f"Paired differences in score: {focal} minus the others after {evaluations_at(section, checkpoint)} evaluations"
    if last != checkpoint:
        after, full = evaluations_at(section, checkpoint), evaluations_at(section, last)
        title = f"Paired differences in score: {focal} after {after} evaluations minus the others after {full}"
        note += f" Scores are relative to random search with {full} evaluations."
    return Table(title, note, ("class", *others), tuple(rows))


def difference_and_count(found: Comparison, planned: int) -> str:
    """The difference in score, followed by the number of instances if that is not all of them."""
    if found.difference is None or found.difference.count == planned:
        return format_score(found.difference, "+")
    return f"{format_score(found.difference, '+')} ({part_of(found.difference.count, planned)})"


def _share(sign: SignTest) -> str:
    total = sign.wins + sign.ties + sign.losses
    return f"{100 * sign.wins / total:.0f} % of {total}"


def evaluations_at(section: SuiteRuns, checkpoint: int) -> str:
    """The budgets at a checkpoint."""
    budgets = {each.budgets[checkpoint] for each in section.runs if checkpoint < len(each.budgets)}
    return join_words([str(budget) for budget in sorted(budgets)])


def matching_table(section: SuiteRuns) -> Table:
    """Evaluations that the focal method needed to match the final value of each other one."""
    focal = focal_method(section)
    note = (
        f"Evaluations, initial ones included, after which {focal} was as good as the other method at the full budget: "
        "median over pairs of runs with the same seed; never if at least half of them did not get there."
    )

    def cell(found: Comparison) -> str:
        return "never" if found.evaluations is None else format_number(found.evaluations)

    return _against_others(
        section, f"Evaluations that {focal} needs to match the others", note, "class", cell, overall=False
    )


def _against_others(
    section: SuiteRuns, title: str, note: str, first: str, text: Callable[[Comparison], str], *, overall: bool = True
) -> Table:
    """A table that compares the focal method with each other one, by class."""
    focal = focal_method(section)
    others = [method for method in section.methods if method != focal]

    def cell(runs: Sequence[CaseRuns], other: str) -> str:
        found = compare_runs(runs, focal, other)
        return EMPTY if found is None else text(found)

    return Table(title, note, (first, *others), _by_class(section, others, cell, overall=overall))


def best_table(section: SuiteRuns) -> Table:
    """Best values found, with or without a reference."""
    rows = []
    for runs in section.runs:
        final = {method: runs.best(method)[:, -1] for method in runs.records}
        cells = _means(section, final, lambda values: mean_and_std(values, 4))
        rows.append((section.label(runs), format_number(runs.reference_value, 6), *cells))
    note = "Mean ± standard deviation over seeds of the best value found; the reference is the best known value."
    return Table("Best values", note, ("problem", "reference", *section.methods), tuple(rows))


def timing_table(section: SuiteRuns) -> Table:
    """Seconds per ask and per fit."""

    def cell(runs: Sequence[CaseRuns], method: str) -> str:
        records = [record for each in runs for record in each.records.get(method, {}).values()]
        if not records:
            return EMPTY
        ask, fit = (float(np.mean([record.seconds.get(part, 0.0) for record in records])) for part in ("ask", "fit"))
        return format_number(ask, 2) + (f" ({format_number(fit, 2)})" if fit else "")

    note = (
        "Mean over the evaluations after the initial ones, on one thread; in brackets, the part spent on fitting the model. "
        "Times depend on the machine and its load."
    )
    rows = _by_class(section, section.methods, cell, overall=False)
    return Table("Seconds per proposal", note, ("class", *section.methods), rows)


def feature_table(section: SuiteRuns) -> Table:
    """Feature lengths of the methods that have features."""
    lengths: dict[str, dict[str, int]] = {}
    for group, runs in section.groups.items():
        for method, seeds in runs[0].records.items():
            length = feature_length(next(iter(seeds.values())).job)
            if length is not None:
                lengths.setdefault(group, {})[method] = length
    methods = [method for method in section.methods if any(method in row for row in lengths.values())]
    rows = tuple(
        (group, *(str(row[method]) if method in row else EMPTY for method in methods)) for group, row in lengths.items()
    )
    return Table("Feature lengths", "Number of comparisons in the feature vector.", ("class", *methods), rows)


def _by_class(
    section: SuiteRuns,
    methods: Sequence[str],
    cell: Callable[[Sequence[CaseRuns], str], str],
    *,
    overall: bool = True,
) -> tuple[tuple[str, ...], ...]:
    groups: list[tuple[str, Sequence[CaseRuns]]] = list(section.groups.items())
    if overall and len(groups) > 1:
        groups.append((ALL, section.runs))
    return tuple((group, *(cell(runs, method) for method in methods)) for group, runs in groups)


def _means(section: SuiteRuns, values: Mapping[str, Floats | None], text: Callable[[Floats], str]) -> list[str]:
    """Cells with the mean values of the methods, the smallest one in bold."""
    each = [values.get(method) for method in section.methods]
    return best_bold([(None, EMPTY) if part is None else (float(part.mean()), text(part)) for part in each])


def _published(figure: PublishedResult | None) -> str:
    if figure is None:
        return EMPTY
    deviation = f" ± {quoted_figure(figure.deviation)}" if figure.deviation is not None else ""
    return quoted_figure(figure.regret) + deviation
