"""Studies in Python: what the command line and other interfaces call."""

from __future__ import annotations

import math
import threading
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.trial import TrialState

import mergebo as mb
from mergebo import errors
from mergebo.spaces import Permutation, Space
from mergebo.studies import Study, StudyConfig, create, load
from mergebo.studies.attributes import CONFIG, DISCARDED, ORDER_DEFINITION
from mergebo.studies.table import add_results, read_table, table_text

ITEMS = ["acid", "base", "salt", "water"]
SPACE = Space(order=Permutation(items=ITEMS, before=[("acid", "base")]), heat=mb.Real(20, 80), salt=mb.Choice(["K", "Na"]))


def value(point: dict[str, Any]) -> float:
    return point["order"].index("acid") + abs(point["heat"] - 50) / 10 + (point["salt"] == "K")


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"journal:///{tmp_path}/studies.log"


def asked(study: Study, count: int = 1) -> list[dict[str, Any]]:
    return [study.data(trial) for trial in study.ask(count)]


def run(study: Study, count: int) -> list[dict[str, Any]]:
    """Ask for trials one by one and record their values."""
    points = []
    for _ in range(count):
        (trial,) = asked(study)
        study.tell(trial["trial"], [value(trial["point"])])
        points.append(trial["point"])
    return points


def test_all_that_can_be_done(url: str) -> None:
    study = create(url, "study", StudyConfig(SPACE, "random"))
    first, second, third = asked(study, 3)
    assert [first["state"], first["value"]] == ["pending", None]
    SPACE.encode(first["point"])  # raises an error unless it is feasible
    assert study.data(study.tell(0, [3.5])) == {**first, "state": "done", "value": 3.5}
    assert study.data(study.fail(1, "spilt")) == {**second, "state": "failed", "reason": "spilt"}
    assert study.best() == [{**first, "state": "done", "value": 3.5}]
    assert study.explain().results == 1
    assert [study.data(trial)["state"] for trial in load(url).trials()] == ["done", "failed", "pending"]
    other = create(url, "other", StudyConfig(SPACE))
    assert add_results(other, read_table(other, table_text(study)), "study") == 1
    assert other.best()[0]["point"] == first["point"]
    study.discard(2)
    assert [trial.number for trial in study.trials()] == [0, 1]
    assert asked(study)[0]["point"] != third["point"] or third["trial"] == 2


def test_results_that_cannot_be_recorded(url: str) -> None:
    study = create(url, "study", StudyConfig(SPACE, "random"), ["minimize", "maximize"])
    study.ask()
    with pytest.raises(errors.TrialError, match="trial 7 does not exist; the last one is 0"):
        study.tell(7, [1.0, 2.0])
    with pytest.raises(errors.TrialError, match="needs one value for each; got 1: 4"):
        study.tell(0, [4.0])
    with pytest.raises(errors.TrialError, match="finite and not negative, got -1, 2"):
        study.tell(0, [4.0, 5.0], [-1.0, 2.0])
    study.tell(0, [4.0, 5.0], [1.0, 2.0])
    with pytest.raises(errors.TrialError, match="already has the value 4, 5"):
        study.fail(0)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["random", "auto"])
def test_a_study_that_is_kept_open_proposes_what_one_that_is_opened_each_time_does(url: str, method: str) -> None:
    kept = create(url, "kept", StudyConfig(SPACE, method, initial=4))
    create(url, "opened", StudyConfig(SPACE, method, initial=4))
    assert run(kept, 9) == [point for _ in range(9) for point in run(load(url, "opened"), 1)]


