"""Proposals: the optimizer that is kept between them equals a new one, whatever happened to the trials before."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.trial import FrozenTrial, TrialState

import mergebo as mb
from mergebo import errors
from mergebo.studies.attributes import DISCARDED, NOISE, REASON, RETRY_OF, WORKER
from mergebo.studies.codec import SpaceCodec
from mergebo.studies.proposals import Proposer
from mergebo.studies.study import stored_noise
from mergebo.studies.trials import params_of

SPACE = mb.Space(order=mb.Permutation(4, before=[(0, 1)]), heat=mb.Real(0, 1), picks=mb.Binary(2))
CODEC = SpaceCodec.of(SPACE.variables)


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(before)


def proposer(method: str = "random", directions: Sequence[Any] = ("minimize",), **options: Any) -> Proposer:
    return Proposer(CODEC, directions, seed=1, options={"method": method, "initial": 3, **options})


def add(
    study: optuna.Study, seed: int, state: TrialState = TrialState.RUNNING, value: Any = None, **attributes: Any
) -> None:
    """Add a trial with a random point; without a seed, one that has no parameters yet."""
    params = CODEC.params(SPACE.sample_rows(seed=seed)) if seed else {}
    values = None if value is None else [value] * len(study.directions)
    study.add_trial(
        optuna.create_trial(
            state=state,
            params=params,
            distributions=CODEC.distributions if params else {},
            values=values,
            user_attrs=attributes,
        )
    )


class Changes:
    """What may happen to a study between two proposals, here or in other processes; numbers choose among its trials."""

    def __init__(self, study: optuna.Study) -> None:
        self.study = study

    def running(self) -> list[FrozenTrial]:
        return [trial for trial in self.study.get_trials(deepcopy=False) if trial.state == TrialState.RUNNING]

    def started(self, which: int) -> None:
        add(self.study, which)

    def finished(self, which: int) -> None:
        add(self.study, which + 1, TrialState.COMPLETE, float(which % 7))

    def measured(self, which: int) -> None:
        add(
            self.study,
            which + 1,
            TrialState.COMPLETE,
            which / 7,
            **{NOISE: stored_noise([0.25] * len(self.study.directions))},
        )

    def infeasible(self, which: int) -> None:
        """A trial that violates a constraint of Optuna, which changes with the values of others."""
        trial = self.study.ask(CODEC.distributions)
        trial.set_constraint("c", float(which % 3))
        self.study.tell(trial, [float(which)] * len(self.study.directions))

    def queued(self, which: int) -> None:
        self.study.enqueue_trial(CODEC.params(SPACE.sample_rows(seed=which)))

    def interrupted(self, which: int) -> None:
        add(self.study, which + 1, TrialState.FAIL, **{WORKER: "w", **({REASON: ""} if which % 2 else {})})

    def retried(self, which: int) -> None:
        trials = self.study.get_trials(deepcopy=False)
        if trials:
            add(self.study, which + 1, **{WORKER: "w", RETRY_OF: [trials[which % len(trials)].number]})

    def ends(self, which: int) -> None:
        """A running trial ends, not always the first one."""
        if running := self.running():
            trial = running[which % len(running)]
            if which % 3:
                self.study.tell(trial.number, [float(which)] * len(self.study.directions))
            else:
                self.study.tell(trial.number, state=TrialState.FAIL)

    def asked(self, which: int) -> None:
        """A trial without parameters, which appear late."""
        self.late = self.study.ask()

    def suggested(self, which: int) -> None:
        late = getattr(self, "late", None)
        if late is not None and late.number in [trial.number for trial in self.running()]:
            for name, distribution in list(CODEC.distributions.items())[: 1 + which % 9]:
                late._suggest(name, distribution)

    def discarded(self, which: int) -> None:
        if running := self.running():
            trial = running[which % len(running)]
            add(self.study, which + 1, TrialState.FAIL, **{DISCARDED: True})
            self.study.tell(trial.number, state=TrialState.PRUNED)


KINDS = sorted(name for name in vars(Changes) if not name.startswith("_") and name != "running")


def same_trials(one: Sequence[Any], other: Sequence[Any]) -> None:
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        assert (a.id, a.state, a.value, a.noise_std) == (b.id, b.state, b.value, b.noise_std)
        np.testing.assert_array_equal(SPACE.encode(a.point), SPACE.encode(b.point))


@pytest.mark.parametrize(("method", "directions"), [("random", ["minimize"]), ("random", ["minimize", "maximize"])])
@settings(max_examples=40)
@given(changes=st.lists(st.tuples(st.sampled_from([*KINDS, "propose", "elsewhere"]), st.integers(0, 50)), max_size=40))
def test_the_kept_optimizer_equals_a_new_one(method: str, directions: list[str], changes: list[tuple[str, int]]) -> None:
    """After any changes of the trials, also if the same proposer is used with other trials in between."""
    study, other = (optuna.create_study(directions=directions, sampler=optuna.samplers.RandomSampler(0)) for _ in range(2))
    add(other, 3, TrialState.COMPLETE, 5.0)
    add(other, 4)
    change, kept = Changes(study), proposer(method, directions)
    for kind, which in [*changes, ("propose", 0)]:
        if kind not in ("propose", "elsewhere"):
            getattr(change, kind)(which)
            continue
        trials = (study if kind == "propose" else other).get_trials(deepcopy=False)
        new = proposer(method, directions)
        assert kept.propose(trials, len(trials), which) == new.propose(trials, len(trials), which)
        (one, numbers), (two, expected) = kept.read(trials), new.read(trials)
        assert numbers == expected
        same_trials(one.trials, two.trials)
        with kept.optimizer(trials) as (shared, _):
            same_trials(shared.trials, two.trials)
        assert (one.noisy, one.ask().point.keys()) == (two.noisy, SPACE.variables.keys())


@pytest.mark.slow
@settings(max_examples=8)
@given(changes=st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 50)), min_size=12, max_size=20))
def test_fitted_models_that_are_kept_give_the_same_proposals(changes: list[tuple[str, int]]) -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(0))
    change, kept = Changes(study), proposer("auto")
    for k, (kind, which) in enumerate(changes):
        getattr(change, kind)(which)
        if k % 4 == 3:
            trials = study.get_trials(deepcopy=False)
            assert kept.propose(trials, len(trials)) == proposer("auto").propose(trials, len(trials))


@settings(max_examples=25)
@given(changes=st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 50)), max_size=25))
def test_the_log_is_that_of_an_optimizer_with_the_same_trials(changes: list[tuple[str, int]]) -> None:
    """The slow way: a new optimizer that attaches the points and tells the values."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(0))
    for kind, which in changes:
        getattr(Changes(study), kind)(which)
    trials = study.get_trials(deepcopy=False)
    found, numbers = proposer().read(trials)
    slow = mb.Optimizer(SPACE, "random", seed=1, initial=3)
    for number, trial in zip(numbers, found.trials, strict=True):
        attached = slow.attach(SPACE.decode(CODEC.rows([params_of(trials[number])])[0]))
        if trial.state == "done":
            slow.tell(attached, trial.value, noise_std=trial.noise_std)
        elif trial.state == "failed":
            slow.fail(attached)
    same_trials(found.trials, slow.trials)
    assert str(found.ask().point) == str(slow.ask().point)


