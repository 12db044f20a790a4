"""What a report says of a suite: its tables, and its findings in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy import stats

from mergebo._typing import Floats
from mergebo.calls import read_call
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
from mergebo.experiments.results import ALL, Runs, Section, missing_seeds
from mergebo.experiments.statistics import SignTest
from mergebo.experiments.suites import SUITES
from mergebo.experiments.tables import (
    MINUS,
    NOTHING,
    Table,
    best_bold,
    fixed,
    p_value,
    part_of,
    quoted_figure,
    scored,
    shown,
    spread,
)
from mergebo.spaces import Permutation

OURS = ("auto", "mergebo")
"""The method that others are compared with: the first of these that was run."""


NAMED = 6
"""Problems that a remark names one by one."""
FEW = 5
"""Problems below which the spread between them is hardly known."""

PARTLY = " A figure over some of the suite's problems only, where the others were not run, says over how many."


def focus(section: Section) -> str:
    """The method that the others are compared with: the reader's choice, ours, or else the one with the best mean rank.

    Where figures are published, ours is the method that they are of.
    """
    if section.ours in section.methods:
        return section.ours
    names = OURS[::-1] if section.suite in PUBLISHED else OURS
    ours = [method for name in names for method in section.methods if read_call(method)[0] == name]
    ranks = mean_ranks(section)
    return (ours or sorted(ranks, key=lambda method: ranks[method].mean) or section.methods)[0]


def best_other(section: Section) -> str | None:
    """The best of the methods that ours is compared with: by mean score where that is known, by mean rank otherwise."""
    others = [method for method in section.methods if method != focus(section)]
    scores = {method: value.mean for method in others if (value := mean_score(section.runs, method))}
    if scores:
        return max(scores, key=lambda method: scores[method])
    ranks = {method: value.mean for method, value in mean_ranks(section).items() if method in others}
    return min(ranks, key=lambda method: ranks[method]) if ranks else None


def main_tables(section: Section) -> list[Table]:
    """What a reader wants to see first."""
    scores = [table for stage in range(_stages(section)) if (table := score_table(section, stage))]
    if not PUBLISHED.get(section.suite):
        return _filled([method_table(section), *scores, *_comparisons(section)])
    return _filled([regret_table(section), rank_table(section), sign_table(section), *scores, *_comparisons(section)[1:]])


def further_tables(section: Section) -> list[Table]:
    """What a reader may want to look up."""
    regret = [] if PUBLISHED.get(section.suite) else [regret_table(section)]
    return _filled([*regret, best_table(section), matching_table(section), timing_table(section), feature_table(section)])


def _filled(tables: list[Table]) -> list[Table]:
    """Those with something in them besides names."""
    return [table for table in tables if table.rows and len(table.header) > 1]


def _comparisons(section: Section) -> list[Table]:
    if len(section.methods) < 2:
        return []
    other = best_other(section)
    tables = [sign_table(section)]
    if scored_at(section.runs):
        stages = range(_stages(section))
        tables += [difference_table(section, stage) for stage in stages]
        tables += [difference_table(section, stage, 0) for stage in stages[1:]]
    if other is not None:
        tables.append(comparison_table(section, focus(section), other))
    return tables


def score_table(section: Section, stage: int = 0) -> Table | None:
    """Mean scores by class, at the full budget or at the k-th below it. None where no score is known."""

    def row(group: str, runs: Sequence[Runs], evaluations: str) -> tuple[str, ...]:
        values = [mean_score(runs, method, stage) for method in section.methods]
        cells = best_bold([(value.mean if value else None, scored(value)) for value in values], largest=True)
        return (group, part_of(len(runs), section.size(group)), evaluations, *cells)

    reached = scored_at(section.runs, stage)
    if not reached:
        return None
    part = replace(section, runs=tuple(reached))
    rows = [row(group, runs, str(runs[0].budgets[stage])) for group, runs in part.groups.items()]
    if len(rows) > 1:
        rows.append(row(ALL, part.runs, ""))
    note = (
        f"(random {MINUS} method) / (random {MINUS} reference), with the mean best value of uniform random search after as "
        "many evaluations: 0 is as good as random search, 1 as good as the best known value. Mean over instances ± standard "
        "error over instances (none for a single one), each instance the mean of its seeds. The last row is over all "
        "instances, of methods that were run on all of them."
    )
    where = "with the full budget" if stage == 0 else "earlier in the same runs" + (f" ({stage})" if stage > 1 else "")
    return Table(f"Score {where}", note, ("class", "instances", "evaluations", *section.methods), tuple(rows))


def regret_table(section: Section) -> Table:
    """Final regret and AUC of each case, the published figures below ours."""
    published = PUBLISHED.get(section.suite, {})
    rows: list[tuple[str, ...]] = []
    for runs in section.runs:
        if runs.reference is None:
            continue
        theirs = published.get(runs.case.group, {})
        here = ", here" if theirs else ""
        regret, auc = (
            {method: measure(method, runs.case.budget) for method in runs.records} for measure in (runs.regret, runs.auc)
        )
        quoted = [theirs.get(method) for method in section.methods]
        rows.append((section.label(runs), f"regret{here}", *_means(section, regret, spread)))
        if theirs:
            rows.append(
                ("", "published", *best_bold([(each.regret if each else None, _published(each)) for each in quoted]))
            )
        rows.append(("", f"AUC{here}", *_means(section, auc, lambda values: shown(float(values.mean()), 4))))
        if theirs:
            figures = [each.auc if each else None for each in quoted]
            rows.append(("", "published", *best_bold([(figure, quoted_figure(figure)) for figure in figures])))
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


def rank_table(section: Section) -> Table:
    """The order of the methods by mean regret, here and as published."""
    methods = [method for method in section.methods if any(method in row for row in PUBLISHED[section.suite].values())]
    rows = []
    for runs in section.runs:
        ours, theirs = published_order(section, runs)
        cells = [f"{ours[method]} / {theirs[method]}" if method in ours else NOTHING for method in methods]
        rows.append((section.label(runs), *cells))
    note = "Rank by mean regret, here / published, among the methods that both have; of equal ones each has the better rank."
    return Table("Order of methods, here and published", note, ("problem", *methods), tuple(rows))


def published_order(section: Section, runs: Runs) -> tuple[dict[str, int], dict[str, int]]:
    """Ranks by mean regret of the methods that both have: here, and published."""
    theirs = PUBLISHED[section.suite].get(runs.case.group, {})
    both = [method for method in section.methods if method in runs.records and method in theirs]
    if runs.reference is None or not both:
        return {}, {}
    regret = [float(np.mean(runs.best(method)[:, -1])) - runs.reference for method in both]
    ranks = (stats.rankdata(values, "min") for values in (np.round(regret, 9), [theirs[method].regret for method in both]))
    ours, published = ({method: int(rank) for method, rank in zip(both, each, strict=True)} for each in ranks)
    return ours, published


def sign_table(section: Section) -> Table:
    """Wins, ties and losses of our method against each other one, as in the paper's Table 3."""
    ours = focus(section)
    note = (
        f"Wins / ties / losses of {ours} on the final value against each other method, over pairs of runs with the same "
        "seed; in brackets, p of the exact two-sided binomial sign test, ties dropped."
    )
    title = "Table 3: sign tests" if PUBLISHED.get(section.suite) else "Sign tests"
    if PUBLISHED.get(section.suite):
        note += " The published tests are not quoted here."

    def cell(found: Comparison) -> str:
        return f"{found.sign.wins} / {found.sign.ties} / {found.sign.losses} ({p_value(found.sign.p)})"

    return _against_others(section, f"{title} of {ours}", note, "problem", cell)