def test_two_processes_that_propose_the_same_point(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one makes its proposal, the other one stores the same."""
    one = create(url, "study", StudyConfig(SPACE, "random"))
    other = load(url)
    propose = one.proposer.row
    meanwhile: list[dict[str, Any]] = []

    def slow(*arguments: Any) -> Any:
        if not meanwhile:
            meanwhile.extend(asked(other))
        return propose(*arguments)

    monkeypatch.setattr(one.proposer, "row", slow)
    (found,) = asked(one)
    assert (meanwhile[0]["trial"], found["trial"]) == (0, 2)
    assert found["point"] != meanwhile[0]["point"]
    assert [DISCARDED in trial.user_attrs for trial in one.all_trials()] == [False, True, False]
    assert [trial.number for trial in one.trials()] == [0, 2]


def test_threads_ask_one_after_the_other(url: str) -> None:
    study = create(url, "study", StudyConfig(SPACE, "random"))
    threads = [threading.Thread(target=study.ask, args=(2,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    points = [str(study.point(trial)) for trial in study.all_trials()]
    assert len(points) == len(set(points)) == 8
    assert len(study.trials()) == 8


def test_a_new_trial_is_stored_in_one_call(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    study = create(url, "study", StudyConfig(SPACE, "random"))
    written = []
    write = JournalStorage._write_log
    monkeypatch.setattr(JournalStorage, "_write_log", lambda self, *what: written.append(what) or write(self, *what))
    study.ask(2)
    assert len(written) == 2


def test_queued_trials_come_first_and_are_completed(url: str) -> None:
    study = create(url, "study", StudyConfig(SPACE, "random"))
    study.optuna.enqueue_trial({"order0": 3, "heat": 33.0})
    first, second = asked(study, 2)
    assert (first["trial"], second["trial"]) == (0, 1)
    assert first["point"]["heat"] == 33.0
    assert first["point"]["order"][0] == "water"
    SPACE.encode(first["point"])
    stored = study.all_trials()[0]
    assert stored.user_attrs["order"] == first["point"]["order"]
    assert stored.params.keys() == second["point"].keys() - {"order"} | {f"order{k}" for k in range(4)}


@pytest.mark.parametrize("params", [{"order0": 9}, {"heat": 7.0}, {"salt": "Li"}, {"heat": "hot"}])
def test_queued_trials_without_a_point_of_the_space_fail(url: str, params: dict[str, Any]) -> None:
    study = create(url, "study", StudyConfig(SPACE, "random"))
    study.optuna.enqueue_trial(params)
    (trial,) = asked(study)
    assert (trial["trial"], trial["state"]) == (1, "pending")
    failed = study.data(study.all_trials()[0])
    assert failed["state"] == "failed"
    assert failed["reason"]
    run(study, 2)


def test_every_point_is_asked_for_once(url: str) -> None:
    study = create(url, "study", StudyConfig(Space(order=Permutation(3)), "random"))
    points = [str(trial["point"]) for trial in asked(study, 9)]
    assert len(points) == len(set(points)) == 6
    assert study.ask() == []


def test_the_point_of_a_cancelled_trial_may_be_asked_for_again(url: str) -> None:
    study = create(url, "study", StudyConfig(Space(order=Permutation(2)), "random"))
    first, second = asked(study, 2)
    assert not asked(study)
    cancelled = study.data(study.cancel(first["trial"], "power\x07 cut"))
    assert cancelled == {**first, "state": "cancelled", "reason": "power\\x07 cut"}
    study.fail(second["trial"])
    optimizer, numbers = study.read()
    assert (numbers, [each.state for each in optimizer.trials]) == ([1], ["failed"])
    (again,) = asked(study)
    assert again == {**first, "trial": 2}
    assert not asked(study)
    with pytest.raises(errors.TrialError, match="trial 0 was cancelled; nothing was changed"):
        study.tell(0, [1.0])


def test_other_programs_can_read_the_orders(url: str) -> None:
    """Their names are stored with each trial, and their items and constraints with the study."""
    study = create(url, "study", StudyConfig(SPACE, "random"))
    (trial,) = study.ask()
    assert trial.user_attrs == {"order": study.data(trial)["point"]["order"]}
    assert study.optuna.user_attrs[ORDER_DEFINITION + "order"]["items"] == ITEMS


@pytest.mark.slow
def test_the_best_of_noisy_values_are_the_best_expected_ones(url: str) -> None:
    study = create(url, "study", StudyConfig(SPACE, "random", noisy=True))
    for trial in asked(study, 5):
        study.tell(trial["trial"], [value(trial["point"])], [0.1])
    (best,) = study.best()
    assert best["point"] == study.data(study.all_trials()[best["trial"]])["point"]
    assert best["std"] > 0


def test_best_so_far_follows_the_direction() -> None:
    for direction, expected in (("minimize", [3.0, 1.0, 1.0]), ("maximize", [3.0, 3.0, 5.0])):
        study = Study(optuna.create_study(direction=direction), StudyConfig(Space(order=Permutation(2))))
        for each in (3.0, 1.0, 5.0):
            study.optuna.add_trial(optuna.create_trial(value=each))
        study.optuna.add_trial(optuna.create_trial(state=TrialState.FAIL))
        assert study.best_so_far(study.trials()) == expected


@pytest.mark.parametrize(
    "data",
    [
        None,
        3,
        [],
        {"format": 1},
        {"format": 1, "space": 3},
        {**StudyConfig(SPACE).to_data(), "space": {"x": ["Unknown", 1]}},
        {**StudyConfig(SPACE).to_data(), "space": {"x": []}},
        {**StudyConfig(SPACE).to_data(), "space": {"order": ["Permutation", {"n": 3, "fixed": 3}]}},
    ],
)
def test_a_damaged_definition(url: str, data: Any) -> None:
    create(url, "study", StudyConfig(SPACE, "random")).optuna.set_user_attr(CONFIG, data)
    with pytest.raises(errors.StorageError, match="the definition of the study is damaged: "):
        load(url)


def test_a_value_that_is_not_finite(url: str) -> None:
    study = create(url, "study", StudyConfig(SPACE, "random"))
    study.ask()
    for bad in (math.nan, math.inf):
        with pytest.raises(
            errors.TrialError, match=r"a value must be finite, got .*; for a trial without a value, use fail"
        ):
            study.tell(0, [bad])
    assert study.data(study.trials()[0])["state"] == "pending"


def test_items_that_are_tuples(url: str) -> None:
    space = Space(order=Permutation([("A", 1), ("A", 2), ("B", 1)], fixed={("B", 1): 0}))
    study = create(url, "study", StudyConfig(space, "random"))
    (trial,) = asked(study)
    study.tell(0, [1.0])
    again = create(url, "study", StudyConfig(space, "random"), resume=True)
    assert again.space == space
    assert again.best()[0]["point"] == trial["point"]
    assert read_table(again, table_text(study))[0].point == trial["point"]
