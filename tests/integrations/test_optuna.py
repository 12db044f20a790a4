"""The integration with Optuna: permutations as parameters, the sampler, and Optuna's own tests of samplers."""

from __future__ import annotations

import copy
import importlib.util
import pickle
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.testing.pytest_samplers import BasicSamplerTestCase, MultiObjectiveSamplerTestCase, RelativeSamplerTestCase
from optuna.trial import TrialState

import mergebo as mb
from mergebo import errors
from mergebo.integrations.optuna import (
    PermutationSampler,
    distributions,
    params,
    permutation_params,
    read_point,
    suggest,
    suggest_permutation,
)
from mergebo.methods import METHODS, History, make_method
from mergebo.studies.attributes import DISCARDED, NOISE, PROPOSED, RETRY_OF

ITEMS = ["acid", "base", "salt", "water", "heat"]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(before)


def misplaced(order: list[Any]) -> float:
    """The total distance of the items from their slots in `ITEMS`."""
    return float(sum(abs(ITEMS.index(item) - slot) for slot, item in enumerate(order)))


def study_of(objective: Callable[[optuna.Trial], Any], count: int, sampler: Any = None, **options: Any) -> optuna.Study:
    study = optuna.create_study(sampler=sampler or PermutationSampler("random", seed=0), **options)
    study.optimize(objective, n_trials=count)
    return study


class TestConformance(BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase):
    """Optuna's own suite; few initial trials, so that models are used."""

    @pytest.fixture
    def sampler(self) -> Callable[[], optuna.samplers.BaseSampler]:
        return lambda: PermutationSampler(n_startup_trials=3)


SAMPLERS = {
    "tpe": lambda: optuna.samplers.TPESampler(seed=0, n_startup_trials=3),
    "random": lambda: optuna.samplers.RandomSampler(seed=0),
    "mergebo": lambda: PermutationSampler("bops-h", seed=0, n_startup_trials=4),
}


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_orders_are_feasible_with_any_sampler(sampler: str) -> None:
    seen = []

    def objective(trial: optuna.Trial) -> float:
        order = suggest_permutation(trial, "order", ITEMS, before=[("acid", "base"), ("salt", "acid")], fixed={"heat": 2})
        seen.append(order)
        return misplaced(order)

    study = study_of(objective, 12, SAMPLERS[sampler]())
    for order in seen:
        assert sorted(order) == sorted(ITEMS)
        assert order.index("salt") < order.index("acid") < order.index("base")
        assert order[2] == "heat"
    assert [trial.user_attrs["order"] for trial in study.trials] == seen
    if sampler == "mergebo":  # there are no other feasible orders
        assert len({tuple(order) for order in seen}) == min(12, 4)


@pytest.mark.slow
def test_subsets_symmetries_and_repeated_items() -> None:
    def objective(trial: optuna.Trial) -> float:
        some = suggest_permutation(trial, "some", 6, choose=3)
        tour = suggest_permutation(trial, "tour", 5, symmetry=("cycle", "reversal"))
        twice = suggest_permutation(trial, "twice", ["a", "a", "b"])
        assert len(set(some)) == 3
        assert tour[0] == 0
        assert tour[1] < tour[-1]
        assert sorted(twice) == ["a", "a", "b"]
        return float(some[0] + tour[2])

    study = study_of(objective, 20, PermutationSampler(seed=0, n_startup_trials=8))
    space = study.sampler.optimizer(study).space
    assert space.variables["some"].choose == 3
    assert space.variables["tour"].symmetry == ("cycle", "reversal")
    assert space.variables["twice"].items == ("a", "a", "b")
    tried = {str(sorted(trial.user_attrs.items())) for trial in study.trials}
    assert len(tried) == 20


def test_frozen_and_fixed_trials() -> None:
    def objective(trial: optuna.trial.BaseTrial) -> float:
        return misplaced(suggest_permutation(trial, "order", ITEMS))

    study = study_of(objective, 5)
    assert objective(study.best_trial) == study.best_value
    assert objective(optuna.trial.FixedTrial(permutation_params("order", ITEMS, ITEMS))) == 0


def test_enqueued_orders() -> None:
    study = optuna.create_study(sampler=PermutationSampler("random", seed=0))
    study.enqueue_trial(permutation_params("order", ITEMS[::-1], ITEMS))
    study.optimize(lambda trial: misplaced(suggest_permutation(trial, "order", ITEMS)), n_trials=2)
    assert study.trials[0].user_attrs["order"] == ITEMS[::-1]


