"""Proposals for the next trial of a study, from an optimizer that is kept from one proposal to the next.

A proposal is a function of the seed, the number of the trial, and the parameters and results of all trials, in the order of
their numbers. What a process has seen before makes no difference: rows are decoded once for each stored trial, fitted models
are kept as long as they are of use, and only the trials since the first one that has changed are read again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np
from optuna.trial import FrozenTrial, TrialState

from mergebo._typing import Rows
from mergebo.optimizer import Direction, Optimizer
from mergebo.studies.attributes import NOISE
from mergebo.studies.codec import SpaceCodec
from mergebo.studies.trials import is_usable, params_of, penalised_values, retried_numbers
from mergebo.trials import TrialLog

__all__ = ["Proposer"]

logger = logging.getLogger(__name__)


class Decoded(NamedTuple):
    """The row of a stored trial."""

    trial: FrozenTrial
    was_finished: bool
    """Whether it was finished when it was decoded, so that its parameters cannot have changed."""
    params: Mapping[str, Any]
    is_complete: bool
    """Whether no parameter is missing."""
    row: Rows | None
    """None if a parameter is missing, or if the point is not in the space."""

    def is_of(self, trial: FrozenTrial) -> bool:
        """Whether this is the row of a trial, which may be one of another study, or have other parameters by now."""
        return (self.was_finished and self.trial is trial) or self.params == params_of(trial)


class Observation(NamedTuple):
    """What an optimizer is given of a trial."""

    number: int
    row: Rows
    state: TrialState
    value: Any
    noise_std: Any

    def equals(self, other: Observation) -> bool:
        """Whether all is the same; rows are decoded once, so equal rows are the same object."""
        return self.row is other.row and (self.number, *self[2:]) == (other.number, *other[2:])


class Proposer:
    """Proposes points for the trials of a study. Several threads may use it; one waits for the other."""

    def __init__(self, codec: SpaceCodec, directions: Sequence[Direction], *, seed: int, options: Mapping[str, Any]) -> None:
        """`options` are arguments of `Optimizer`."""
        self.codec = codec
        self.directions = directions
        self.seed = seed
        self._optimizer = Optimizer(
            codec.space,
            seed=seed,
            objectives=len(directions),
            direction=directions if len(directions) > 1 else directions[0],
            **options,
        )
        self._lock = threading.Lock()
        self._decoded: dict[int, Decoded] = {}
        self._log = TrialLog(codec.space, len(directions))
        self._observations: list[Observation] = []
        """Those in the log."""

    def row(self, trials: Sequence[FrozenTrial], number: int, again: int = 0) -> Rows:
        """The row for the trial with this number, which follows these trials.

        Raises `ExhaustedError` if every point has been tried. If another process proposes the same at the same moment,
        another number as `again` gives another proposal.
        """
        with self.optimizer(trials, self._seed(number, again)) as (optimizer, _):
            return optimizer._next_row()

    def propose(self, trials: Sequence[FrozenTrial], number: int, again: int = 0) -> dict[str, Any]:
        """The same as parameters."""
        return self.codec.params(self.row(trials, number, again))

    def random_params(self, number: int, again: int = 0) -> dict[str, Any]:
        """The parameters of a random point, which may have been tried."""
        return self.codec.params(self.codec.space.sample_rows(seed=self._seed(number, again)))

    def _seed(self, number: int, again: int) -> int:
        return int(np.random.SeedSequence([self.seed, number, again]).generate_state(1)[0])

    @contextmanager
    def optimizer(self, trials: Sequence[FrozenTrial], seed: int | None = None) -> Iterator[tuple[Optimizer, list[int]]]:
        """The kept optimizer with the results of these trials, and the number of each in the study; not to be changed."""
        with self._lock:
            self._read(trials)
            numbers = [each.number for each in self._observations]
            yield self._optimizer._with_trials(self._log, self.seed if seed is None else seed), numbers

    def read(self, trials: Sequence[FrozenTrial]) -> tuple[Optimizer, list[int]]:
        """An optimizer of the caller's own with the results of these trials, and the number of each in the study."""
        with self.optimizer(trials) as (kept, numbers):
            return kept._independent(), numbers

    def _read(self, trials: Sequence[FrozenTrial]) -> None:
        """Bring the log up to date with these trials."""
        found = self._observed(trials)
        pairs = zip(found, self._observations, strict=False)
        count = sum(1 for _ in takewhile(lambda pair: pair[0].equals(pair[1]), pairs))
        self._log.truncate(count)
        del self._observations[count:]
        for each in found[count:]:
            outcome: Any = None
            if each.state == TrialState.COMPLETE:  # raises an error for invalid noise, before the trial is added
                outcome = self._log.outcome(each.value, each.noise_std, f"trial {each.number}")
            index = self._log.add(each.row)
            self._observations.append(each)
            if outcome is not None:
                self._log.finish(index, *outcome)
            elif each.state != TrialState.RUNNING:
                self._log.finish(index, "failed")

    def _observed(self, trials: Sequence[FrozenTrial]) -> list[Observation]:
        """What the optimizer has to know of these trials, in their order."""
        retried = retried_numbers(trials)
        usable = self._decode([trial for trial in trials if is_usable(trial, retried)])
        signs = [1.0 if each == "minimize" else -1.0 for each in self.directions]
        done = [each.trial for each in usable if each.is_complete and each.trial.state == TrialState.COMPLETE]
        values: dict[int, Any] = {}
        for trial, numbers in zip(done, penalised_values(done, signs), strict=True):
            values[trial.number] = numbers if len(signs) > 1 else numbers[0]
        return [
            Observation(trial.number, row, trial.state, values.get(trial.number), trial.user_attrs.get(NOISE))
            for trial, *_, row in usable
            if row is not None
        ]

    def _decode(self, trials: Sequence[FrozenTrial]) -> list[Decoded]:
        """The trials with their rows. Those seen before are decoded again only if their parameters have changed."""
        new = []
        for trial in trials:
            known = self._decoded.get(trial.number)
            if known is None or not known.is_of(trial):
                new.append(trial)
            elif not (known.was_finished and known.trial is trial):
                self._decoded[trial.number] = known._replace(trial=trial, was_finished=trial.state.is_finished())
        params = [params_of(trial) for trial in new]
        complete = [k for k, given in enumerate(params) if given.keys() >= self.codec.required]
        rows: dict[int, Rows] = {}
        if complete:
            batch = self.codec.rows([params[k] for k in complete])
            for k, row, valid in zip(complete, batch, self.codec.are_valid(batch), strict=True):
                if valid:
                    rows[k] = row
                else:
                    logger.debug("trial %d is ignored: %s", new[k].number, self.codec.why_invalid(params[k]))
        has_all = set(complete)
        for k, trial in enumerate(new):
            finished = trial.state.is_finished()
            self._decoded[trial.number] = Decoded(trial, finished, params[k], k in has_all, rows.get(k))
        return [self._decoded[trial.number] for trial in trials]
