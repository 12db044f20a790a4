"""Golden traces: what methods propose, recommend and explain with a given seed does not change.

The expected values are in `tests/golden`. They are compared with a relative tolerance of 1e-6, since linear algebra differs
in the last digits between processors; `--golden-exact` compares all digits, for pure refactorings. Where a trace is meant to
change, run `pytest -n 0 tests/test_golden.py --update-golden` and say why in the changelog.
"""

from __future__ import annotations

import itertools
import json
import shlex
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest

import mergebo as mb
from mergebo.cli import main
from mergebo.integrations.optuna import PermutationSampler, suggest_permutation
from mergebo.methods import METHODS

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parent / "golden"
NAMES = ["base", "acid", "salt", "water", "oil", "dye", "ice"]
ORDERS_ALONE = ["mergebo", "bops-random", "combo"]
"""Methods that compare complete orders only, not subsets of the items."""

COUPLING = np.random.default_rng(7).normal(size=(120, 120))


def cost(order: Any) -> float:
    """The cost of an order of names or numbers: a sum over precedences plus a sum over adjacent pairs."""
    items = [NAMES.index(each) if each in NAMES else int(each) for each in order]
    before = sum(COUPLING[a, b] for k, a in enumerate(items) for b in items[k + 1 :])
    return float(before / len(items) + sum(COUPLING[b, a] for a, b in itertools.pairwise(items)))


def objective(point: Any) -> float:
    """An objective for all spaces below."""
    if not isinstance(point, dict):
        return cost(point)
    total = cost(point["route"]) if "route" in point else 0.0
    total += 0.7 * float(np.dot(point.get("picks", 0), [1.0, -1.0, 0.5]) if "picks" in point else 0.0)
    total += ((point.get("heat", 50.0) - 61.0) / 20) ** 2 + abs(point.get("dose", 3) - 5) / 3
    return float(total + {"K": 0.4, "Na": 0.0, "Li": 0.9}[point.get("salt", "Na")])


SPACES: dict[str, mb.PermutationSpace | mb.Space] = {
    "orders": mb.PermutationSpace(7),
    "mixed": mb.Space(
        route=mb.Permutation(6),
        picks=mb.Binary(3),
        heat=mb.Real(20, 80),
        dose=mb.Integer(1, 9),
        salt=mb.Choice(["K", "Na", "Li"]),
    ),
    "quantities": mb.Space(route=mb.Permutation(5), heat=mb.Real(20, 80, log=True), dose=mb.Integer(1, 9)),
    "precedence": mb.PermutationSpace(items=NAMES, before=[("water", "acid"), ("base", "dye")], window={"oil": (1, 4)}),
    "neighbours": mb.PermutationSpace(items=NAMES, adjacent=[("water", "acid")], apart=[("base", "oil")], fixed={"ice": 6}),
    "predicate": mb.PermutationSpace(items=NAMES, where=lambda order: order.index("acid") + order.index("oil") > 4),
    "some": mb.PermutationSpace(items=NAMES, choose=4, before=[("water", "acid")]),
    "repeated": mb.PermutationSpace(items=["base", "base", "acid", "salt", "acid", "dye"]),
    "round": mb.PermutationSpace(7, symmetry=("cycle", "reversal")),
    "cycle": mb.PermutationSpace(6, symmetry="cycle"),
    "two": mb.Space(route=mb.Permutation(4), other=mb.Permutation(3), picks=mb.Binary(3)),
}


def rows(optimizer: mb.Optimizer) -> list[list[float]]:
    return [optimizer.space.encode(trial.point).tolist() for trial in optimizer.trials]


def drive(
    optimizer: mb.Optimizer, count: int, batch: int = 1, noise: float | None = None, fails: bool = False
) -> mb.Optimizer:
    """Ask and tell, `batch` at a time, the last of a batch first."""
    while len(optimizer.trials) < count:
        for trial in reversed(optimizer.ask(batch)):
            value = objective(trial.point)
            if fails and trial.id % 5 == 3:
                optimizer.fail(trial)
            elif optimizer.objectives == 2:
                optimizer.tell(trial, [value, cost(trial.point[::-1])])
            else:
                optimizer.tell(trial, value, **({} if noise is None else {"noise_std": noise * (1 + trial.id % 3)}))
    return optimizer


def trace(space: str, method: str, count: int = 16, **options: Any) -> Any:
    loop = {key: options.pop(key) for key in ("batch_size", "noise", "fails") if key in options}
    optimizer = mb.Optimizer(SPACES[space], method, **{"seed": 11, "initial": 7, **options})
    drive(optimizer, count, loop.get("batch_size", 1), loop.get("noise"), loop.get("fails", False))
    found: dict[str, Any] = {"rows": rows(optimizer), "next": SPACES[space].encode(optimizer.ask().point).tolist()}
    if optimizer.objectives == 1:
        best = optimizer.best
        found["best"] = [best.id, best.value, getattr(best, "std", None), getattr(best, "measurements", 1)]
    else:
        found["front"] = [[trial.id, *np.ravel(trial.value).tolist()] for trial in optimizer.pareto]
    return found


