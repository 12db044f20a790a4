"""The command that computes the stored optima."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mergebo import problems
from mergebo.problems.optima.exact import brute_force
from mergebo.problems.optima.regenerate import main, solve


class TestRegenerate:
    """The command that computes the stored optima."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        """A file without any optima."""
        path = tmp_path / "optima.json"
        path.write_text("{}")
        return path

    def test_optima_are_stored(self, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        problem = problems.get("qap:nug-like(n=6,seed=4)")
        main([problem.name], path=path)
        assert json.loads(path.read_text()) == {}
        main([problem.name, "--write"], path=path)
        written = path.read_bytes()
        stored = json.loads(written)[problem.name]
        assert stored["proved"]
        assert stored["value"] == brute_force(problem)[0] == problem.evaluate_rows(np.array(stored["rows"][0]))
        main([problem.name, "--write"], path=path)
        assert path.read_bytes() == written
        assert f"stored {stored['value']:.10g}" in capsys.readouterr().out.splitlines()[-1]

    def test_the_search_for_thieves_starts_from_a_tour_of_their_cities(self) -> None:
        problem = problems.get("ttp:random(n=6,seed=2)")
        value, row, proved, source = solve(problem, thief_steps=50)
        assert (problem.evaluate_rows(row), proved) == (value, False)
        assert source.startswith("annealed from a short tour")

    def test_published_values(self, path: Path) -> None:
        """A published value is stored even if not reached; a value below a proved optimum is an error."""
        name = "lop:planted(n=6,seed=0,noise=0.0)"
        best = solve(problems.get(name))[0]
        main([name, "--write"], path=path, published={name: (best - 1, True, "a book")})
        stored = json.loads(path.read_text())[name]
        assert stored == {"value": best - 1, "proved": True, "source": "a book", "rows": []}
        with pytest.raises(SystemExit, match="below the proved optimum"):
            main([name], path=path, published={name: (best + 1, True, "a book")})


@pytest.mark.slow
def test_optima_are_regenerated_by_their_command(capsys: pytest.CaptureFixture[str]) -> None:
    """The command solves a problem and finds what is stored."""
    main(["tsp:pcb15-1", "addition:demo"])
    output = capsys.readouterr().out
    stored = problems.get("tsp:pcb15-1").optimum.value
    assert f"tsp:pcb15-1: found {stored:g} (dynamic programming); optimum {stored:g} (proved" in output
    assert "[2/2] addition:demo" in output
