"""The field's words: a list of home-made terms that must not come back, with the standard term for each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

INSTEAD: dict[str, str] = {
    r"unlikelihood|unlikelihoods": "BIC, negative log likelihood",
    r"likeliest": "most likely, most probable, best",
    r"levelled|level slopes|drawn in": "output warping, warped",
    r"surprise[sd]?": "one-step-ahead error",
    r"wholes|whole looks": "full scans",
    r"ruled|unruled": "constrained",
    r"rules?": "constraint; of a batch: strategy",
    r"(keeps?|keeping|kept) (the|its|all|their) constraints": "satisfies the constraints, feasible",
    r"has picks": "has_binary",
    r"told": "observed (of values), reported (of a user)",
    r"trends?": "mean function",
    r"what is left(?! to)": "residual",
    r"slopes?": "gradient, derivative",
    r"pulls": "gradients",
    r"(?<!hill )(?<!hill-)climb(s|ed|ing)?": "local search, ascend",
    r"contenders?|finalists?": "top k, survivors, candidates",
    r"forbidden": "excluded",
    r"settled|settling": "continuous step",
    r"spreads?": "standard deviation, initial design, stratified design, ...",
    r"(?<!decimal )places": "slots, item embedding, coordinates",
    r"maps? of (the |its )?items|item maps?|learned maps?|mapped model|best map|learned places": "item embedding",
    r"renam(e|es|ed|ing|ings) (the |their |its |all )?(items|slots|cities|labels)|renamings?": "relabel, relabelling",
    r"whole numbers?": "integer",
    r"first in the alphabet": "lexicographically smallest",
    r"as it were|so many|hangs? on|what came of|came of it|what there is": "plain English",
    r"cannot be(?=[.,;:)]|$)": "is not possible, is invalid",
    r"is no (?!longer|more|less|better|worse|larger|need|reason|guarantee|difference|one\b|such|other)\w+": "is not a",
    r"signs? of life": "heartbeat",
    r"bury|buried|despair|insist(s|ed)?|complain(s|ed)?|last words": "fail stale trials, abort, retry, warn, timeout",
    r"verdict|surely|foretold|foretell": "summary, significant, predicted",
    r"doubt(s|ed|ful)?": "uncertainty, prior standard deviation",
    r"honest": "holdout, calibrated, true",
    r"remarks?|sooner": "caveat, at a smaller budget",
    r"alike": "similar, equal",
    r"knows? better|believed in|foretel(l|ls)": "plain English",
    r"mend(s|ed)?|wanders?|whitener|stretch(es|ed)?": "repair, random walk, Cholesky factor, inflation",
    r"said|anew|ours": "message, again, focal method",
}
"""Patterns of words, found whatever their case and in identifiers as well, and what to say instead."""

HOME_MADE = re.compile(
    rf"(?<![\w-])(?:{'|'.join(f'({pattern})' for pattern in INSTEAD)})(?![\w-])", re.IGNORECASE | re.MULTILINE
)

ALLOWED = {
    "tests/integration/test_robustness.py": {"rule", "Rule"},  # of hypothesis
    "src/mergebo/state.py": {"spread"},  # as saved states of earlier versions have it
}

FILES = sorted(
    path
    for folder in ("", "docs", "examples", "benchmarks", ".ci", ".github/**", "tests/**", "src/**", "optunahub/**")
    for path in ROOT.glob(f"{folder}/*".lstrip("/"))
    if path.suffix in (".md", ".py", ".jinja", ".toml", ".yml") or path.name == "Makefile" or path.parent.name == ".ci"
    if path.name != Path(__file__).name
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_words_of_the_field(path: Path) -> None:
    name, text = str(path.relative_to(ROOT)), separated(path.read_text())
    if name == "CHANGELOG.md":
        text = re.sub("`.*?`", "", text)  # the names that were there before
    found = [
        f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]!r}; say {instead(match[0])}"
        for match in HOME_MADE.finditer(text)
        if match[0] not in ALLOWED.get(name, ())
    ]
    assert not found, "\n".join(found)


def separated(text: str) -> str:
    """A text with the words of its identifiers apart, whether they are written like_this or LikeThis."""
    return re.sub("_|(?<=[a-z])(?=[A-Z])", " ", text)


def instead(word: str) -> str:
    """What to say instead of a home-made word."""
    return next(better for pattern, better in INSTEAD.items() if re.match(pattern, word, re.IGNORECASE))


def test_the_list_finds_what_it_is_for() -> None:
    text = "the unlikelihood of a ruled space is levelled; a climb hangs on so many looks, and the slope is no number"
    found = {match[0] for match in HOME_MADE.finditer(text)}
    assert found == {"unlikelihood", "ruled", "levelled", "climb", "hangs on", "so many", "slope", "is no number"}
    assert instead("climb") == "local search, ascend"
    for identifier in ("RuleError", "has_picks", "_Contenders", "whole_looks"):
        assert HOME_MADE.search(separated(identifier)), identifier
    assert not HOME_MADE.search("hill climbing is no longer used; two decimal places cannot be shown")


def test_exceptions_are_needed() -> None:
    for name, words in ALLOWED.items():
        assert words <= {match[0] for match in HOME_MADE.finditer(separated((ROOT / name).read_text()))}