def big(problem: str, method: str, count: int, **options: Any) -> Any:
    made = mb.problems.get(problem)
    optimizer = mb.Optimizer(made.space, method, **{"seed": 4, "initial": 12, **options})
    while len(optimizer.trials) < count:
        trial = optimizer.ask()
        optimizer.tell(trial, made.evaluate(trial.point))
    return rows(optimizer)


def explained(space: str, count: int = 24, **options: Any) -> Any:
    found = drive(mb.Optimizer(SPACES[space], "random", seed=5, initial=count, **options), count).explain()
    return {
        "structures": dict(found.structures),
        "explained": found.q2,
        "effects": [
            [each.description, each.variable, list(each.where), each.estimate, each.std, each.better]
            for each in found.effects
        ],
        "embedding": None if found.embedding is None else found.embedding.tolist(),
    }


def explained_problem(problem: str, count: int) -> Any:
    made = mb.problems.get(problem)
    optimizer = mb.Optimizer(made.space, "random", seed=5, initial=count)
    for _ in range(count):
        trial = optimizer.ask()
        optimizer.tell(trial, made.evaluate(trial.point))
    found = optimizer.explain()
    return {
        "structures": dict(found.structures),
        "explained": found.q2,
        "effects": [[list(each.where), each.estimate, each.std] for each in found.effects[:60]],
        "embedding": None if found.embedding is None else found.embedding.tolist(),
    }


def kendall_trace(method: str) -> Any:
    """An objective with small integer values, so ties are common."""
    optimizer = mb.Optimizer(mb.PermutationSpace(7), method, seed=11, initial=6)
    while len(optimizer.trials) < 16:
        trial = optimizer.ask()
        optimizer.tell(trial, float(mb.distances.kendall(trial.point, np.arange(7), view="rank")))
    return rows(optimizer)


CASES: dict[str, Callable[[], Any]] = {}
for method in METHODS:
    CASES[f"precedence alone {method}"] = lambda method=method: kendall_trace(method)
    CASES[f"orders {method}"] = lambda method=method: trace("orders", method)
    CASES[f"mixed {method}"] = lambda method=method: trace("mixed", method)
    CASES[f"failures {method}"] = lambda method=method: trace("orders", method, fails=True)
    CASES[f"batches {method}"] = lambda method=method: trace("orders", method, batch_size=3)
    CASES[f"noise {method}"] = lambda method=method: trace("orders", method, noisy=True, count=14)
    for space in ("precedence", "neighbours", "predicate", "some", "repeated", "round", "cycle", "two", "quantities"):
        if not (space == "some" and method in ORDERS_ALONE) and not (
            method == "turbo" and space not in ("some", "quantities")
        ):
            CASES[f"{space} {method}"] = lambda space=space, method=method: trace(space, method, count=13)
for method in ("auto", "bops-h"):
    CASES[f"given noise {method}"] = lambda method=method: trace("mixed", method, noise=0.1)
    for batch in ("thompson", "law"):
        CASES[f"{batch} {method}"] = lambda batch=batch, method=method: trace("orders", method, batch=batch, batch_size=3)
    CASES[f"objectives {method}"] = lambda method=method: trace("orders", method, objectives=2, count=14)
    CASES[f"noisy objectives {method}"] = lambda method=method: trace("orders", method, objectives=2, noisy=True, count=12)
    CASES[f"maximize {method}"] = lambda method=method: trace("orders", method, direction="maximize")
    CASES[f"beliefs {method}"] = lambda method=method: trace(
        "precedence", method, beliefs=[mb.beliefs.before("salt", "base"), mb.beliefs.early("oil"), mb.beliefs.late("dye")]
    )
    CASES[f"heuristic {method}"] = lambda method=method: trace(
        "neighbours", method, heuristic=lambda order: order.index("salt")
    )
    CASES[f"start {method}"] = lambda method=method: trace("orders", method, start=[[6, 5, 4, 3, 2, 1, 0]])
for acquisition in ("ei", "logei", "pi", "ucb", "thompson"):
    CASES[f"acquisition {acquisition}"] = lambda acquisition=acquisition: trace("mixed", "bops-h", acquisition=acquisition)