def method_table(section: Section) -> Table:
    """A row for each method, which may have a long name: its score, and what it scores less ours, at each budget."""
    ours = focus(section)
    stages = range(_stages(section) if scored_at(section.runs) and len(section.methods) > 1 else 0)

    def cells(method: str, stage: int) -> tuple[str, str, str]:
        score = scored(mean_score(section.runs, method, stage))
        found = compare_runs(section.runs, method, ours, stage) if method != ours else None
        if found is None:
            return score, NOTHING, NOTHING
        return score, _difference(found, section.size(ALL)), _share(found.instances)

    header = (
        "method",
        *(text for stage in stages for text in (f"score after {_after(section, stage)}", f"less {ours}", "won")),
    )
    rows = tuple((method, *(cell for stage in stages for cell in cells(method, stage))) for method in section.methods)
    note = (
        f"Score over all problems, of methods that were run on all of them; what the method scores less {ours} on the same "
        "problems with the same seeds; how many of the problems it wins. Means over problems ± standard error over problems."
        + PARTLY
    )
    return Table(f"Methods beside {ours}", note, header, rows)


def difference_table(section: Section, stage: int = 0, other_stage: int | None = None) -> Table:
    """Differences in score of our method to each other one, which may have another budget: by class, and in sum."""
    ours, best = focus(section), best_other(section)
    others = [method for method in section.methods if method != ours]
    last = stage if other_stage is None else other_stage
    found = {
        part: {other: compare_runs(runs, ours, other, stage, last) for other in others}
        for part, runs in section.parts.items()
    }
    rows = [
        (part, *(_difference(each, section.size(part)) if each else NOTHING for each in row.values()))
        for part, row in found.items()
    ]
    whole = found.get(ALL, next(iter(found.values())))
    if ALL in found:
        worst = [worst_class(section, ours, other, stage, last) for other in others]
        rows.append(
            ("Worst class", *(f"{fixed(each.difference.mean, '+')} ({each.group})" if each else NOTHING for each in worst))
        )
    rows += [
        ("Problems won", *(_share(each.instances) if each else NOTHING for each in whole.values())),
        ("Runs won", *(_share(each.sign) if each else NOTHING for each in whole.values())),
    ]
    note = (
        f"Score of {ours} less that of the other method, over the seeds that both have: mean over instances ± standard "
        "error over instances (none for a single one), each instance the mean of its seeds."
        f"{f' The best of the others over all is {best}.' if best else ''}{PARTLY}"
    )
    title = f"Paired differences in score of {ours} after {_after(section, stage)} evaluations"
    if last != stage:
        title += f" to the others after {_after(section, last)}"
        note += f" Scores refer to random search with {_after(section, last)} evaluations."
    return Table(title, note, ("class", *others), tuple(rows))


