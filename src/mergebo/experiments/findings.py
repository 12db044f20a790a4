"""The sentences of a report on one suite: what was run, what was found, and what to be careful about."""

from __future__ import annotations

from collections.abc import Sequence

from mergebo.experiments.comparison import best_other, compare_runs, focal_method, mean_ranks, mean_score, published_order
from mergebo.experiments.formatting import counted, format_fixed, join_words, p_value, part_of, ranges
from mergebo.experiments.published import PUBLISHED
from mergebo.experiments.report_tables import difference_and_count, evaluations_at
from mergebo.experiments.runs import ALL, CaseRuns, SuiteRuns, missing_seeds
from mergebo.experiments.suites import SUITES

__all__: list[str] = []

MAX_NAMED = 6
"""The number of problems up to which a caveat names each of them."""
FEW_PROBLEMS = 5
"""Below this number of problems, standard errors over problems are unreliable."""


def findings(section: SuiteRuns) -> list[str]:
    """The main results as sentences."""
    return [
        *_mean_ranks(section),
        *_mean_scores(section),
        *_against_best_other(section),
        *_agreement(section),
    ]


def _mean_ranks(section: SuiteRuns) -> list[str]:
    ranks, focal = mean_ranks(section), focal_method(section)
    if not ranks:
        return []
    order = sorted(ranks, key=lambda method: ranks[method].mean)
    listed = join_words([f"{method} ({ranks[method].mean:.2f})" for method in order])
    over = counted(ranks[focal].count if focal in ranks else len(section.runs), "problem")
    return [f"Methods by mean rank over {over}, best first: {listed}."]


def _mean_scores(section: SuiteRuns) -> list[str]:
    scores = {method: value for method in section.methods if (value := mean_score(section.runs, method))}
    if len(scores) < 2:
        return []
    order = sorted(scores, key=lambda method: -scores[method].mean)
    listed = join_words([f"{method} {format_fixed(scores[method].mean)}" for method in order])
    over = counted(scores[order[0]].count, "problem")
    return [f"Mean score over {over} (0: random search, 1: best known value): {listed}."]


def _against_best_other(section: SuiteRuns) -> list[str]:
    """The focal method against the best of the others, at the full budget and at the smaller ones."""
    focal, other = focal_method(section), best_other(section)
    if other is None or (found := compare_runs(section.runs, focal, other)) is None:
        return []
    sign, difference = found.sign, found.difference
    text = f"Against {other}, the best of the others, {focal} "
    if difference is not None:
        error = f" ± {format_fixed(difference.error)}" if difference.error is not None else ""
        over = f" (standard error over {difference.count} problems)" if error else ""
        word = "lower" if difference.mean < 0 else "higher"
        text += f"scores {format_fixed(abs(difference.mean))}{error} {word}{over}; it "
    text += (
        f"wins {sign.wins}, ties {sign.ties} and loses {sign.losses} of "
        f"{counted(sign.wins + sign.ties + sign.losses, 'pair')} of runs (sign test, p {_equal(p_value(sign.p))})."
    )
    smaller = [_at_smaller_budget(section, other, checkpoint) for checkpoint in section.checkpoints[1:]]
    return [text, *filter(None, smaller)]


def _at_smaller_budget(section: SuiteRuns, other: str, checkpoint: int) -> str:
    """The focal method at a smaller budget compared with another one at the full budget."""
    focal = focal_method(section)
    found = compare_runs(section.runs, focal, other, checkpoint, 0)
    if found is None or found.difference is None:
        return ""
    return (
        f"{focal} after {evaluations_at(section, checkpoint)} evaluations minus {other} after {evaluations_at(section, 0)}: "
        f"{difference_and_count(found, section.size(ALL))} in score."
    )


def _agreement(section: SuiteRuns) -> list[str]:
    """On how many problems the best method is the published one."""
    if section.suite not in PUBLISHED:
        return []
    orders = [pair for runs in section.runs if len((pair := published_order(section, runs))[0]) > 1]
    if not orders:
        return []
    same = sum(published[min(here, key=lambda method: here[method])] == 1 for here, published in orders)
    return [
        f"On {same} of {counted(len(orders), 'problem')} the method with the smallest mean regret here is also the "
        "best published one, among the methods in both."
    ]