CASES["relaxation"] = lambda: trace("orders", "mergebo", search="relaxation")
CASES["sum of kernels"] = lambda: trace("mixed", "mergebo", combine="sum")
CASES["first improvement"] = lambda: trace("mixed", "spearman", ascent="first")
CASES["steepest ascent"] = lambda: trace("mixed", "combo", ascent="steepest", moves=("swap",))
CASES["uniform design"] = lambda: trace("mixed", "auto", design="uniform")
CASES["no maps"] = lambda: big("tsp:random(n=12,seed=3)", "auto", 34, embedding=False)
for problem in ("tsp:random(n=12,seed=3)", "tsp:random(n=16,seed=8)", "flowshop:random(n=10,machines=4,seed=2)"):
    CASES[f"auto {problem}"] = lambda problem=problem: big(problem, "auto", 40)
CASES["auto atsp"] = lambda: big("tsp:random(n=12,seed=3)", "auto", 36, structures=("directed-adjacency",))
for problem in ("tsp:random(n=100,seed=3)", "lop:planted(n=100,seed=3)"):
    for method in ("auto", "bops-h", "mergebo", "spearman"):
        CASES[f"large {method} {problem}"] = lambda problem=problem, method=method: big(problem, method, 14)
for space in ("orders", "mixed", "quantities", "precedence", "some", "round", "two"):
    CASES[f"explain {space}"] = lambda space=space: explained(space)
CASES["explain maximize"] = lambda: explained("mixed", direction="maximize")
CASES["explain noise"] = lambda: explained("precedence", noisy=True)
CASES["explain beliefs"] = lambda: explained("precedence", beliefs=[mb.beliefs.early("oil")])
for problem in ("tsp:random(n=10,seed=3)", "qap:nug12", "lop:planted(n=12,seed=3)"):
    CASES[f"explain {problem}"] = lambda problem=problem: explained_problem(problem, 60)


def test_all_stored_traces_are_compared() -> None:
    stored = {
        group: set(json.loads((GOLDEN / f"{group}.json").read_text())) for group in ("traces", "explanations", "commands")
    }
    explanations = {name for name in CASES if name.startswith("explain")}
    assert stored["traces"] == set(CASES) - explanations
    assert stored["explanations"] == explanations
    assert stored["commands"] == {*COMMANDS, "optuna", *(f"study {study}" for _, study in STUDIES_BEFORE)}


def write(group: str, found: dict[str, Any]) -> None:
    text = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in sorted(found.items()))
    (GOLDEN / f"{group}.json").write_text(f"{{\n{text}\n}}\n")


def check(group: str, name: str, value: Any, config: pytest.Config) -> None:
    """Compare with the stored value, or store it with `--update-golden`."""
    path = GOLDEN / f"{group}.json"
    stored = json.loads(path.read_text()) if path.exists() else {}
    value = json.loads(json.dumps(value))  # tuples as lists, as they are stored
    if config.getoption("--update-golden"):
        stored[name] = value
        write(group, stored)
    assert name in stored, f"missing golden trace of {name!r}; write it with --update-golden"
    difference = next(differences(value, stored[name], 0.0 if config.getoption("--golden-exact") else 1e-6), None)
    assert difference is None, f"{name}{difference}"


def differences(found: Any, expected: Any, tolerance: float, where: str = "") -> Iterator[str]:
    """The differences of two JSON values beyond a relative tolerance."""
    if isinstance(expected, dict) and isinstance(found, dict) and found.keys() == expected.keys():
        for key in expected:
            yield from differences(found[key], expected[key], tolerance, f"{where}.{key}")
    elif isinstance(expected, list) and isinstance(found, list) and len(found) == len(expected):
        for k, pair in enumerate(zip(found, expected, strict=True)):
            yield from differences(*pair, tolerance, f"{where}[{k}]")
    elif isinstance(expected, float) and isinstance(found, int | float):
        if not (
            found == expected
            or (found != found and expected != expected)
            or abs(found - expected) <= tolerance * max(1, abs(expected))
        ):
            yield f"{where}: {found!r} instead of {expected!r}"
    elif found != expected or type(found) is not type(expected):
        yield f"{where}: {found!r} instead of {expected!r}"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.needs_torch if "turbo" in name else ()) for name in CASES]
)
def test_trace(name: str, request: pytest.FixtureRequest) -> None:
    check("explanations" if name.startswith("explain") else "traces", name, CASES[name](), request.config)