def _difference(found: Comparison, planned: int) -> str:
    """The difference in score, and over how many instances it is, if not all."""
    if found.difference is None or found.difference.count == planned:
        return scored(found.difference, "+")
    return f"{scored(found.difference, '+')} ({part_of(found.difference.count, planned)})"


def _share(sign: SignTest) -> str:
    total = sign.wins + sign.ties + sign.losses
    return f"{100 * sign.wins / total:.0f} % of {total}"


def _after(section: Section, stage: int) -> str:
    """The budget at a stage."""
    budgets = {each.budgets[stage] for each in section.runs if stage < len(each.budgets)}
    return _listed([str(budget) for budget in sorted(budgets)])


def matching_table(section: Section) -> Table:
    """Evaluations that our method needed to be as good as each other one in the end."""
    ours = focus(section)
    note = (
        f"Evaluations, initial ones included, after which {ours} was as good as the other method with the full budget: "
        "median over pairs of runs with the same seed; never, if half of them or more did not get there."
    )

    def cell(found: Comparison) -> str:
        return "never" if found.evaluations is None else shown(found.evaluations)

    return _against_others(section, f"Evaluations that {ours} needs to match the others", note, "class", cell, overall=False)


def _against_others(
    section: Section, title: str, note: str, first: str, text: Callable[[Comparison], str], *, overall: bool = True
) -> Table:
    """A table of our method against each other one, by class."""
    ours = focus(section)
    others = [method for method in section.methods if method != ours]

    def cell(runs: Sequence[Runs], other: str) -> str:
        found = compare_runs(runs, ours, other)
        return NOTHING if found is None else text(found)

    return Table(title, note, (first, *others), _by_class(section, others, cell, overall=overall))


def best_table(section: Section) -> Table:
    """Best values found, whether a reference is known or not."""
    rows = []
    for runs in section.runs:
        final = {method: runs.best(method)[:, -1] for method in runs.records}
        cells = _means(section, final, lambda values: spread(values, 4))
        rows.append((section.label(runs), shown(runs.reference, 6), *cells))
    note = "Mean ± standard deviation over seeds of the best value found; the reference is the least value known."
    return Table("Best values", note, ("problem", "reference", *section.methods), tuple(rows))


def timing_table(section: Section) -> Table:
    """Seconds per ask and per fit."""

    def cell(runs: Sequence[Runs], method: str) -> str:
        records = [record for each in runs for record in each.records.get(method, {}).values()]
        if not records:
            return NOTHING
        ask, fit = (float(np.mean([record.seconds.get(part, 0.0) for record in records])) for part in ("ask", "fit"))
        return shown(ask, 2) + (f" ({shown(fit, 2)})" if fit else "")

    note = (
        "Mean over the evaluations after the initial ones, on one thread; in brackets, the part spent on fitting the model. "
        "It depends on the machine and on what else ran there."
    )
    rows = _by_class(section, section.methods, cell, overall=False)
    return Table("Seconds per proposal", note, ("class", *section.methods), rows)


