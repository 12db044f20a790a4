"""Reading the values that a program reports."""

from __future__ import annotations

import json
import math
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mergebo.errors import ArgumentError
from mergebo.studies import values as module
from mergebo.studies.values import Reader, read_quantity


class TestLastLine:
    @pytest.mark.parametrize(
        ("line", "values"),
        [
            ("3.2", (3.2,)),
            ("-1e-3", (-0.001,)),
            ("+.5", (0.5,)),
            ("loss: 3.2", (3.2,)),
            ("loss:3.2", (3.2,)),
            ("score=3.2", (3.2,)),
            ("score = 3.2", (3.2,)),
            ("x1=3.2", (3.2,)),
            ("run 3 of 4 done, value 7", (7,)),
            ("1.5 2.5", (1.5, 2.5)),
            ("loss: 1.5 time: 2.5", (1.5, 2.5)),
            ("loss=1.5\ttime=2", (1.5, 2)),
            ("4 5 6", (5, 6)),
        ],
    )
    def test_numbers(self, line: str, values: tuple[float, ...]) -> None:
        assert module.read_line(line, len(values)) == values

    @pytest.mark.parametrize(
        ("line", "count", "message"),
        [
            ("3.2 done", 1, "'done' is not a number"),
            ("3.2 note:", 1, "is not a number"),
            ("3.2=", 1, "is not a number"),
            ("nan", 1, "nan is not a finite number"),
            ("loss=-inf", 1, "-inf is not a finite number"),
            ("1e999", 1, "inf is not a finite number"),
            ("finished at 12:30", 1, "'12:30' is not a number"),
            ("finished at=12:30", 1, "is not a number"),
            ("2024_01", 1, "is not a number"),
            ("3,2", 1, "is not a number"),
            ("0x10", 1, "is not a number"),
            ("True", 1, "is not a number"),
            ("3", 2, "it has 1 word$"),
            ("a 3", 2, "'a' is not a number"),
            ("1 nan", 2, "nan is not"),
        ],
    )
    def test_not_numbers(self, line: str, count: int, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            module.read_line(line, count)

    def test_long_lines_are_read_quickly(self) -> None:
        start = time.monotonic()
        assert module.read_line("x" + " " * 65000 + "3", 1) == (3,)
        assert module.read_line("= " * 30000 + "3", 1) == (3,)
        assert time.monotonic() - start < 2


class TestResultFile:
    @pytest.mark.parametrize(
        ("content", "values"),
        [
            ("3", (3,)),
            ("[2.5]", (2.5,)),
            ('{"value": -1e-3, "time": 4}', (-0.001,)),
            ('\ufeff{"values": [1, 2.5]}', (1, 2.5)),
            (" [1, 2, 3]\n", (1, 2, 3)),
        ],
    )
    def test_numbers(self, content: str, values: tuple[float, ...]) -> None:
        assert module.read_result(content.encode(), len(values)) == values

    @pytest.mark.parametrize(
        ("content", "count", "message"),
        [
            ("", 1, "not JSON"),
            ("3,2", 1, "not JSON: Extra data"),
            ("\udcff", 1, "not JSON"),
            ("9" * 5000, 1, "not JSON|not a finite"),
            ("9" * 400, 1, "not a finite number"),
            ("[" * 100_000, 1, "nested too deeply|not JSON"),
            ("[" * 900 + "]" * 900, 1, "not a number"),
            ("NaN", 1, "nan is not a finite"),
            ('{"value": -Infinity}', 1, "-inf is not a finite"),
            ("true", 1, "contains something that is not a number"),
            ("null", 1, "contains something that is not a number"),
            ('"3"', 1, "contains something that is not a number"),
            ('{"values": [1, false]}', 2, "contains something that is not a number"),
            ('{"loss": 3}', 1, 'either "value" or "values"'),
            ('{"value": 3, "values": [3]}', 1, 'either "value" or "values"'),
            ("[]", 1, "it contains 0$"),
            ("3", 2, "it contains 1$"),
        ],
    )
    def test_not_numbers(self, content: str, count: int, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            module.read_result(content.encode(errors="surrogateescape"), count)


class TestQuantities:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("3", 3),
            (" -1.5e-3 ", -0.0015),
            ("12%", 12),
            ("12.5 %", 12.5),
            ("3.2s", 3.2),
            ("950ms", 0.95),
            ("1e3 us", 0.001),
            ("7\N{MICRO SIGN}s", 7e-6),
            ("7\N{GREEK SMALL LETTER MU}s", 7e-6),
            ("2 min", 120),
            (".5h", 1800),
        ],
    )
    def test_numbers(self, text: str, value: float) -> None:
        assert read_quantity(text) == value

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("1,234", r"^'1,234' has a comma, which may separate thousands or decimals; print numbers without commas$"),
            ("3,2", "has a comma"),
            ("1,234,567.8 s", "has a comma"),
            ("1.1GB", r"has the unit 'GB'; those that can be read are %, ns, us, ms, s, min, h$"),
            ("10k", "has the unit 'k'"),
            ("5m", "has the unit 'm'"),
            ("1e", "has the unit 'e'"),
            ("1m3.2s", "is not a number"),
            ("12:30", "is not a number"),
            ("1_000", "is not a number"),
            ("0x10", "is not a number"),
            ("", "'' is not a number"),
            ("fast", "is not a number"),
            ("nan", "nan is not a finite number"),
            ("-inf", "-inf is not a finite number"),
            ("1e999s", "inf is not a finite number"),
            ("1e999999999999s", "is not a finite number"),
        ],
    )
    def test_not_numbers(self, text: str, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            read_quantity(text)

    @given(value=st.floats(allow_nan=False, allow_infinity=False), unit=st.sampled_from(["", "s", "%", " s"]))
    def test_what_is_printed_is_read(self, value: float, unit: str) -> None:
        assert read_quantity(f"{value!r}{unit}") == value


class TestKeys:
    def test_of_the_last_line(self) -> None:
        output = b'{"loss": 1}\n{"loss": 3.5, "time": "950 ms", "steps": [1, 2]}\n\n'
        assert Reader(keys=("loss",)).read_output(output) == (3.5,)
        assert Reader(2, keys=("time", "loss")).read_output(output) == (0.95, 3.5)
        assert Reader(keys=("loss",)).read_file(b'{"loss": 4}') == (4,)

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("3.5", 'should be a JSON object with "loss", but it is not an object, in braces: 3.5$'),
            ("[3.5]", "it is not an object"),
            ("loss: 3.5", "it is not JSON: .*: loss: 3.5$"),
            ('{"Loss": 3}', "--key must be one of 'Loss', got 'loss'; did you mean 'Loss'"),
            ("{}", "it is empty"),
            ('{"loss": null}', 'at "loss" is null, which is not a number'),
            ('{"loss": true}', "is true, which is not a number"),
            ('{"loss": [3]}', "which is not a number"),
            ('{"loss": NaN}', "nan is not a finite number"),
            ('{"loss": "1,234"}', "has a comma"),
        ],
    )
    def test_not_there(self, line: str, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            Reader(keys=("loss",)).read_output(line.encode())


class TestPatterns:
    OUTPUT = b"loss 5.5s at step 1\r 50%\r100%\nloss 3.2s at step 2\nsize: 12\ndone in 7 s\n"

    @pytest.mark.parametrize(
        ("patterns", "values"),
        [
            (("loss (\\S+)",), (3.2,)),
            (("loss (\\S+).*step (\\d+)",), (3.2,)),
            (("^[0-9]+%$",), (100,)),
            (("(?i)SIZE: (.*)$", "done in (.*)"), (12, 7)),
        ],
    )
    def test_the_last_match_counts(self, patterns: tuple[str, ...], values: tuple[float, ...]) -> None:
        assert Reader(len(values), tuple(patterns)).read_output(self.OUTPUT) == values

    @pytest.mark.parametrize(
        ("pattern", "message"),
        [
            ("lost (.*)", "match 'lost .*', but 'lost .*' matches nothing in its last 64 KiB; its last line: done in 7 s$"),
            ("loss (.*) at|done(x)?", "the first group of 'loss .*' is not part of its last match"),
            ("size(x)?", "the first group of 'size.*' is not part of its last match"),
            ("done (.*)", "'in 7 s' is not a number"),
        ],
    )
    def test_no_number(self, pattern: str, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            Reader(patterns=(pattern,)).read_output(self.OUTPUT)

    def test_a_number_that_was_cut_off_is_not_read(self) -> None:
        output = (b"9" * 20 + b" \n" + b"x" * 200_000)[: module.TAIL_BYTES + 1]
        with pytest.raises(ValueError, match="matches nothing"):
            Reader(patterns=("9+",)).read_output(output)
        assert Reader(patterns=("9+",)).read_output(b"\n" + output[1:-1]) == (float("9" * 19),)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 0}, "at least one value"),
        ({"patterns": ("(",)}, r"--pattern '\(' is not a regular expression of Python: missing \)"),
        ({"patterns": ("a", "b")}, "--pattern must be given once for each objective; got 2 for one objective"),
        ({"count": 2, "keys": ("a",)}, "--key must be given once for each objective; got 1 for 2 objectives"),
        ({"patterns": ("a",), "keys": ("b",)}, "use one of them"),
    ],
)
def test_readers_that_cannot_work(options: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        Reader(**options)  # type: ignore[arg-type]


@given(data=st.binary(max_size=300), key=st.text(min_size=1, max_size=3))
def test_any_output_is_read_or_refused(data: bytes, key: str) -> None:
    for reader in (Reader(), Reader(keys=(key,)), Reader(patterns=(r"(\S*)$",))):
        for content in (b"1\n" + data, json.dumps({key: data.decode(errors="replace")}).encode()):
            with suppress(ValueError):
                (value,) = reader.read_output(content)
                assert math.isfinite(value)
