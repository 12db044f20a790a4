"""Running the user's program: its results, and that it cannot hang or harm the caller."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path

import pytest

from mergebo.errors import ArgumentError, CancelledError, MergeboError, ProgramError
from mergebo.studies import program as module
from mergebo.studies.program import Program
from program_helpers import (
    ABC,
    alive,
    measure,
    python,
    script,
    wait_for,
)

pytestmark = pytest.mark.usefixtures("program_folder")


class TestOutput:
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

    def test_last_line_that_is_not_blank(self) -> None:
        assert measure(script("echo 1; echo 'loss: 2'; printf '\\n  \\n'; echo 9 >&2") + " {order}") == (2,)
        assert measure(script("printf '10%%\\r20%%\\r3.5'") + " {order}") == (3.5,)
        assert measure(script("printf '\\377 \\376 4\\n'") + " {order}") == (4,)
        assert measure(script("echo a=1 b=2") + " {order}", values=2) == (1, 2)

    def test_text_after_the_number(self) -> None:
        with pytest.raises(ProgramError, match=r"should end with a number, but 'done' is not a number: 3.2 done$"):
            measure(script("echo 3.2 done") + " {order}")
        with pytest.raises(ProgramError, match=r"should end with 2 numbers, but it has 1 word: 3.2$"):
            measure(script("echo 3.2") + " {order}", values=2)

    def test_lines_in_messages_are_truncated_and_escaped(self) -> None:
        with pytest.raises(ProgramError) as caught:
            measure(python("print('x' * 5000 + chr(27) + '[2J' + chr(7))") + " {order}")
        shown = str(caught.value).rpartition(": ")[2]
        assert shown.startswith("…xxx")
        assert shown.endswith("x\\x1b[2J\\x07")
        assert len(shown) == 200
        assert str(caught.value).isprintable()

    def test_number_that_was_cut_off(self) -> None:
        with pytest.raises(ProgramError, match="is not a number"):
            measure(python("print('1' + '0' * 70000)") + " {order}")
        assert measure(python("print('x' * 70000, 5)") + " {order}") == (5,)

    def test_printed_nothing(self) -> None:
        with pytest.raises(
            ProgramError, match="printed nothing and ended with exit code 0; it should print a number at the end"
        ):
            measure(script("echo; echo oops >&2") + " {order}")

    def test_exit_status(self) -> None:
        with pytest.raises(ProgramError, match=r"exit code 3; its standard error ends: d \| e \| f \| g \| h\\x07$"):
            measure(script("echo 3.2; for x in a b c d e f g 'h\\007'; do printf \"$x\\n\" >&2; done; exit 3") + " {order}")

    def test_long_standard_error(self) -> None:
        with pytest.raises(ProgramError, match=r"exit code 1; .*the end$") as caught:
            measure(python("import sys; sys.exit('x' * 100000 + 'the end')") + " {order}")
        assert len(str(caught.value)) < 600

    @pytest.mark.parametrize("kind", ["SEGV", "KILL"])
    def test_killed_by_a_signal(self, kind: str) -> None:
        with pytest.raises(ProgramError, match=f"was killed by SIG{kind}"):
            measure(script(f"echo 3.2; ulimit -c 0; kill -{kind} $$") + " {order}")

    def test_killed_by_a_signal_without_a_name(self) -> None:
        with pytest.raises(ProgramError, match="was killed by signal 40"):
            measure(script("kill -40 $$") + " {order}")

    def test_cannot_be_started(self) -> None:
        Path("bare").write_text("echo 1")
        Path("bare").chmod(0o755)
        with pytest.raises(ProgramError, match=r"'./bare' could not be started: Exec format error; .*#!/bin/sh"):
            measure("./bare {order}")
        with pytest.raises(ProgramError, match=r"'./none' could not be started: No such file"):
            measure("./none {order}")
        with pytest.raises(ProgramError, match="could not be started: Argument list too long; the point is too long"):
            measure("true {order}", {"order": ["x" * 200_000]})

    def test_the_password_of_the_storage_is_kept_from_the_program(self, monkeypatch: pytest.MonkeyPatch) -> None:
        run = script("echo ${MERGEBO_STORAGE-none} > storage; echo 1") + " {order}"
        for url, passed in (
            ("postgresql://u:secret@h/db", "none"),
            ("postgresql://h/db?password=secret", "none"),
            ("sqlite:///x.db", "sqlite:///x.db"),
        ):
            monkeypatch.setenv("MERGEBO_STORAGE", url)
            measure(run, ABC)
            assert Path("storage").read_text().strip() == passed
        monkeypatch.setenv("MERGEBO_STORAGE", "postgresql://u:secret@h/db")
        measure(run + ' "$MERGEBO_STORAGE"', ABC, shell=True)  # the command says that it is needed
        assert Path("storage").read_text().strip() == "postgresql://u:secret@h/db"

    def test_only_a_result_file_needs_a_folder(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """Each one is left behind if this process is killed."""
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
        assert measure(script("echo 1") + " {order}") == (1,)
        with pytest.raises(FileNotFoundError):
            measure(script("echo 1 > $1") + " {result} {order}")

    def test_environment(self) -> None:
        point = {"order": ["b", "ä\n"], "heat": 3}
        assert measure(script("printenv MERGEBO_POINT > point; echo $MERGEBO_TRIAL") + " {order}", point) == (7,)
        assert json.loads(Path("point").read_text()) == point

    def test_input_is_empty(self) -> None:
        """A program that reads its standard input gets nothing, not what is typed in the terminal."""
        reading, writing = os.pipe()
        before = os.dup(0)
        os.dup2(reading, 0)
        try:
            assert measure(script("wc -c") + " {order}", timeout=5) == (0,)
        finally:
            os.dup2(before, 0)
            for end in (reading, writing, before):
                os.close(end)

    def test_much_output_takes_no_memory(self) -> None:
        """A program that writes more than a pipe holds, to both outputs, does not block."""
        code = """