@pytest.mark.slow
def test_a_predicate_needs_the_space() -> None:
    order = mb.Permutation(items=ITEMS, where=lambda order: order[0] != "acid")

    def objective(trial: optuna.Trial) -> float:
        found = suggest_permutation(trial, "order", order)
        assert found[0] != "acid"
        return misplaced(found)

    study_of(objective, 15, PermutationSampler(space=mb.Space(order=order), seed=0, n_startup_trials=5))
    pruned = study_of(objective, 30, optuna.samplers.RandomSampler(seed=0))
    assert {trial.state for trial in pruned.trials} == {TrialState.COMPLETE, TrialState.PRUNED}
    with pytest.raises(errors.ArgumentError, match=r"predicate, which a study cannot store; use PermutationSampler"):
        study_of(objective, 30, PermutationSampler(seed=0))


def test_other_items_need_another_study() -> None:
    study = study_of(lambda trial: misplaced(suggest_permutation(trial, "order", ITEMS)), 2)
    with pytest.raises(errors.ArgumentError, match=r"the items of order are .*'heat'.*; use another study for other items"):
        study.optimize(lambda trial: float(len(suggest_permutation(trial, "order", ["a", *ITEMS[1:]]))), n_trials=1)
    assert study.trials[-1].state == TrialState.FAIL


def test_a_permutation_has_its_own_constraints() -> None:
    with pytest.raises(errors.ArgumentError, match="defines its own constraints; it cannot be combined with before"):
        permutation_params("order", [0, 1], mb.Permutation(2), before=[(0, 1)])


def faq(n: int) -> Callable[[optuna.Trial], float]:
    """The recipe in Optuna's FAQ, for a random round tour."""
    cities = np.random.default_rng(0).random((n, 2))

    def decode(code: list[int]) -> list[int]:
        left = list(range(n))
        return [left.pop(digit) for digit in code]

    def objective(trial: optuna.Trial) -> float:
        order = decode([trial.suggest_int(f"x{i}", 0, n - i - 1) for i in range(n)])
        return float(np.linalg.norm(cities[order] - cities[np.roll(order, 1)], axis=1).sum())

    return objective


@pytest.mark.slow
def test_the_faq_is_better_with_the_sampler() -> None:
    study = study_of(faq(10), 50, PermutationSampler(seed=0))
    tpe = study_of(faq(10), 50, optuna.samplers.TPESampler(seed=0))
    assert study.best_value < 0.85 * tpe.best_value
    assert len({str(trial.params) for trial in study.trials}) == 50
    assert "next to each other" in str(study.sampler.optimizer(study).explain())


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_every_method(method: str) -> None:
    study = study_of(faq(6), 8, PermutationSampler(method, seed=0, n_startup_trials=4))
    assert len({str(trial.params) for trial in study.trials}) == 8


def mixed(trial: optuna.Trial) -> float:
    order = suggest_permutation(trial, "order", ITEMS, before=[("acid", "base")])
    heat = trial.suggest_float("temperature", 20, 80)
    time = trial.suggest_int("minutes", 1, 100, log=True)
    salt = trial.suggest_categorical("salt", ["K", "Na", None])
    share = trial.suggest_float("share", 0, 1, step=0.25)
    return misplaced(order) + abs(heat - 50) / 10 + abs(np.log(time / 10)) + (salt != "Na") + abs(share - 0.5)


@pytest.mark.slow
def test_ordinary_parameters_with_orders() -> None:
    study = study_of(mixed, 40, PermutationSampler(seed=0, n_startup_trials=10))
    random = study_of(mixed, 40, optuna.samplers.RandomSampler(seed=0))
    assert study.best_value < random.best_value
    assert [*study.sampler.optimizer(study).space.variables] == ["order", "minutes", "salt", "share", "temperature"]


@pytest.mark.slow
def test_options_have_their_names() -> None:
    def objective(trial: optuna.Trial) -> float:
        odd = trial.suggest_categorical("odd", [1, True])  # 1 == True
        salt = trial.suggest_categorical("salt", ["K", "Na", None])
        return misplaced(suggest_permutation(trial, "order", ITEMS)) + 9 * (salt != "Na") + (odd is True)

    study = study_of(objective, 30, PermutationSampler(seed=0, n_startup_trials=15))
    opt = study.sampler.optimizer(study)
    assert opt.best.point["salt"] == study.best_params["salt"] == "Na"
    assert opt.best.point["odd"] in (0, 1)
    assert "salt is Na" in str(opt.explain())


@pytest.mark.slow
def test_the_same_seed_gives_the_same_trials_also_after_a_restart() -> None:
    def one(trial: optuna.Trial) -> float:
        return misplaced(suggest_permutation(trial, "order", ITEMS))

    def sampler() -> PermutationSampler:
        return PermutationSampler("bops-h", seed=3, n_startup_trials=4, space=mb.Space(order=mb.Permutation(items=ITEMS)))

    uninterrupted = study_of(one, 10, sampler())
    resumed = study_of(one, 6, sampler())
    resumed.sampler = pickle.loads(pickle.dumps(sampler()))
    resumed.optimize(one, n_trials=4)
    assert [trial.params for trial in resumed.trials] == [trial.params for trial in uninterrupted.trials]
    other = study_of(one, 10, PermutationSampler("bops-h", seed=4, n_startup_trials=4))
    assert [trial.params for trial in other.trials] != [trial.params for trial in uninterrupted.trials]


@pytest.mark.slow
def test_failed_and_pruned_trials_are_not_tried_again() -> None:
    def objective(trial: optuna.Trial) -> float:
        order = suggest_permutation(trial, "order", 4)
        if order[0] == 0:
            raise optuna.TrialPruned
        return float("nan") if order[0] == 1 else float(order[2])

    study = study_of(objective, 24, PermutationSampler("bops-h", seed=0, n_startup_trials=3))
    assert len({str(trial.params) for trial in study.trials}) == 24
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL}
    study.optimize(objective, n_trials=2)  # every point has been tried; random points follow
    assert len(study.trials) == 26


def test_running_trials_are_considered() -> None:
    study = optuna.create_study(sampler=PermutationSampler("bops-h", seed=0, n_startup_trials=5))
    study.optimize(lambda trial: misplaced(suggest_permutation(trial, "order", ITEMS)), n_trials=6)
    running = [study.ask() for _ in range(6)]
    orders = [tuple(suggest_permutation(trial, "order", ITEMS)) for trial in reversed(running)]
    assert len(set(orders)) == 6
    done = {tuple(trial.user_attrs["order"]) for trial in study.get_trials(states=(TrialState.COMPLETE,))}
    assert not done & set(orders)


@pytest.mark.parametrize("done", [False, True])
def test_workers_that_propose_the_same_point(done: bool) -> None:
    """The second worker does not see the first trial at first, which may even be complete by then."""
    generators: list[str] = []

    class Slow:
        """A method that in its second call proposes the first point again, which another worker has begun meanwhile."""

        def propose(self, history: History, rng: np.random.Generator) -> np.ndarray:
            generators.append(str(rng.bit_generator.state))
            if len(generators) != 2:
                return make_method("bops-h").propose(history, rng)
            study.get_trials = get_trials
            if done:
                study.tell(first, 1.0)
            return history.space.encode({"order": chosen})

    study = optuna.create_study(sampler=PermutationSampler(Slow(), seed=0, n_startup_trials=5))
    study.optimize(lambda trial: misplaced(suggest_permutation(trial, "order", ITEMS)), n_trials=5)
    assert not generators
    first = study.ask()
    chosen = suggest_permutation(first, "order", ITEMS)
    proposed = study.get_trials(states=(TrialState.RUNNING,))[0].system_attrs[PROPOSED]
    assert proposed.items() <= first.params.items()
    get_trials = study.get_trials
    second = study.ask()
    study.get_trials = lambda **options: [each for each in get_trials(**options) if each.number != first.number]
    assert suggest_permutation(second, "order", ITEMS) != chosen
    assert len(set(generators)) == 3


def test_proposals_for_trials_created_by_the_caller() -> None:
    space = mb.Space(order=mb.Permutation(3))

    def sampler() -> PermutationSampler:
        return PermutationSampler("bops-h", space=space, seed=0, n_startup_trials=2)

    reference = study_of(lambda trial: float(suggest(trial, space)["order"][0]), 6, sampler())
    study = optuna.create_study(sampler=sampler())
    for trial in reference.trials:
        proposed = study.sampler.propose(study, study.get_trials())
        assert proposed == trial.params
        assert study.sampler.propose(study, study.get_trials(), again=1).keys() == proposed.keys()
        study.add_trial(optuna.create_trial(params=proposed, distributions=distributions(space), value=trial.value))
    with pytest.raises(errors.ExhaustedError, match="all 6 points"):
        study.sampler.propose(study, study.get_trials())