COMMANDS = {
    "orders": """
        new --items base,acid,salt,water,dye --before water:acid --initial 3 --seed 2 --json
        ask -k 2 --json
        tell 0 3.5
        fail 1
        ask --json
        tell 2 1.25
        ask --json
        tell 3 2.5
        ask -k 2 --json
        tell 4 0.5
        best --json
        export --json
    """,
    "mixed": """
        new --items base,acid,salt,water --real heat=20:80 --integer dose=1:5 --choice salt=K,Na --binary picks=2 \\
            --direction maximize --noisy --initial 3 --json
        ask -k 3 --json
        tell 0 3.5
        tell 1 1.5
        tell 2 2.5 --noise 0.2
        ask --json
        tell 3 4.5
        ask --json
        best --json
        export --json
    """,
    "objectives": """
        new --items base,acid,salt,water --direction minimize --direction minimize --initial 3 --method bops-h --json
        ask -k 3 --json
        tell 0 3.5 1.0
        tell 1 1.5 2.0
        tell 2 2.5 0.5
        ask --json
        best --json
        export --json
    """,
    "names": """
        methods --json
        problems --json
    """,
    "program": """
        optimize --items base,acid,salt,water,dye --before water:acid --real heat=20:80 --initial 4 --budget 7 --seed 3 \\
            --command PROGRAM --json
        show --json
        best --json
        export --out results.csv
        plot convergence --out values.svg --json
        new copy --items base,acid,salt,water,dye --real heat=20:80 --method random
        ask --study copy
        tell 0 1.5 --study copy --json
        ask --study copy
        fail 1 --study copy --json
        import results.csv --study copy --json
        import results.csv --study copy --json
        show --study copy --json
        show --json
    """,
}


def without_durations(data: dict[str, Any]) -> dict[str, Any]:
    """Data of the command line without what differs from run to run."""
    return {key: value for key, value in data.items() if key != "seconds"}


PROGRAM = """
import sys
*order, heat = sys.argv[1:]
print("loss:", order.index("water") + 2 * order.index("dye") + (float(heat) - 50) ** 2 / 400)
"""


@pytest.mark.parametrize("name", COMMANDS)
def test_commands(
    name: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The JSON output of the command line. Descriptions of methods may be reworded, so only their names are compared."""
    if "plot" in COMMANDS[name]:
        pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loss.py").write_text(PROGRAM)
    program = shlex.quote(f"{shlex.quote(sys.executable)} loss.py {{order}} {{heat}}")
    printed: list[Any] = []
    for line in COMMANDS[name].replace("\\\n", "").replace("PROGRAM", program).strip().splitlines():
        monkeypatch.setattr("sys.argv", ["mergebo", *shlex.split(line)])
        with pytest.raises(SystemExit) as exited:
            main()
        out, err = capsys.readouterr()
        assert exited.value.code in (0, None), err
        if "--json" in line:
            found = [json.loads(each, object_hook=without_durations) for each in out.splitlines()]
            printed += [sorted(*found)] if line.strip().startswith("methods") else found
    check("commands", name, printed, request.config)


STUDIES = Path(__file__).parent / "golden_studies"


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Studies made by earlier versions: by the command line in two storages, and by Optuna with `PermutationSampler`."""
    folder = tmp_path_factory.mktemp("studies")
    for path in STUDIES.glob("*.sql"):
        with closing(sqlite3.connect(folder / f"{path.stem}.db")) as database:
            database.executescript(path.read_text())
    shutil.copy(STUDIES / "journal.log", folder)
    return folder


STUDIES_BEFORE = [
    ("sqlite:///command.db", "mixed"),
    ("sqlite:///command.db", "rounds"),
    ("sqlite:///command.db", "several"),
    ("journal:///journal.log", "study"),
]
"""Storage and name of the studies that the command line made."""


@pytest.mark.parametrize(("storage", "study"), STUDIES_BEFORE)
def test_studies_of_earlier_versions_continue(
    storage: str,
    study: str,
    studies: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(studies)
    printed = []
    for command in ("export", "best", "ask", "ask -k 2"):
        monkeypatch.setattr("sys.argv", ["mergebo", *command.split(), "--json", "--study", study, "--storage", storage])
        with pytest.raises(SystemExit) as exited:
            main()
        out, err = capsys.readouterr()
        assert exited.value.code in (0, None), err
        printed.append(json.loads(out, object_hook=without_durations))
    check("commands", f"study {study}", printed, request.config)


def test_optuna_studies_of_earlier_versions_continue(studies: Path, request: pytest.FixtureRequest) -> None:
    study = optuna.load_study(
        study_name="sampler",
        storage=f"sqlite:///{studies / 'optuna.db'}",
        sampler=PermutationSampler(seed=3, n_startup_trials=5),
    )
    found = []
    for _ in range(2):
        trial = study.ask()
        order = suggest_permutation(trial, "order", NAMES[:4], before=[("water", "acid")])
        quantities = [
            trial.suggest_float("heat", 20, 80),
            trial.suggest_categorical("solvent", ["a", "b"]),
            trial.suggest_int("n", 1, 4),
        ]
        study.tell(trial, cost(order))
        found.append([order, *quantities])
    check("commands", "optuna", found, request.config)