def test_rows_are_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    study = optuna.create_study()
    decoded = []
    rows = SpaceCodec.rows
    monkeypatch.setattr(SpaceCodec, "rows", lambda self, trials: decoded.append(len(trials)) or rows(self, trials))
    kept = proposer()
    for k in range(6):
        add(study, k + 1, TrialState.COMPLETE, float(k))
        kept.propose(study.get_trials(deepcopy=False), k + 1)
    assert decoded == [1] * 6


def test_parameters_may_appear_in_the_same_object() -> None:
    """A storage may change its own trials as long as they are running."""
    study = optuna.create_study()
    add(study, 0)
    trials, kept = study.get_trials(), proposer()
    assert kept.read(trials)[1] == []
    trials[0].params = CODEC.params(SPACE.sample_rows(seed=1))
    assert kept.read(trials)[1] == [0]


def test_points_outside_the_space_are_ignored() -> None:
    """Enqueued parameters may have any value, and constraints may be newer than trials."""
    study = optuna.create_study()
    inside = CODEC.params(SPACE.sample_rows(seed=0))
    for change in ({}, {"heat": 7.0}):
        study.enqueue_trial({**inside, **change})
        with pytest.warns(UserWarning, match="out of range") if change else pytest.MonkeyPatch.context():
            study.tell(study.ask(CODEC.distributions), 1.0)
    _, numbers = proposer().read(study.get_trials())
    assert numbers == [0]


def test_invalid_noise_is_named() -> None:
    study = optuna.create_study()
    add(study, 1, TrialState.COMPLETE, 1.0, **{NOISE: -1.0})
    kept = proposer()
    for _ in range(2):
        with pytest.raises(errors.TrialError, match=r"noise of trial 0 must be a finite standard deviation.*-1"):
            kept.read(study.get_trials())


def test_an_optimizer_that_was_read_is_independent() -> None:
    study = optuna.create_study()
    for k in range(5):
        add(study, k + 1, TrialState.COMPLETE, float(k))
    kept = proposer("bops-h")
    trials = study.get_trials(deepcopy=False)
    expected = kept.propose(trials, 5)
    optimizer, _ = kept.read(trials)
    optimizer.tell(optimizer.ask(), -100.0)
    assert len(optimizer.trials) == 6
    assert kept.propose(trials, 5) == expected


def test_threads_wait_for_each_other() -> None:
    study = optuna.create_study()
    for k in range(8):
        add(study, k + 1, TrialState.COMPLETE, float(k))
    trials, kept = study.get_trials(deepcopy=False), proposer("bops-h")
    expected = {count: proposer("bops-h").propose(trials[:count], count) for count in range(3, 9)}
    found: dict[int, Any] = {}
    threads = [threading.Thread(target=lambda n=count: found.update({n: kept.propose(trials[:n], n)})) for count in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected
