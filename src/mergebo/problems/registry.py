"""Problems by name: `family:instance`, with parameters for generated ones and `~seed` for relabelled ones.

tsp:a280    tsp:random(n=30,seed=3)    qap:chr15a~7
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from functools import lru_cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from mergebo._names import read_call, write_call
from mergebo._typing import Ints
from mergebo.errors import ArgumentError, unknown_choice
from mergebo.problems import layout, linear_ordering, order_of_addition, qap, scheduling, tsp, ttp
from mergebo.problems.base import Optimum, Problem
from mergebo.problems.loaders import read_qaplib, read_tour, read_tsplib
from mergebo.problems.optima.tours import tour_search
from mergebo.problems.tsp import TSP, euclidean

__all__ = ["available", "get"]

DATA = files("mergebo.problems") / "data"
OPTIMA = Path(str(DATA / "optima.json"))

Builder = Callable[..., Problem]


def get(name: str, **parameters: Any) -> Problem:
    """The problem with this name. Generated ones accept parameters, in the call or in the name: `get("tsp:random", n=30)`.

    `get(problem.name)` returns the same problem, also for relabelled ones.
    """
    family, instance, in_name, relabelling = _parse(name)
    if family not in FAMILIES:
        raise unknown_choice("problem family", family, FAMILIES)
    if instance not in FAMILIES[family]:
        raise unknown_choice(f"{family} instance", instance, FAMILIES[family])
    build = FAMILIES[family][instance]
    known = _parameters(build)
    given = {**in_name, **parameters}
    for key in given:
        if key not in known:
            what = f"takes {', '.join(known)}" if known else "takes no parameters"
            raise ArgumentError(f"{family}:{instance} {what}, got {key}={given[key]!r}")
    settings = {**known, **given}
    full = f"{family}:{write_call(instance, settings)}"
    problem = build(full, **settings)
    if problem.optimum is None and full in stored_optima():
        record = stored_optima()[full]
        problem = problem.with_optimum(Optimum(record["value"], record["proved"], record["source"]), record["rows"])
    return problem if relabelling is None else problem.relabelled(relabelling)


def available(family: str | None = None) -> list[str]:
    """The names of all problems; generated ones with their default parameters."""
    if family is not None and family not in FAMILIES:
        raise unknown_choice("problem family", family, FAMILIES)
    names = []
    for each, instances in FAMILIES.items():
        if family in (None, each):
            for instance, build in instances.items():
                names.append(f"{each}:{write_call(instance, _parameters(build))}")
    return names


def _parse(name: str) -> tuple[str, str, dict[str, Any], int | None]:
    match = re.fullmatch(r"([\w-]+):([\w-]+(?:\(.*\))?)(?:~(\d+))?", name)
    if not match:
        raise ArgumentError(
            f"the name of a problem is family:instance, such as 'qap:chr15a' or 'tsp:random(n=30,seed=3)', got {name!r}"
        )
    family, call, relabelling = match.groups()
    return family, *read_call(call), None if relabelling is None else int(relabelling)


def _parameters(build: Builder) -> dict[str, Any]:
    """The parameters of a builder besides the name, with their defaults."""
    return {p.name: p.default for p in list(inspect.signature(build).parameters.values())[1:]}


@lru_cache(maxsize=1)
def stored_optima() -> dict[str, Any]:
    """Values and rows found or confirmed by `python -m mergebo.problems.optima.regenerate`."""
    stored: dict[str, Any] = json.loads(OPTIMA.read_text(encoding="utf-8"))
    return stored


# ---------------------------------------------------------------------------------------------------- the instances
# A builder's parameters after the name are those of `get`; fixed instances have none (hence the keyword-only partials).


def _tsplib(name: str) -> TSP:
    return read_tsplib(DATA / f"{name.removeprefix('tsp:')}.tsp", name)


def _pcb442(name: str) -> TSP:
    board = _tsplib(name)
    return board.with_optimum(Optimum(50778, True, "TSPLIB"), [read_tour(DATA / "pcb442.tour")])


def _a280_ceil(name: str) -> TSP:
    points = _tsplib("tsp:a280").coordinates
    assert points is not None
    return TSP(name, euclidean(points, "ceil"), points)


def _drill(name: str) -> TSP:
    board = _tsplib("tsp:pcb442").coordinates
    assert board is not None
    return tsp.drill_holes(name, board, 15, seed=int(name.rpartition("-")[2]))


def _random_tsp(name: str, n: int = 30, seed: int = 0) -> TSP:
    return tsp.uniform(name, n, seed)


def _clustered_tsp(name: str, n: int = 30, seed: int = 0, clusters: int = 4) -> TSP:
    return tsp.clustered(name, n, seed, clusters)


def _qaplib(name: str) -> Problem:
    return read_qaplib(DATA / f"{name.removeprefix('qap:')}.dat", name)


def _nug_like(name: str, n: int = 15, seed: int = 0) -> Problem:
    return qap.nug_like(name, n, seed)


def _cells(name: str, n: int = 30, seed: int = 0) -> Problem:
    return layout.random_cells(name, n, seed)


def _modules(name: str, n: int = 30, seed: int = 0) -> Problem:
    return layout.random_modules(name, n, seed)


def _taillard(name: str) -> Problem:
    number = int(re.findall(r"\d+", name)[0])
    for (jobs, machines), (first, seeds, _) in scheduling.TAILLARD.items():
        if first <= number < first + len(seeds):
            times = scheduling.taillard_times(seeds[number - first], jobs, machines)
            return scheduling.FlowShop(name, times, "flowtime" if name.endswith("-flow") else "makespan")
    raise AssertionError(name)


def _flow_shop(name: str, n: int = 20, machines: int = 5, seed: int = 0, criterion: Any = "makespan") -> Problem:
    return scheduling.FlowShop(name, scheduling.random_times(n, machines, seed), criterion)


def _planted(name: str, n: int = 30, seed: int = 0, noise: float = 0.5) -> Problem:
    return linear_ordering.planted_lop(name, n, seed, noise)


def _reagents(name: str, n: int = 8, seed: int = 0, heated: bool = False, noise: float = 0.0) -> Problem:
    return order_of_addition.reagents(name, n, seed, heated, noise)


def _synthesis(name: str, n: int = 8, seed: int = 0, noise: float = 0.0) -> Problem:
    return order_of_addition.synthesis(name, n, seed, noise)


def _a280_tour() -> Ints:
    return np.array(stored_optima()["tsp:a280"]["rows"][0], np.int64)


def _a280_thief(name: str, *, kind: ttp.Kind, per_city: int, seed: int) -> Problem:
    points = _tsplib("tsp:a280").coordinates
    assert points is not None
    return ttp.thief(name, points, _a280_tour(), kind=kind, per_city=per_city, fill=8, seed=seed)


def _random_thief(
    name: str, n: int = 30, per_city: int = 1, kind: ttp.Kind = "uncorrelated", fill: int = 8, seed: int = 0
) -> Problem:
    points = np.round(1000 * np.random.default_rng([seed, 1]).random((n, 2)))
    _, tour = tour_search(euclidean(points, "ceil"), seed=seed, kicks=200)
    return ttp.thief(name, points, tour, kind=kind, per_city=per_city, fill=fill, seed=seed)


def _fixed(build: Builder, **settings: Any) -> Builder:
    """A builder without parameters besides the name."""
    configured = partial(build, **settings)
    return lambda name: configured(name)


QAPLIB = {
    "chr12a": 9552,
    "chr15a": 9896,
    "chr15b": 7990,
    "chr15c": 9504,
    "had12": 1652,
    "kra30a": 88900,
    "nug12": 578,
    "nug30": 6124,
    "rou12": 235528,
    "rou15": 354210,
    "scr12": 31410,
    "scr15": 51140,
    "tai12a": 224416,
    "tai15a": 388214,
    "tai30a": 1818146,
}
"""Included instances and their best values in QAPLIB; all but tai30a are proved optimal."""

FAMILIES: dict[str, dict[str, Builder]] = {
    "tsp": {
        "a280": _tsplib,
        "a280-ceil": _a280_ceil,
        "pcb442": _pcb442,
        **{f"pcb15-{k}": _drill for k in range(10)},
        "random": _random_tsp,
        "clustered": _clustered_tsp,
    },
    "qap": {**dict.fromkeys(QAPLIB, _qaplib), "nug-like": _nug_like},
    "floorplan": {"fp-1": _fixed(_modules, seed=101), "fp-2": _fixed(_modules, seed=102), "random": _modules},
    "cells": {"cp-1": _fixed(_cells, seed=201), "cp-2": _fixed(_cells, seed=202), "random": _cells},
    "ttp": {
        "a280-n279-uncorr": _fixed(_a280_thief, kind="uncorrelated", per_city=1, seed=301),
        "a280-n837-bounded": _fixed(_a280_thief, kind="bounded-strongly-correlated", per_city=3, seed=302),
        "a280-n837-uncorr": _fixed(_a280_thief, kind="uncorrelated", per_city=3, seed=303),
        "random": _random_thief,
    },
    "flowshop": {
        **{f"ta{k:03d}": _taillard for k in range(1, 11)},
        **{f"ta{k:03d}-flow": _taillard for k in range(1, 11)},
        "random": _flow_shop,
    },
    "lop": {"planted": _planted},
    "addition": {
        "demo": _fixed(_reagents, seed=401),
        "heated": _fixed(_reagents, seed=401, heated=True),
        "random": _reagents,
        "quantities": _fixed(_synthesis, seed=402, noise=2.0),
        "random-quantities": _synthesis,
    },
}
"""Every problem by family and instance."""