def feature_table(section: Section) -> Table:
    """Feature lengths of the methods that have features."""
    lengths: dict[str, dict[str, int]] = {}
    for group, runs in section.groups.items():
        for method, seeds in runs[0].records.items():
            length = feature_length(next(iter(seeds.values())).job)
            if length is not None:
                lengths.setdefault(group, {})[method] = length
    methods = [method for method in section.methods if any(method in row for row in lengths.values())]
    rows = tuple(
        (group, *(str(row[method]) if method in row else NOTHING for method in methods)) for group, row in lengths.items()
    )
    return Table("Comparisons by which orders are told apart", "Length of the feature vector.", ("class", *methods), rows)


def findings(section: Section) -> list[str]:
    """The figures in words."""
    said = []
    ours, ranks = focus(section), mean_ranks(section)
    if ranks:
        order = sorted(ranks, key=lambda method: ranks[method].mean)
        listed = _listed([f"{method} ({ranks[method].mean:.2f})" for method in order])
        over = _count(ranks[ours].count if ours in ranks else len(section.runs), "problem")
        said.append(f"By mean rank over {over}, from the best: {listed}.")
    scores = {method: value for method in section.methods if (value := mean_score(section.runs, method))}
    if len(scores) > 1:
        order = sorted(scores, key=lambda method: -scores[method].mean)
        listed = _listed([f"{method} {fixed(scores[method].mean)}" for method in order])
        over = _count(scores[order[0]].count, "problem")
        said.append(f"Mean score over {over}, where random search has 0 and the best known value 1: {listed}.")
    other = best_other(section)
    if other is not None and (found := compare_runs(section.runs, ours, other)) is not None:
        sign, difference = found.sign, found.difference
        text = f"Against {other}, the best of the others, {ours} "
        if difference is not None:
            error = f" ± {fixed(difference.error)}" if difference.error is not None else ""
            over = f" (standard error over {difference.count} problems)" if error else ""
            word = "lower" if difference.mean < 0 else "higher"
            text += f"scores {fixed(abs(difference.mean))}{error} {word}{over}; it "
        text += (
            f"wins {sign.wins}, ties {sign.ties} and loses {sign.losses} of "
            f"{_count(sign.wins + sign.ties + sign.losses, 'pair')} of runs (sign test, p {_equal(p_value(sign.p))})."
        )
        said.append(text)
        said += [text for stage in range(1, _stages(section)) if (text := _sooner(section, other, stage))]
    if section.suite in PUBLISHED:
        orders = [
            (ours_, theirs) for runs in section.runs for ours_, theirs in [published_order(section, runs)] if len(ours_) > 1
        ]
        if orders:
            same = sum(min(here, key=lambda m: here[m]) in _first(there) for here, there in orders)
            said.append(
                f"On {same} of {_count(len(orders), 'problem')} the method with the least mean regret here is also the "
                "published first, among the methods that both have."
            )
    return said


def _sooner(section: Section, other: str, stage: int) -> str:
    """How our method does with a smaller budget against another one with the full budget."""
    ours = focus(section)
    found = compare_runs(section.runs, ours, other, stage, 0)
    if found is None or found.difference is None:
        return ""
    return (
        f"{ours} after {_after(section, stage)} evaluations less {other} after {_after(section, 0)}: "
        f"{_difference(found, section.size(ALL))} in score."
    )


