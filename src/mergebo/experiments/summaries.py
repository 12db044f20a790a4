"""The contents of a report on one suite: tables, findings, caveats and setup."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy import stats

from mergebo._names import read_call
from mergebo._typing import Floats
from mergebo.experiments.comparison import (
    Comparison,
    compare_runs,
    comparison_table,
    mean_ranks,
    mean_score,
    scored_at,
    worst_class,
)
from mergebo.experiments.metrics import feature_length
from mergebo.experiments.published import PUBLISHED, SAME_DATA, Figure
from mergebo.experiments.runs import ALL, CaseRuns, SuiteRuns, missing_seeds
from mergebo.experiments.statistics import SignTest
from mergebo.experiments.suites import SUITES
from mergebo.experiments.tables import (
    EMPTY,
    MINUS,
    Table,
    best_bold,
    format_fixed,
    format_number,
    format_score,
    mean_and_std,
    p_value,
    part_of,
    quoted_figure,
)
from mergebo.spaces import Permutation

FOCAL_METHODS = ("auto", "mergebo")
"""The default focal method: the first of these that was run."""


MAX_NAMED = 6
"""The number of problems up to which a caveat names each of them."""
FEW_PROBLEMS = 5
"""Below this number of problems, standard errors over problems are unreliable."""

PARTLY = " Figures that cover only some of the suite's problems say how many."


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


def main_tables(section: SuiteRuns) -> list[Table]:
    """The main tables of a report."""
    scores = [table for checkpoint in range(_checkpoints(section)) if (table := score_table(section, checkpoint))]
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
        checkpoints = range(_checkpoints(section))
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
            + (f", except {_listed(same)}" if same else "")
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
    checkpoints = range(_checkpoints(section) if scored_at(section.runs) and len(section.methods) > 1 else 0)

    def cells(method: str, checkpoint: int) -> tuple[str, str, str]:
        score = format_score(mean_score(section.runs, method, checkpoint))
        found = compare_runs(section.runs, method, focal, checkpoint) if method != focal else None
        if found is None:
            return score, EMPTY, EMPTY
        return score, _difference(found, section.size(ALL)), _share(found.instances)

    header = (
        "method",
        *(
            text
            for checkpoint in checkpoints
            for text in (f"score after {_after(section, checkpoint)}", f"minus {focal}", "won")
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
        (part, *(_difference(each, section.size(part)) if each else EMPTY for each in row.values()))
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
    title = f"Paired differences in score: {focal} minus the others after {_after(section, checkpoint)} evaluations"
    if last != checkpoint:
        after, full = _after(section, checkpoint), _after(section, last)
        title = f"Paired differences in score: {focal} after {after} evaluations minus the others after {full}"
        note += f" Scores are relative to random search with {full} evaluations."
    return Table(title, note, ("class", *others), tuple(rows))


def _difference(found: Comparison, planned: int) -> str:
    """The difference in score, followed by the number of instances if that is not all of them."""
    if found.difference is None or found.difference.count == planned:
        return format_score(found.difference, "+")
    return f"{format_score(found.difference, '+')} ({part_of(found.difference.count, planned)})"


def _share(sign: SignTest) -> str:
    total = sign.wins + sign.ties + sign.losses
    return f"{100 * sign.wins / total:.0f} % of {total}"


def _after(section: SuiteRuns, checkpoint: int) -> str:
    """The budget at a checkpoint."""
    budgets = {each.budgets[checkpoint] for each in section.runs if checkpoint < len(each.budgets)}
    return _listed([str(budget) for budget in sorted(budgets)])


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


def findings(section: SuiteRuns) -> list[str]:
    """The main results as sentences."""
    sentences = []
    focal, ranks = focal_method(section), mean_ranks(section)
    if ranks:
        order = sorted(ranks, key=lambda method: ranks[method].mean)
        listed = _listed([f"{method} ({ranks[method].mean:.2f})" for method in order])
        over = _count(ranks[focal].count if focal in ranks else len(section.runs), "problem")
        sentences.append(f"Methods by mean rank over {over}, best first: {listed}.")
    scores = {method: value for method in section.methods if (value := mean_score(section.runs, method))}
    if len(scores) > 1:
        order = sorted(scores, key=lambda method: -scores[method].mean)
        listed = _listed([f"{method} {format_fixed(scores[method].mean)}" for method in order])
        over = _count(scores[order[0]].count, "problem")
        sentences.append(f"Mean score over {over} (0: random search, 1: best known value): {listed}.")
    other = best_other(section)
    if other is not None and (found := compare_runs(section.runs, focal, other)) is not None:
        sign, difference = found.sign, found.difference
        text = f"Against {other}, the best of the others, {focal} "
        if difference is not None:
            error = f" ± {format_fixed(difference.error)}" if difference.error is not None else ""
            over = f" (standard error over {difference.count} problems)" if error else ""
            word = "lower" if difference.mean < 0 else "higher"
            text += f"scores {format_fixed(abs(difference.mean))}{error} {word}{over}; it "
        text += (
            f"wins {sign.wins}, ties {sign.ties} and loses {sign.losses} of "
            f"{_count(sign.wins + sign.ties + sign.losses, 'pair')} of runs (sign test, p {_equal(p_value(sign.p))})."
        )
        sentences.append(text)
        sentences += [
            text
            for checkpoint in range(1, _checkpoints(section))
            if (text := _at_smaller_budget(section, other, checkpoint))
        ]
    if section.suite in PUBLISHED:
        orders = [pair for runs in section.runs if len((pair := published_order(section, runs))[0]) > 1]
        if orders:
            same = sum(min(here, key=lambda m: here[m]) in _first(published) for here, published in orders)
            sentences.append(
                f"On {same} of {_count(len(orders), 'problem')} the method with the smallest mean regret here is also the "
                "best published one, among the methods in both."
            )
    return sentences


def _at_smaller_budget(section: SuiteRuns, other: str, checkpoint: int) -> str:
    """The focal method at a smaller budget compared with another one at the full budget."""
    focal = focal_method(section)
    found = compare_runs(section.runs, focal, other, checkpoint, 0)
    if found is None or found.difference is None:
        return ""
    return (
        f"{focal} after {_after(section, checkpoint)} evaluations minus {other} after {_after(section, 0)}: "
        f"{_difference(found, section.size(ALL))} in score."
    )


def caveats(section: SuiteRuns) -> list[str]:
    """Gaps in the data and limits of the statistics, as sentences."""
    sentences = []
    if section.absent:
        listed = _listed(_case_names(section))
        have = "has" if len(section.absent) == 1 else "have"
        sentences.append(f"{_count(len(section.absent), 'problem')} of the suite {have} no finished run: {listed}.")
    unseen = [seed for seed in (SUITES[section.suite].seeds if section.suite else ()) if seed not in section.seeds]
    if unseen:
        sentences.append(f"Seeds of the suite that were not run: {_ranges(unseen)}.")
    unknown = [runs for runs in section.runs if runs.reference_value is None]
    if unknown:
        listed = _listed([runs.case.problem for runs in unknown])
        sentences.append(f"No reference value is known for {listed}: regret and score are omitted.")
    trivial = [runs for runs in section.runs if runs.reference_value is not None and not runs.has_score]
    if trivial:
        listed = _listed([runs.case.problem for runs in trivial])
        sentences.append(f"Random search reaches the reference of {listed}: the score is undefined.")
    incomplete: dict[tuple[str, str, str], list[str]] = {}
    for method in section.methods:
        absent = [runs for runs in section.runs if method not in runs.records]
        if absent:
            incomplete.setdefault(("has", "have", f"no finished run on {_classes(section, absent)}."), []).append(method)
        lacking: dict[str, list[CaseRuns]] = {}
        for runs in section.runs:
            if seeds := missing_seeds(runs, section.seeds).get(method):
                lacking.setdefault(_ranges(seeds), []).append(runs)
        for seeds_, which in lacking.items():
            where = _classes(section, which)
            what = f"the seeds {seeds_}, which others have, on {where}: paired comparisons leave them out."
            incomplete.setdefault(("lacks", "lack", what), []).append(method)
    sentences += [
        f"{_listed(methods)} {singular if len(methods) == 1 else plural} {what}"
        for (singular, plural, what), methods in incomplete.items()
    ]
    beaten = [
        f"{runs.case.problem} ({method})"
        for runs in section.runs
        for method in runs.records
        if (regret := runs.regret(method, runs.case.budget)) is not None and (regret < 0).any()
    ]
    if beaten:
        sentences.append(f"Better than the reference, which was the best known value: {_listed(beaten)}.")
    if 1 < len(section.runs) < FEW_PROBLEMS:
        sentences.append(
            f"Standard errors and intervals over {len(section.runs)} problems are unreliable; "
            "the tables of regret and best values have standard deviations over seeds."
        )
    return sentences


def setup(section: SuiteRuns) -> list[tuple[str, str]]:
    """What was run: problems, methods, seeds, budget and items, as pairs of name and text."""
    plans = sorted({(runs.case.initial, runs.case.budget) for runs in section.runs})
    listed = [f"{initial} + {budget - initial} evaluations" for initial, budget in plans]
    jobs = [record.job for runs in section.runs for each in runs.records.values() for record in each.values()]
    protocols = sorted({job.protocol for job in jobs} - {""})
    problems = part_of(len(section.runs), section.size(ALL))
    orders = [
        each for runs in section.runs for each in runs.problem.space.variables.values() if isinstance(each, Permutation)
    ]
    sizes = sorted({order.n for order in orders})
    items = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else str(sizes[0])
    labels = {False: "as given", True: "relabelled at random for every seed"}
    labelled = " and ".join(labels[each] for each in sorted({runs.case.relabelled for runs in section.runs}))
    return [
        ("problems", f"{problems} in {_count(len(section.groups), 'class', 'classes')}"),
        ("methods", ", ".join(section.methods)),
        ("seeds", _ranges(section.seeds)),
        ("budget", _listed(listed)),
        ("items", f"{items}, {labelled}"),
        *([("protocol", ", ".join(protocols))] if protocols else []),
        ("runs", str(len(jobs))),
    ]


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


def _published(figure: Figure | None) -> str:
    if figure is None:
        return EMPTY
    deviation = f" ± {quoted_figure(figure.deviation)}" if figure.deviation is not None else ""
    return quoted_figure(figure.regret) + deviation


def _checkpoints(section: SuiteRuns) -> int:
    return max(len(runs.budgets) for runs in section.runs)


def _first(ranks: dict[str, int]) -> list[str]:
    return [method for method, rank in ranks.items() if rank == 1]


def _equal(p: str) -> str:
    return p.replace("<", "< ") if p.startswith("<") else f"= {p}"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _listed(parts: Sequence[str]) -> str:
    return ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else "".join(parts)


def _classes(section: SuiteRuns, chosen: Sequence[CaseRuns]) -> str:
    """Names of cases; a class stands for all its cases, and with many cases for a count of them."""
    names: list[str] = []
    for group, runs in section.groups.items():
        some = [each for each in runs if each in chosen]
        if len(some) == len(runs):
            names.append(group)
        elif len(chosen) > MAX_NAMED and some:
            names.append(f"{len(some)} of {len(runs)} of {group}")
        else:
            names += [section.label(each) for each in some]
    return "all problems" if len(chosen) == len(section.runs) > 1 else _listed(names)


def _case_names(section: SuiteRuns) -> list[str]:
    """Names of the cases without a finished run; a class stands for all its cases."""
    names: list[str] = []
    for group in dict.fromkeys(case.group for case in section.absent):
        some = [case.problem for case in section.absent if case.group == group]
        names += [group] if len(some) == section.size(group) else some
    return names


def _ranges(numbers: Sequence[int]) -> str:
    """`[0, 1, 2, 5]` as `0-2, 5`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else str(part[0]) for part in parts)