@pytest.mark.parametrize("method", ["random", pytest.param("auto", marks=pytest.mark.slow)])
def test_a_sampler_that_was_used_elsewhere_proposes_what_a_new_one_does(method: str) -> None:
    """For another study, with other parameters, pickled or copied in the meantime."""

    def new() -> PermutationSampler:
        return PermutationSampler(method, seed=0, n_startup_trials=4)

    def one(trial: optuna.Trial) -> float:
        count = trial.suggest_int("count", 0, 3) if trial.number < 6 else 0  # later trials do not have it
        return misplaced(suggest_permutation(trial, "order", ITEMS)) + count

    def other(trial: optuna.Trial) -> float:
        return float(suggest_permutation(trial, "order", 5)[0])

    used = new()
    objectives = [one, other, one]
    expected = [optuna.create_study() for _ in objectives]
    found = [optuna.create_study() for _ in objectives]
    for k in range(12):
        for objective, study, reference in zip(objectives, found, expected, strict=True):
            reference.sampler = new()
            study.sampler = used
            for each in (study, reference):
                if k == 0:  # parameters that are not known yet would be sampled at random, one after the other
                    each.enqueue_trial({**permutation_params("order", ITEMS, ITEMS), "count": 1})
                if k == 4:
                    each.enqueue_trial({"order0": 1})
                each.optimize(objective, n_trials=1)
        used = [used, pickle.loads(pickle.dumps(used)), copy.deepcopy(used)][k % 3]
    for study, reference in zip(found, expected, strict=True):
        assert [trial.params for trial in study.trials] == [trial.params for trial in reference.trials]


def test_interrupted_and_discarded_trials_are_ignored() -> None:
    space = mb.Space(order=mb.Permutation(3))
    study = optuna.create_study(sampler=PermutationSampler("random", space=space, seed=0))
    rows = mb.Permutation(3).enumerate()
    for row, state, attributes in (
        (rows[0], TrialState.FAIL, {}),
        (rows[1], TrialState.FAIL, {}),
        (rows[1], TrialState.RUNNING, {RETRY_OF: [1]}),
        (rows[2], TrialState.FAIL, {DISCARDED: True}),
    ):
        held = params(space, {"order": row})
        study.add_trial(
            optuna.create_trial(state=state, params=held, distributions=distributions(space), user_attrs=attributes)
        )
    opt, numbers = study.sampler.read(study)
    assert numbers == [0, 2]
    assert [trial.state for trial in opt.trials] == ["failed", "pending"]


@pytest.mark.slow
def test_threads() -> None:
    seen, lock = [], threading.Lock()

    def objective(trial: optuna.Trial) -> float:
        order = suggest_permutation(trial, "order", ITEMS)
        with lock:
            seen.append(tuple(order))
        return misplaced(order)

    study = optuna.create_study(sampler=PermutationSampler("bops-h", seed=0, n_startup_trials=6))
    study.optimize(objective, n_trials=6)
    study.optimize(objective, n_trials=24, n_jobs=4)
    assert len(set(seen[6:])) == 24
    assert not set(seen[6:]) & set(seen[:6])
    assert study.best_value == 0


@pytest.mark.slow
def test_constraints() -> None:
    """The best order is infeasible, and the sampler learns to avoid its region."""

    def objective(trial: optuna.Trial) -> float:
        order = suggest_permutation(trial, "order", ITEMS)
        trial.set_constraint("acid is late", 2.0 - order.index("acid"))
        return misplaced(order)

    study = study_of(objective, 40, PermutationSampler(seed=0, n_startup_trials=8))
    feasible = [
        misplaced(list(order))
        for order in mb.PermutationSpace(items=ITEMS).decode(all_orders())
        if order[:2].count("acid") == 0
    ]
    assert study.best_value == min(feasible)
    later = [trial.constraints["acid is late"] <= 0 for trial in study.trials[20:]]
    assert np.mean(later) > 0.7
    opt = study.sampler.optimizer(study)
    good = max(
        each.value for each, trial in zip(opt.trials, study.trials, strict=True) if trial.constraints["acid is late"] <= 0
    )
    bad = [each.value for each, trial in zip(opt.trials, study.trials, strict=True) if trial.constraints["acid is late"] > 0]
    assert min(bad) > good


def all_orders() -> np.ndarray:
    return mb.Permutation(5).enumerate()


@pytest.mark.slow
def test_several_objectives() -> None:
    def objective(trial: optuna.Trial) -> tuple[float, float]:
        order = suggest_permutation(trial, "order", ITEMS)
        return misplaced(order), float(order.index("acid"))

    study = study_of(objective, 30, PermutationSampler(seed=1, n_startup_trials=8), directions=["minimize", "maximize"])
    opt = study.sampler.optimizer(study)
    assert {trial.value for trial in opt.pareto} == {tuple(trial.values) for trial in study.best_trials}
    assert (0.0, 0.0) in {tuple(trial.values) for trial in study.best_trials}