def remarks(section: Section) -> list[str]:
    """What a reader must know about the data: gaps, and what they cannot tell."""
    said = []
    if section.absent:
        listed = _listed(_case_names(section))
        said.append(f"{_count(len(section.absent), 'problem')} of the suite without any finished run: {listed}.")
    unseen = [seed for seed in (SUITES[section.suite].seeds if section.suite else ()) if seed not in section.seeds]
    if unseen:
        said.append(f"Seeds of the suite that were not run: {_ranges(unseen)}.")
    unknown = [runs for runs in section.runs if runs.reference is None]
    if unknown:
        listed = _listed([runs.case.problem for runs in unknown])
        said.append(f"No reference value is known for {listed}: regret and score are left out there.")
    trivial = [runs for runs in section.runs if runs.reference is not None and not runs.has_score]
    if trivial:
        said.append(
            f"Random search finds the reference of {_listed([runs.case.problem for runs in trivial])} by itself: "
            "there is no score there."
        )
    alike: dict[tuple[str, str, str], list[str]] = {}
    for method in section.methods:
        absent = [runs for runs in section.runs if method not in runs.records]
        if absent:
            alike.setdefault(("has", "have", f"no finished run on {_classes(section, absent)}."), []).append(method)
        lacking: dict[str, list[Runs]] = {}
        for runs in section.runs:
            if seeds := missing_seeds(runs, section.seeds).get(method):
                lacking.setdefault(_ranges(seeds), []).append(runs)
        for seeds_, which in lacking.items():
            where = _classes(section, which)
            what = f"the seeds {seeds_}, which others have, on {where}: paired comparisons leave them out."
            alike.setdefault(("lacks", "lack", what), []).append(method)
    said += [
        f"{_listed(methods)} {one if len(methods) == 1 else several} {what}"
        for (one, several, what), methods in alike.items()
    ]
    beaten = [
        f"{runs.case.problem} ({method})"
        for runs in section.runs
        for method in runs.records
        if (regret := runs.regret(method, runs.case.budget)) is not None and (regret < 0).any()
    ]
    if beaten:
        said.append(f"Better than the reference, which was the best known value: {_listed(beaten)}.")
    if 1 < len(section.runs) < FEW:
        said.append(
            f"Standard errors and intervals over {len(section.runs)} problems say little; "
            "the tables of regret and of best values have the spread over seeds."
        )
    return said


def setup(section: Section) -> list[tuple[str, str]]:
    """What was run."""
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
    renamed = {runs.case.relabelled for runs in section.runs}
    ways = {False: "as given", True: "renamed at random for every seed"}
    named = " and ".join(ways[each] for each in sorted(renamed))
    return [
        ("problems", f"{problems} in {_count(len(section.groups), 'class', 'classes')}"),
        ("methods", ", ".join(section.methods)),
        ("seeds", _ranges(section.seeds)),
        ("budget", _listed(listed)),
        ("items", f"{items}, {named}"),
        *([("protocol", ", ".join(protocols))] if protocols else []),
        ("runs", str(len(jobs))),
    ]


def _by_class(
    section: Section,
    methods: Sequence[str],
    cell: Callable[[Sequence[Runs], str], str],
    *,
    overall: bool = True,
) -> tuple[tuple[str, ...], ...]:
    groups: list[tuple[str, Sequence[Runs]]] = list(section.groups.items())
    if overall and len(groups) > 1:
        groups.append((ALL, section.runs))
    return tuple((group, *(cell(runs, method) for method in methods)) for group, runs in groups)


def _means(section: Section, values: Mapping[str, Floats | None], text: Callable[[Floats], str]) -> list[str]:
    """Cells with the means of some methods' values, the least one in bold."""
    each = [values.get(method) for method in section.methods]
    return best_bold([(None, NOTHING) if part is None else (float(part.mean()), text(part)) for part in each])


def _published(figure: Figure | None) -> str:
    if figure is None:
        return NOTHING
    deviation = f" ± {quoted_figure(figure.deviation)}" if figure.deviation is not None else ""
    return quoted_figure(figure.regret) + deviation


def _stages(section: Section) -> int:
    return max(len(runs.budgets) for runs in section.runs)


def _first(ranks: dict[str, int]) -> list[str]:
    return [method for method, rank in ranks.items() if rank == 1]


def _equal(p: str) -> str:
    return p.replace("<", "< ") if p.startswith("<") else f"= {p}"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _listed(parts: Sequence[str]) -> str:
    return ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else "".join(parts)


def _classes(section: Section, chosen: Sequence[Runs]) -> str:
    """Names of cases; of a class where all of it is meant, or so many of them that names would be a long list."""
    names: list[str] = []
    for group, runs in section.groups.items():
        some = [each for each in runs if each in chosen]
        if len(some) == len(runs):
            names.append(group)
        elif len(chosen) > NAMED and some:
            names.append(f"{len(some)} of {len(runs)} of {group}")
        else:
            names += [section.label(each) for each in some]
    return "all problems" if len(chosen) == len(section.runs) > 1 else _listed(names)


def _case_names(section: Section) -> list[str]:
    """Names of the cases without a finished run; of a class where all of it is meant."""
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
