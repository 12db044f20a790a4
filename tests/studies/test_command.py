"""Commands: their placeholders, the arguments that a program gets, and the messages for invalid ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mergebo.errors import ArgumentError, CancelledError, MergeboError, ProgramError
from mergebo.studies.program import Program
from program_helpers import (
    ECHO,
    HOSTILE,
    ITEMS,
    arguments,
    in_shell,
    measure,
    received,
    script,
)

pytestmark = pytest.mark.usefixtures("program_folder")


class TestTemplate:
    @pytest.mark.parametrize(
        ("command", "expected"),
        [
            ("run {order}", ["run", "b", "c", "a"]),
            ("run '{order}' x", ["run", "b", "c", "a", "x"]),
            ("run --order={order}", ["run", "--order=b,c,a"]),
            ("run {order}.txt", ["run", "b,c,a.txt"]),
            ("run {order:-}", ["run", "b-c-a"]),
            ("run {order: }", ["run", "b c a"]),
            ("run '{order: }'", ["run", "b c a"]),
            ("run {order:}", ["run", "bca"]),
            ("run {order:, }|{order:::}", ["run", "b, c, a|b::c::a"]),
            ("run {order}{order}", ["run", "b,c,ab,c,a"]),
            ("run {trial} --out={result}", ["run", "7", "--out=/tmp/result"]),
            ("run {json}", ["run", '{"order": ["b", "c", "a"]}']),
            ("awk '{{print $1}}' {{}} {{{order}}}", ["awk", "{print $1}", "{}", "{b,c,a}"]),
            ("run 'a b' \"c d\" e\\ f '' {order}", ["run", "a b", "c d", "e f", "", "b", "c", "a"]),
        ],
    )
    def test_placeholders(self, command: str, expected: list[str]) -> None:
        assert arguments(command) == expected

    @pytest.mark.parametrize(
        ("command", "expected"),
        [
            ("run {order}", ["run", "b", "c", "a"]),
            ("run --order={order} {order:-}", ["run", "--order=b,c,a", "b-c-a"]),
            ("run {order: }", ["run", "b c a"]),
            ("run {order};{order}|{order}", ["run", "b", "c", "a;b", "c", "a|b", "c", "a"]),
            ("run {order}{trial}", ["run", "b,c,a7"]),
            ("run {trial} {result} {json}", ["run", "7", "/tmp/result", '{"order": ["b", "c", "a"]}']),
            ("run {{}} ${{HOME}} {order}", ["run", "{}", "${HOME}", "b", "c", "a"]),
        ],
    )
    def test_placeholders_for_a_shell(self, command: str, expected: list[str]) -> None:
        assert in_shell(command) == expected  # `shlex` does not split at ; and |, the shell does

    def test_other_variables(self) -> None:
        point = {
            "order": np.array([2, 0, 1]),
            "picks": np.array([1, 0]),
            "heat": np.float64(37.5),
            "salt": "K Na",
            "count": 3,
        }
        filled = arguments("run {order} --picks={picks} {picks} {heat} {salt} x{count}", point)
        assert filled == ["run", "2", "0", "1", "--picks=1,0", "1", "0", "37.5", "K Na", "x3"]
        assert json.loads(arguments("run {json}", point)[1]) == {
            "order": [2, 0, 1],
            "picks": [1, 0],
            "heat": 37.5,
            "salt": "K Na",
            "count": 3,
        }

    def test_items_that_are_not_strings(self) -> None:
        point = {"order": [(1, 2), None, 0.5, np.int64(3)]}
        assert arguments("run {order}", point) == ["run", "(1, 2)", "None", "0.5", "3"]
        assert json.loads(arguments("run {json}", point)[1]) == {"order": [[1, 2], None, 0.5, 3]}
        assert json.loads(arguments("run {json}", {"order": [Path("x")]})[1]) == {"order": ["x"]}

    @pytest.mark.slow
    @given(ITEMS)
    @example(HOSTILE)
    def test_items_arrive_unchanged(self, items: list[str]) -> None:
        point = {"order": items}
        assert arguments("run -- {order} end", point) == ["run", "--", *items, "end"]
        assert in_shell("run -- {order} end", point) == ["run", "--", *items, "end"]
        for words in (arguments("run {json}", point), in_shell("run {json}", point)):
            assert words[0] == "run"
            assert json.loads(words[1]) == point

    @given(ITEMS, st.text("-,;ab", max_size=3))
    def test_joined_items_are_unambiguous(self, items: list[str], separator: str) -> None:
        point = {"order": items}
        for make in (arguments, in_shell):
            try:
                _, joined = make(f"run {{order:{separator}}}", point)
            except ArgumentError:
                continue
            assert (joined.split(separator) if separator else list(joined)) == items

    @pytest.mark.parametrize("shell", [False, True])
    def test_hostile_items_reach_a_program(self, shell: bool) -> None:
        program = Program(f"{ECHO} {{order}} --joined={{order:|}} {{json}}", shell=shell)
        program.check(["order"], {"order": HOSTILE})
        assert program.measure({"order": HOSTILE}, 0) == (1,)
        *items, joined, point = received()
        assert items == HOSTILE
        assert joined == "--joined=" + "|".join(HOSTILE)
        assert json.loads(point) == {"order": HOSTILE}

    @pytest.mark.slow
    @pytest.mark.parametrize("shell", [False, True])
    @settings(max_examples=8)
    @given(items=ITEMS)
    def test_any_items_reach_a_program(self, items: list[str], shell: bool) -> None:
        assert measure(f"{ECHO} {{order}}", {"order": items}, shell=shell) == (1,)
        assert received() == items

    def test_shell_syntax_around_items(self) -> None:
        """An item that is a number before `>` is not a file descriptor; functions and `set` have arguments of their own."""
        point = {"order": ["1", "2"]}
        assert measure(f"f() {{{{ {ECHO} {{order}}>out; }}}}; set -- x y; f z; cat out", point, shell=True) == (1,)
        assert received() == ["1", "2"]

    def test_shell_substitutions(self) -> None:
        point = {"order": ["a b", "$(touch pwned)"]}
        assert measure(f'{ECHO} "$(printf %s, {{order}})"', point, shell=True) == (1,)
        assert received() == ["a b,$(touch pwned),"]

    def test_shell_has_pipes_and_variables(self) -> None:
        assert measure("X=4; printf '%s\\n' {order} | wc -l; echo ${{X}}2", shell=True) == (42,)


class TestCheck:
    @pytest.mark.parametrize(
        ("command", "message"),
        [
            ("", "command is empty; it should be like './simulate {order}'"),
            (" \t", "command is empty"),
            ("true {ordr}", "'order', 'heat', 'json', 'trial', 'result', got 'ordr'; did you mean 'order'"),
            ("awk '{print $1}' {order}", r"got 'print \$1' .*literal brace twice, {{ or }}"),
            ("true {} {order}", "got ''"),
            ("true {order", r"unmatched { in the command, at the end of 'true {'"),
            ("true order} {order}", r"unmatched } in the command, at the end of 'true order}'.*literal brace twice"),
            ("true {{order}", "unmatched }"),
            ("true {heat}", "does not contain {order}; add it, or {json}"),
            ("true", "does not contain {order}"),
            ("true 'x {order}", "quotes in the command do not match: No closing quotation"),
            ("true {order} \\", "quotes in the command do not match: No escaped character"),
            ("true {trial:-} {order}", "{trial:-} joins the items of a list, which trial is not; write {trial}"),
            ("true\0 {order}", r"NUL character: true\\x00 {order}"),
            (
                "no-such-program {order}",
                "the program 'no-such-program' was not found; give its path, such as ./simulate, or add --shell",
            ),
            ("./nothing {order}", "the program './nothing' was not found"),
            ("'' {order}", "the program '' was not found"),
            ("X=1 true {order}", "the program 'X=1' was not found.*--shell"),
            ("true {order} | tail -1", r"\| in the command needs a shell: add --shell"),
            ("true {order} > out", "> in the command needs a shell"),
        ],
    )
    def test_bad_commands(self, command: str, message: str) -> None:
        with pytest.raises(ArgumentError, match=message):
            Program(command).check(["order", "heat"], {"order": "abc"})

    @pytest.mark.parametrize(
        ("command", "message"),
        [
            ("", "command is empty"),
            ("true {ordr}", "got 'ordr'; did you mean 'order'"),
            ("true", "does not contain {order}"),
            ("echo 'x' {order} 'y", "the shell cannot parse the command; .*Unterminated|the shell cannot parse.*EOF"),
            ("if true {order}", "the shell cannot parse the command"),
            ('echo "{order}"', '{order} is inside " in the command; .*are quoted automatically'),
            ("echo 'a {order:-}'", "{order:-} is inside '"),
            ("echo 'a\\' \"{order}\"", 'is inside "'),
            ('echo "a\\"{order}"', 'is inside "'),
            ('echo "$(echo "{order}")"', 'is inside "'),
            ('echo "$(echo \')\' "{order}")"', 'is inside "'),
            ("echo `echo {order}`", "is inside `"),
            ("echo ${{x:-{order}}}", r"is inside \${"),
            ("echo $(( (1) + {order} ))", r"is inside \("),
            ("echo $(( $(echo {order}) ))", r"is inside \$\("),
            ("echo ${order}", r"right after \$ in the command; .*written \${{order}}"),
            ("echo \\{order}", r"right after \\ in the command"),
        ],
    )
    def test_bad_commands_for_a_shell(self, command: str, message: str) -> None:
        with pytest.raises(ArgumentError, match=message):
            Program(command, shell=True).check(["order"], {"order": "abc"})

    @pytest.mark.parametrize(
        "command",
        [
            'echo \'a\' "b" \\" {order}',
            "echo '\\' {order}",
            'echo "a\\\\" {order}',
            'echo "$(echo "x")" {order} "$(echo {order})"',
            'echo "it\'s" {order}',
            '(echo {order}) | cat; echo `date` "`date`" ${{HOME}} $((1 + 2)) {order}',
            "case x in x) echo {order};; esac",
            "echo \\${order:-}",
            "no-such-program-but-the-shell-may-know-it {order}",
        ],
    )
    def test_good_commands_for_a_shell(self, command: str) -> None:
        Program(command, shell=True).check(["order"], {"order": "abc"})

    def test_nothing_is_run(self) -> None:
        for shell in (False, True):
            Program("touch {order}", shell=shell).check(["order"], {"order": ["pwned"]})

    def test_good_commands(self) -> None:
        script("echo 1")
        for command in (
            "./simulate {order}",
            "true {json}",
            "{heat}-simulate {order}",
            "true --order={order} {trial} {result}",
        ):
            Program(command).check(["order", "heat"], {"order": "abc"})

    def test_every_order_must_be_in_the_command(self) -> None:
        both = {"route": "abc", "shifts": "xy"}
        with pytest.raises(ArgumentError, match=r"does not contain {shifts}; add it"):
            Program("true {route}").check(both, both)
        Program("true {route} {shifts}").check(both, both)
        Program("true {json}").check(both, both)

    def test_program_that_is_not_executable(self) -> None:
        script("echo 1")
        Path("simulate").chmod(0o644)
        with pytest.raises(ArgumentError, match=r"'./simulate' is not executable; run chmod \+x ./simulate"):
            Program("./simulate {order}").check(["order"], {"order": "abc"})

    @pytest.mark.parametrize("name", ["json", "trial", "result"])
    def test_variables_with_reserved_names(self, name: str) -> None:
        with pytest.raises(ArgumentError, match=f"{{{name}}} has another meaning in a command"):
            Program(f"true {{{name}}}").check([name], {name: "abc"})
        Program("true {order}").check([name, "order"], {"order": "abc"})

    @pytest.mark.parametrize("shell", [False, True])
    @pytest.mark.parametrize(
        ("command", "item", "message"),
        [
            ("true -x={order}", "a,b", "joins items by ',', which is ambiguous with the item 'a,b'.*SEPARATOR.*or {json}"),
            ("true {order:-}", "well-known", "joins items by '-'.*'well-known'"),
            ("true {order:--}", "a-", "joins items by '--'.*'a-'"),
            ("true {order:}", "ab", "joins items by '', .*'ab'"),
            ("true {order:}", "", "joins items by ''"),
            ("true {order}", "nul\0", r"'nul\\x00' has a character that is not allowed in an argument"),
            ("true {order}", "\ud800", "has a character that is not allowed in an argument"),
        ],
    )
    def test_bad_items(self, command: str, item: str, message: str, shell: bool) -> None:
        """Found before anything is run, and again at each point."""
        program = Program(command, shell=shell)
        with pytest.raises(ArgumentError, match=message):
            program.check(["order"], {"order": ["x", item]})
        with pytest.raises(ArgumentError, match=message):
            program.measure({"order": [item, "x"]}, 0)
        program.check(["order"], {"order": ["x", "y"]})
        Program("true {json}", shell=shell).check(["order"], {"order": ["x", item]})

    def test_bad_points(self) -> None:
        with pytest.raises(ArgumentError, match=r"must be one of 'order', .*got 'heat'"):
            arguments("run {order} {heat}")
        with pytest.raises(ArgumentError, match=r"{heat:-} joins the items of a list"):
            arguments("run {heat:-}", {"heat": 3})

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"timeout": 0}, "more than 0 seconds, got 0"),
            ({"timeout": float("nan")}, "got nan"),
            ({"retries": -1}, "0 or more, got -1"),
            ({"values": 0}, "at least one value"),
            ({"grace": -1}, "0 seconds or more, got -1"),
        ],
    )
    def test_bad_options(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(ArgumentError, match=message):
            Program("true {order}", **options)

    def test_errors_are_also_builtin_errors(self) -> None:
        assert issubclass(ProgramError, MergeboError)
        assert issubclass(ProgramError, RuntimeError)
        assert issubclass(CancelledError, MergeboError)
        assert not issubclass(CancelledError, ProgramError), "a cancelled run has not failed"
