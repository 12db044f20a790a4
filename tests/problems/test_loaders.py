"""Readers of instance files, valid and malformed."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mergebo import errors, problems
from mergebo.problems.loaders import read_qaplib, read_tour, read_tsplib, read_ttp
from mergebo.problems.registry import DATA
from problem_helpers import reference_ttp


class TestLoaders:
    def write(self, folder: Path, name: str, text: str) -> str:
        path = folder / name
        path.write_text(text)
        return str(path)

    @pytest.mark.parametrize(
        ("layout_", "numbers"),
        [
            ("FULL_MATRIX", "0 1 2\n1 0 3\n2 3 0"),
            ("UPPER_ROW", "1 2\n3"),
            ("UPPER_DIAG_ROW", "0 1 2\n0 3\n0"),
            ("LOWER_ROW", "1\n2 3"),
            ("LOWER_DIAG_ROW", "0\n1 0\n2 3 0"),
        ],
    )
    def test_explicit_layouts(self, tmp_path: Path, layout_: str, numbers: str) -> None:
        header = f"NAME: x\nTYPE: TSP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: {layout_}\n"
        problem = problems.read_tsplib(self.write(tmp_path, "x.tsp", f"{header}EDGE_WEIGHT_SECTION\n{numbers}\nEOF\n"))
        assert problem.distances.tolist() == [[0, 1, 2], [1, 0, 3], [2, 3, 0]]
        assert problem.name == "tsp:x"

    def test_qaplib_round_trip(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, "two.dat", "2\n\n0 2\n3 0\n\n0 5 7 0\n")
        problem = problems.read_qaplib(path)
        assert problem.name == "qap:two"
        assert problem.evaluate([1, 0]) == 2 * 7 + 3 * 5
        value, order = problems.read_qaplib_solution(self.write(tmp_path, "two.sln", " 2  29\n 2,1\n"))
        assert problem.evaluate(order) == value

    def test_tour(self, tmp_path: Path) -> None:
        path = self.write(tmp_path, "x.tour", "NAME: x\nDIMENSION: 3\nTOUR_SECTION\n2\n3 1\n-1\nEOF\n")
        assert problems.read_tour(path).tolist() == [1, 2, 0]

    @pytest.mark.slow
    def test_real_thief_files(self) -> None:
        """The files in the package `ioh`: the values by definition, and the same cities as our a280."""
        import ioh

        folder = Path(ioh.__file__).parent / "static" / "example_pwt"
        read = [problems.read_ttp(str(path)) for path in sorted(folder.glob("a280*.ttp"))]
        assert [len(p.profits) for p in read] == [1395, 2790, 279]
        for problem in read:
            np.testing.assert_array_equal(problem.coordinates, problems.get("tsp:a280").coordinates)
            category = round(11 * problem.capacity / problem.weights.sum())
            assert problem.capacity == int(problem.weights.sum() * category / 11)
            point = problem.space.sample(seed=0)
            picks = problem.repair(point["picks"][None])[0]
            value = problem.evaluate({"route": point["route"], "picks": picks})
            assert value == pytest.approx(reference_ttp(problem, point["route"].tolist(), picks.tolist()))

    TSP = "NAME: x\nDIMENSION: 2\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 3 4\nEOF\n"
    TTP = (
        "PROBLEM NAME: x\nDIMENSION: 2\nNUMBER OF ITEMS: 1\nCAPACITY OF KNAPSACK: 5\nMIN SPEED: 0.1\nMAX SPEED: 1\n"
        "RENTING RATIO: 2\nEDGE_WEIGHT_TYPE: CEIL_2D\nNODE_COORD_SECTION (INDEX, X, Y):\n1 0 0\n2 3 4\n"
        "ITEMS SECTION (INDEX, PROFIT, WEIGHT, ASSIGNED NODE NUMBER):\n1 7 5 2\n"
    )

    def test_the_files_below_are_valid_without_the_errors(self, tmp_path: Path) -> None:
        assert problems.read_tsplib(self.write(tmp_path, "x.tsp", self.TSP)).evaluate([0, 1]) == 10
        small = problems.read_ttp(self.write(tmp_path, "x.ttp", self.TTP), overweight="penalty")
        assert small.evaluate({"route": [0, 1], "picks": [1]}) == pytest.approx(2 * (5 + 5 / 0.1) - 7)
        assert small.overweight == "penalty"

    @pytest.mark.parametrize(
        ("reader", "text", "message"),
        [
            ("tsplib", TSP.replace("2 3 4", "2 3"), r"x, line 6: expected 3 numbers \(city, x, y\), got 2"),
            ("tsplib", TSP.replace("2 3 4", "2 three 4"), "line 6: expected numbers"),
            ("tsplib", TSP.replace("2 3 4", "3 3 4"), "line 6: expected entry 2 of 2, got 3"),
            ("tsplib", TSP.replace("2 3 4", "2 3 nan"), "line 6: expected finite numbers"),
            ("tsplib", TSP.replace("DIMENSION: 2", "DIMENSION: 3"), "line 7: expected numbers"),
            ("tsplib", TSP.replace("DIMENSION: 2", "DIMENSION: -2"), "positive integer, got '-2'"),
            ("tsplib", TSP.replace("DIMENSION: 2\n", ""), "no DIMENSION"),
            ("tsplib", TSP.replace("EUC_2D", "GEO"), "'GEO' is not supported"),
            ("tsplib", TSP.replace("EUC_2D", "EXPLICIT"), "expected EDGE_WEIGHT_SECTION"),
            ("tsplib", TSP.replace("NODE_COORD", "EDGE_WEIGHT"), "expected NODE_COORD_SECTION"),
            (
                "tsplib",
                "DIMENSION: 2\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_SECTION\n0 1 1 0\n",
                "'' is not supported; use FULL_MATRIX",
            ),
            ("tsplib", TSP[:-10], "line 5: the file ends where entry 2 of 2 should follow"),
            ("tsplib", "", "line 0: the file ends"),
            ("tsplib", "hello\n", "line 1: expected 'KEY: value'"),
            ("qaplib", "2\n0 1 1 0\n0 1 1\n", r"the file ends where matrix B \(3 of 4 numbers so far\)"),
            ("qaplib", "2\n0 1 1 0\n0 1 1 0 5\n", "matrix B should be 4 numbers, got 5"),
            ("qaplib", "2\n0 1 1 0\n0 1 1 0\n5\n", "the file contains more than n"),
            ("qaplib", "2.5\n", "positive integer, got 2.5"),
            ("qaplib_solution", "2 5\n1 1\n", r"not a permutation of 1\.\.2"),
            ("tour", "DIMENSION: 2\nTOUR_SECTION\n1 3\n", "the tour is not a permutation"),
            ("ttp", TTP.replace("CEIL_2D", "EUC_2D"), "must be CEIL_2D, got 'EUC_2D'"),
            ("ttp", TTP.replace("1 7 5 2", "1 7 5 3"), r"cities 1\.\.2, got 3"),
            ("ttp", TTP.replace("ITEMS SECTION", "ITEM SECTION"), "expected ITEMS SECTION"),
            ("ttp", TTP.replace("RENTING RATIO: 2\n", ""), "no RENTING RATIO"),
            (
                "ttp",
                TTP.replace("SPEED: 0.1", "SPEED: 1.1"),
                "MIN SPEED must be above 0 and at most MAX SPEED, got 1.1 and 1",
            ),
            ("ttp", TTP.replace("SPEED: 0.1", "SPEED: 0"), "MIN SPEED must be above 0"),
            ("ttp", TTP.replace("KNAPSACK: 5", "KNAPSACK: 0"), "CAPACITY OF KNAPSACK must be above 0, got 0"),
            ("ttp", TTP.replace("1 7 5 2", "1 7 0 2"), "weights must be above 0; that of item 1 is 0"),
        ],
    )
    def test_malformed_files(self, tmp_path: Path, reader: str, text: str, message: str) -> None:
        path = self.write(tmp_path, "x", text)
        with pytest.raises(errors.InstanceFileError, match=message):
            getattr(problems, f"read_{reader}")(path)

    def test_no_such_file_and_no_text(self, tmp_path: Path) -> None:
        with pytest.raises(errors.InstanceFileError, match=r"nothing\.tsp: cannot be read"):
            problems.read_tsplib(str(tmp_path / "nothing.tsp"))
        (tmp_path / "x.tsp").write_bytes(b"\xff\xfe\x00")
        with pytest.raises(errors.InstanceFileError, match="cannot be read as text"):
            problems.read_tsplib(str(tmp_path / "x.tsp"))

    def test_embedded_files_are_read_by_the_same_readers(self) -> None:
        for entry in DATA.iterdir():
            if entry.name.endswith(".dat"):
                assert problems.read_qaplib(entry).n in (12, 15, 30)


FILES = {
    "tsplib": (
        read_tsplib,
        "NAME: x\nTYPE: TSP\nDIMENSION: 4\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 0 3\n3 4 0\n4 4 3\nEOF\n",
    ),
    "qaplib": (read_qaplib, "3\n\n0 1 2\n1 0 3\n2 3 0\n\n0 5 6\n5 0 7\n6 7 0\n"),
    "tour": (read_tour, "NAME: x\nTYPE: TOUR\nDIMENSION: 4\nTOUR_SECTION\n1\n3\n2\n4\n-1\nEOF\n"),
    "ttp": (
        read_ttp,
        "PROBLEM NAME: x\nKNAPSACK DATA TYPE: uncorrelated\nDIMENSION: 3\nNUMBER OF ITEMS: 2\nCAPACITY OF KNAPSACK: 10\n"
        "MIN SPEED: 0.1\nMAX SPEED: 1\nRENTING RATIO: 0.5\nEDGE_WEIGHT_TYPE: CEIL_2D\n"
        "NODE_COORD_SECTION (INDEX, X, Y):\n1 0 0\n2 0 3\n3 4 0\n"
        "ITEMS SECTION (INDEX, PROFIT, WEIGHT, ASSIGNED NODE NUMBER):\n1 5 4 2\n2 6 3 3\n",
    ),
}


@pytest.mark.parametrize("kind", FILES)
def test_the_files_to_be_corrupted_are_valid(kind: str, tmp_path: Path) -> None:
    reader, text = FILES[kind]
    path = tmp_path / "file"
    path.write_text(text)
    assert reader(path) is not None


@pytest.mark.slow
@pytest.mark.parametrize("kind", FILES)
@given(data=st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_corrupted_instance_files(kind: str, tmp_path: Path, data: Any) -> None:
    """Truncated, with bits flipped, with bytes removed or doubled: an `InstanceFileError`, or a file that can be read."""
    reader, text = FILES[kind]
    content = bytearray(text.encode())
    for _ in range(data.draw(st.integers(1, 3))):
        if not content:
            break
        at = data.draw(st.integers(0, len(content) - 1))
        match data.draw(st.sampled_from(["cut", "flip", "drop", "double", "junk"])):
            case "cut":
                del content[at:]
            case "flip":
                content[at] ^= 1 << data.draw(st.integers(0, 7))
            case "drop":
                del content[at : at + data.draw(st.integers(1, 20))]
            case "double":
                content[at:at] = content[at : at + 20]
            case "junk":
                content[at:at] = data.draw(st.binary(max_size=8))
    path = tmp_path / "file"
    path.write_bytes(bytes(content))
    with contextlib.suppress(errors.InstanceFileError):
        reader(path)