import sys
line = b"x" * 99 + b"\\n"
for _ in range(250):
    sys.stdout.buffer.write(line * 1000)
    sys.stderr.buffer.write(line * 1000)
print("loss: 3.5")
"""
        program = Program(python(code) + " {order}", timeout=30)
        tracemalloc.start()
        try:
            assert program.measure(ABC, 0) == (3.5,)
            assert tracemalloc.get_traced_memory()[1] < 1_500_000
        finally:
            tracemalloc.stop()


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

    def test_file_takes_precedence(self) -> None:
        assert measure(script('echo 1; echo 2 > "$1"') + " {result} {order}") == (2,)
        assert measure(script('echo text; echo "[2, 3]" > "$1"') + " {result}", values=2) == (2, 3)
        assert measure("echo 4 > {result}; echo {order}", shell=True) == (4,)

    def test_missing(self) -> None:
        for text in ("echo 1", 'mkdir "$1"', 'mkfifo "$1"', 'ln -s /dev/zero "$1"'):
            with pytest.raises(ProgramError, match=r"did not write a number to the file passed as {result}"):
                measure(script(text) + " {result} {order}")

    def test_bad(self) -> None:
        with pytest.raises(ProgramError, match=r"should contain a number, but it is not JSON: .*: loss=3\\n$"):
            measure(script('echo loss=3 > "$1"') + " {result} {order}")
        with pytest.raises(ProgramError, match="larger than 1048576 bytes") as caught:
            measure(script('head -c 3000000 /dev/zero > "$1"') + " {result} {order}")
        assert len(str(caught.value)) < 400
        with pytest.raises(ProgramError, match="exit code 1"):
            measure(script('echo 3 > "$1"; exit 1') + " {result} {order}")

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_unreadable(self) -> None:
        with pytest.raises(ProgramError, match="Permission denied"):
            measure(script('echo 3 > "$1"; chmod 0 "$1"') + " {result} {order}")

    def test_other_files_are_removed(self) -> None:
        """The fixture checks that no files remain."""
        assert measure(script('echo 3 > "$1"; echo 4 > "$1.tmp"; mkdir "$1.d"') + " {result} {order}") == (3,)


class TestEnd:
    @pytest.mark.slow
    def test_timeout(self) -> None:
        """A program that terminates on request does not need the grace period."""
        command = script("echo 1; echo slow >&2; echo $$ > pid; exec sleep 30") + " {order}"
        start = time.monotonic()
        with pytest.raises(ProgramError, match=r"took longer than 1 s and was terminated; its standard error ends: slow$"):
            measure(command, timeout=1, grace=10)
        assert 1 <= time.monotonic() - start < 8
        assert not alive(int(Path("pid").read_text()))

    @pytest.mark.slow
    def test_timeout_ends_children(self) -> None:
        with pytest.raises(ProgramError, match="took longer"):
            measure(script("sleep 30 & echo $! > pid; wait") + " {order}", timeout=1)
        assert not alive(int(Path("pid").read_text()))

    @pytest.mark.slow
    def test_chance_to_clean_up(self) -> None:
        with pytest.raises(ProgramError, match="took longer"):
            measure(script("trap 'echo clean > log; exit' TERM; sleep 30 & wait") + " {order}", timeout=1)
        assert Path("log").read_text() == "clean\n"

    @pytest.mark.slow
    def test_signal_is_ignored(self) -> None:
        start = time.monotonic()
        with pytest.raises(ProgramError, match="took longer"):
            measure(script("trap '' TERM; echo $$ > pid; while :; do sleep 0.2; done") + " {order}", timeout=1, grace=0.5)
        assert 1.5 <= time.monotonic() - start < 20
        assert not alive(int(Path("pid").read_text()))

    @pytest.mark.slow
    def test_timeout_of_a_program_that_prints_without_end(self) -> None:
        start = time.monotonic()
        with pytest.raises(ProgramError, match="took longer"):
            measure("yes {order}", {"order": ["1"]}, timeout=1)
        assert time.monotonic() - start < 20

    @pytest.mark.slow
    def test_timeout_of_a_program_that_closed_its_output(self) -> None:
        with pytest.raises(ProgramError, match="took longer"):
            measure(script("exec >&- 2>&-; sleep 30") + " {order}", timeout=1)
        assert measure(script("echo 3; exec >&- 2>&-; sleep 0.2") + " {order}", timeout=5) == (3,)

    @pytest.mark.slow
    def test_child_that_holds_the_output(self) -> None:
        start = time.monotonic()
        assert measure(script("sleep 30 & echo $! > pid; echo 3") + " {order}") == (3,)
        assert time.monotonic() - start < 20
        child = int(Path("pid").read_text())
        assert alive(child), "children of a program that ended by itself are not terminated"
        os.kill(child, signal.SIGKILL)

    @pytest.mark.slow
    def test_child_that_prints_after_the_end(self) -> None:
        assert measure(script("(sleep 0.2; echo 4) & echo 3") + " {order}") == (4,)

    @pytest.mark.slow
    @pytest.mark.parametrize("shell", [False, True])
    def test_stop(self, shell: bool) -> None:
        grace = 0.5 if shell else 10  # the system may be slow to remove children of a shell, which are then killed
        program = Program(script("echo $$ > pid; exec sleep 30") + " {order}", shell=shell, retries=5, grace=grace)
        caught: list[BaseException] = []

        def work() -> None:
            try:
                program.measure(ABC, 0)
            except MergeboError as error:
                caught.append(error)

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        pid = int(wait_for("pid"))
        start = time.monotonic()
        program.stop()
        assert time.monotonic() - start < 8
        assert not alive(pid)
        for thread in threads:
            thread.join(5)
        assert [type(error) for error in caught] == [CancelledError, CancelledError]
        with pytest.raises(CancelledError, match="no more programs are started"):
            program.measure(ABC, 1)
        assert Program("echo {order}").measure({"order": [1]}, 0) == (1,), "other programs still run"

    def test_stop_when_nothing_runs(self) -> None:
        program = Program("echo {order}", grace=0.5)
        start = time.monotonic()
        program.stop()
        program.stop()
        assert time.monotonic() - start < program.grace

    @pytest.mark.slow
    def test_interrupt_ends_the_program(self) -> None:
        """Ctrl-C in the thread that calls `measure`."""
        code = f"""