def caveats(section: SuiteRuns) -> list[str]:
    """Gaps in the data and limits of the statistics, as sentences."""
    sentences = []
    if section.absent:
        listed = join_words(_case_names(section))
        have = "has" if len(section.absent) == 1 else "have"
        sentences.append(f"{counted(len(section.absent), 'problem')} of the suite {have} no finished run: {listed}.")
    unseen = [seed for seed in (SUITES[section.suite].seeds if section.suite else ()) if seed not in section.seeds]
    if unseen:
        sentences.append(f"Seeds of the suite that were not run: {ranges(unseen)}.")
    unknown = [runs for runs in section.runs if runs.reference_value is None]
    if unknown:
        listed = join_words([runs.case.problem for runs in unknown])
        sentences.append(f"No reference value is known for {listed}: regret and score are omitted.")
    trivial = [runs for runs in section.runs if runs.reference_value is not None and not runs.has_score]
    if trivial:
        listed = join_words([runs.case.problem for runs in trivial])
        sentences.append(f"Random search reaches the reference of {listed}: the score is undefined.")
    sentences += _incomplete(section)
    beaten = [
        f"{runs.case.problem} ({method})"
        for runs in section.runs
        for method in runs.records
        if (regret := runs.regret(method, runs.case.budget)) is not None and (regret < 0).any()
    ]
    if beaten:
        sentences.append(f"Better than the reference, which was the best known value: {join_words(beaten)}.")
    if 1 < len(section.runs) < FEW_PROBLEMS:
        sentences.append(
            f"Standard errors and intervals over {len(section.runs)} problems are unreliable; "
            "the tables of regret and best values have standard deviations over seeds."
        )
    return sentences


def _incomplete(section: SuiteRuns) -> list[str]:
    """Problems and seeds that some methods lack, with the methods that lack the same in one sentence."""
    incomplete: dict[tuple[str, str, str], list[str]] = {}
    for method in section.methods:
        absent = [runs for runs in section.runs if method not in runs.records]
        if absent:
            incomplete.setdefault(("has", "have", f"no finished run on {_classes(section, absent)}."), []).append(method)
        lacking: dict[str, list[CaseRuns]] = {}
        for runs in section.runs:
            if seeds := missing_seeds(runs, section.seeds).get(method):
                lacking.setdefault(ranges(seeds), []).append(runs)
        for seeds_, which in lacking.items():
            where = _classes(section, which)
            what = f"the seeds {seeds_}, which others have, on {where}: paired comparisons leave them out."
            incomplete.setdefault(("lacks", "lack", what), []).append(method)
    return [
        f"{join_words(methods)} {singular if len(methods) == 1 else plural} {what}"
        for (singular, plural, what), methods in incomplete.items()
    ]


def setup(section: SuiteRuns) -> list[tuple[str, str]]:
    """What was run: problems, methods, seeds, budget and items, as pairs of name and text."""
    plans = sorted({(runs.case.initial, runs.case.budget) for runs in section.runs})
    listed = [f"{initial} + {budget - initial} evaluations" for initial, budget in plans]
    jobs = [record.job for runs in section.runs for each in runs.records.values() for record in each.values()]
    protocols = sorted({job.protocol for job in jobs} - {""})
    problems = part_of(len(section.runs), section.size(ALL))
    sizes = sorted({order.n for runs in section.runs for order in runs.problem.space.permutations.values()})
    items = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else str(sizes[0])
    labels = {False: "as given", True: "relabelled at random for every seed"}
    labelled = " and ".join(labels[each] for each in sorted({runs.case.relabelled for runs in section.runs}))
    return [
        ("problems", f"{problems} in {counted(len(section.groups), 'class', 'classes')}"),
        ("methods", ", ".join(section.methods)),
        ("seeds", ranges(section.seeds)),
        ("budget", join_words(listed)),
        ("items", f"{items}, {labelled}"),
        *([("protocol", ", ".join(protocols))] if protocols else []),
        ("runs", str(len(jobs))),
    ]


def _equal(p: str) -> str:
    return p.replace("<", "< ") if p.startswith("<") else f"= {p}"


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
    return "all problems" if len(chosen) == len(section.runs) > 1 else join_words(names)


def _case_names(section: SuiteRuns) -> list[str]:
    """Names of the cases without a finished run; a class stands for all its cases."""
    names: list[str] = []
    for group in dict.fromkeys(case.group for case in section.absent):
        some = [case.problem for case in section.absent if case.group == group]
        names += [group] if len(some) == section.size(group) else some
    return names
