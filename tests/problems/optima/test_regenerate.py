"""The command that computes the stored optima."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mergebo import problems
from mergebo.problems import registry
from mergebo.problems.optima import regenerate
from mergebo.problems.optima.exact import brute_force
from mergebo.problems.optima.heuristics import anneal
from mergebo.problems.optima.regenerate import solve


class TestRegenerate:
    """The command that computes the stored optima."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        (tmp_path / "optima.json").write_text("{}")
        monkeypatch.setattr("mergebo.problems.registry.DATA", tmp_path)
        registry.stored_optima.cache_clear()
        yield
        registry.stored_optima.cache_clear()

    def run(self, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
        monkeypatch.setattr("sys.argv", ["regenerate", *arguments])
        regenerate.main()

    def test_optima_are_stored_and_loaded(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        name = "qap:nug-like(n=6,seed=4)"
        assert problems.get(name).optimum is None
        self.run(monkeypatch, name)
        assert json.loads((tmp_path / "optima.json").read_text()) == {}
        self.run(monkeypatch, name, "--write")
        written = (tmp_path / "optima.json").read_bytes()
        problem = problems.get(name)
        assert problem.optimum.proved
        assert problem.optimum.value == brute_force(problem)[0] == problem.evaluate_rows(np.array(problem.optimizers[0]))
        self.run(monkeypatch, name, "--write")
        assert (tmp_path / "optima.json").read_bytes() == written
        assert f"stored {problem.optimum.value:.10g}" in capsys.readouterr().out.splitlines()[-1]

    def test_the_search_for_thieves_starts_from_a_tour_of_their_cities(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(regenerate, "anneal", lambda problem, **settings: anneal(problem, **settings | {"steps": 50}))
        problem = problems.get("ttp:random(n=6,seed=2)")
        value, row, proved, source = solve(problem)
        assert (problem.evaluate_rows(row), proved) == (value, False)
        assert source.startswith("annealed from a short tour")

    def test_published_values(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A published value is stored even if not reached; a value below a proved optimum is an error."""
        name = "lop:planted(n=6,seed=0,noise=0.0)"
        best = solve(problems.get(name))[0]
        monkeypatch.setitem(regenerate.PUBLISHED, name, (best - 1, True, "a book"))
        self.run(monkeypatch, name, "--write")
        stored = json.loads((tmp_path / "optima.json").read_text())[name]
        assert stored == {"value": best - 1, "proved": True, "source": "a book", "rows": []}
        monkeypatch.setitem(regenerate.PUBLISHED, name, (best + 1, True, "a book"))
        with pytest.raises(SystemExit, match="below the proved optimum"):
            self.run(monkeypatch, name)


@pytest.mark.slow
def test_optima_are_regenerated_by_their_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command solves a problem and finds what is stored."""
    monkeypatch.setattr("sys.argv", ["regenerate", "tsp:pcb15-1", "addition:demo"])
    regenerate.main()
    output = capsys.readouterr().out
    stored = problems.get("tsp:pcb15-1").optimum.value
    assert f"tsp:pcb15-1: found {stored:g} (dynamic programming); optimum {stored:g} (proved" in output
    assert "[2/2] addition:demo" in output