import sys
sys.path.insert(0, {str(Path(module.__file__).parents[2])!r})
from mergebo.studies.program import Program
Program("./simulate {{order}}").measure({{"order": [1]}}, 0)
"""
        script("sleep 1; echo $$ > pid; exec sleep 30")  # the caller waits for it by then
        caller = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
        pid = int(wait_for("pid"))
        assert os.getpgid(pid) == pid, "a process group of its own, which Ctrl-C does not reach"
        caller.send_signal(signal.SIGINT)
        _, errors = caller.communicate(timeout=10)
        assert b"KeyboardInterrupt" in errors
        assert not alive(pid)

    @pytest.mark.slow
    def test_several_at_once(self) -> None:
        program = Program(script("sleep 0.3; echo $1") + " {trial} {order}")
        found: dict[int, tuple[float, ...]] = {}
        threads = [threading.Thread(target=lambda k=k: found.update({k: program.measure(ABC, k)})) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == {k: (k,) for k in range(4)}


class TestRetries:
    COUNTED = "echo x >> runs; test $(wc -l < runs) -ge {} && echo 3"

    def runs(self) -> int:
        return Path("runs").read_text().count("x")

    def test_second_run_succeeds(self) -> None:
        assert measure(script(self.COUNTED.format(2)) + " {order}", retries=3) == (3,)
        assert self.runs() == 2

    def test_all_runs_fail(self) -> None:
        with pytest.raises(ProgramError, match=r"exit code 1 \(the last of 3 runs, which all failed\)$"):
            measure(script(self.COUNTED.format(9)) + " {order}", retries=2)
        assert self.runs() == 3

    def test_no_retries(self) -> None:
        with pytest.raises(ProgramError, match=r"exit code 1$"):
            measure(script(self.COUNTED.format(2)) + " {order}")
        assert self.runs() == 1

    @pytest.mark.slow
    def test_bad_output_and_timeouts_are_retried(self) -> None:
        text = "echo x >> runs; case $(wc -l < runs) in 1) sleep 30;; 2) echo nan;; *) echo 5;; esac"
        assert measure(script(text) + " {order}", retries=2, timeout=2) == (5,)
        assert self.runs() == 3

    def test_result_of_a_failed_run_is_discarded(self) -> None:
        text = 'echo x >> runs; if test $(wc -l < runs) = 1; then echo 3 > "$1"; exit 1; fi'
        with pytest.raises(ProgramError, match="did not write"):
            measure(script(text) + " {result} {order}", retries=1)

    def test_bad_points_are_not_retried(self) -> None:
        with pytest.raises(ArgumentError):
            measure(script("echo x >> runs; echo 1") + " {order}", {"order": ["\0"]}, retries=5)
        assert not Path("runs").exists()


@pytest.mark.slow
def test_programs_need_no_storage() -> None:
    """The modules that run programs import neither Optuna nor NumPy; other modules of the package do."""
    code = f"""
import sys, types
package = sys.modules["mergebo.studies"] = types.ModuleType("mergebo.studies")
package.__path__ = [{str(Path(module.__file__).parent)!r}]
import mergebo.studies.program, mergebo.studies.processes, mergebo.studies.attributes
print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "mergebo.studies.command" in done.stdout.split()
    assert not set(done.stdout.split()) & {"numpy", "torch", "optuna"}