def test_noise_of_a_trial() -> None:
    def objective(trial: optuna.Trial) -> float:
        trial.set_user_attr(NOISE, 0.5)
        return misplaced(suggest_permutation(trial, "order", ITEMS))

    study = study_of(objective, 6)
    opt = study.sampler.optimizer(study)
    assert [trial.noise_std for trial in opt.trials] == [0.5] * 6
    assert opt.best.std > 0


@pytest.mark.slow
def test_maximised() -> None:
    study = study_of(
        lambda trial: -misplaced(suggest_permutation(trial, "order", ITEMS)),
        40,
        PermutationSampler(seed=0, n_startup_trials=8),
        direction="maximize",
    )
    assert study.best_value == 0


@pytest.mark.slow
def test_a_whole_space() -> None:
    space = mb.Space(route=mb.Permutation(5), picks=mb.Binary(4), heat=mb.Real(20, 80), salt=mb.Choice(["K", "Na"]))
    points = []

    def objective(trial: optuna.Trial) -> float:
        points.append(suggest(trial, space))
        return points[-1]["heat"] + sum(points[-1]["picks"])

    study = study_of(objective, 12, PermutationSampler(space=space, seed=0, n_startup_trials=6))
    assert list(points[0]["picks"]) == [0] * 4  # the initial design of an Optimizer starts with none, then all
    assert list(points[1]["picks"]) == [1] * 4
    for trial, point in zip(study.trials, points, strict=True):
        assert params(space, point) == trial.params
    opt, numbers = study.sampler.read(study)
    assert numbers == [*range(12)]
    assert [trial.value for trial in opt.trials] == [trial.value for trial in study.trials]


def test_bad_arguments_are_rejected_immediately() -> None:
    with pytest.raises(errors.ArgumentError, match="did you mean 'auto'"):
        PermutationSampler("aut")
    with pytest.raises(errors.ArgumentError, match="has no complete trial, so its parameters are unknown"):
        PermutationSampler().optimizer(optuna.create_study())


@pytest.mark.slow
def test_the_package_for_optunahub() -> None:
    """The package loads as OptunaHub loads it, and its README has what the registry requires."""
    folder = Path(__file__).parents[2] / "optunahub" / "package" / "samplers" / "permutation"
    spec = importlib.util.spec_from_file_location("permutation", folder / "__init__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    _, head, page = (folder / "README.md").read_text().split("---\n", 2)
    assert [line.split(":")[0] for line in head.splitlines()] == [
        "author",
        "title",
        "description",
        "tags",
        "optuna_versions",
        "license",
    ]
    assert "tags: [sampler," in head
    example = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert example is not None
    code = (
        example[1].replace("import optunahub\n", "").replace('optunahub.load_module(package="samplers/permutation")', "hub")
    )
    namespace: dict[str, Any] = {"hub": module}
    exec(code, namespace)
    assert len(namespace["study"].trials) == 30
    assert (folder / "LICENSE").read_text() == (folder.parents[3] / "LICENSE").read_text()


@pytest.mark.parametrize("later", [["a", "b", "c", "d"], ["a", "b"], ["a", "b", "x"]])
def test_items_that_change_in_a_study(later: list[str]) -> None:
    """The error names the items; Optuna's would name a digit."""
    study = optuna.create_study(sampler=PermutationSampler("random", seed=0))
    items = ["a", "b", "c"]
    study.optimize(lambda trial: len(suggest_permutation(trial, "order", items)), n_trials=2)
    items = later
    with pytest.raises(errors.ArgumentError, match=r"the items of order are .*; use another study for other items"):
        study.optimize(lambda trial: len(suggest_permutation(trial, "order", items)), n_trials=1)


def test_items_that_are_tuples(tmp_path: Path) -> None:
    holes = [("A", 1), ("A", 2), ("B", 1)]
    url = f"sqlite:///{tmp_path}/x.db"
    for _ in range(2):
        study = optuna.create_study(study_name="x", storage=url, sampler=PermutationSampler("random"), load_if_exists=True)
        study.optimize(
            lambda trial: suggest_permutation(trial, "order", holes, before=[holes[:2]]).index(holes[0]), n_trials=2
        )
    trial = study.best_trial
    point = read_point(mb.Space(order=mb.Permutation(holes, before=[holes[:2]])), trial)
    assert [tuple(each) for each in trial.user_attrs["order"]] == point["order"]
    found = PermutationSampler("random").optimizer(study)
    assert found.space.permutations["order"].items == tuple(holes)
