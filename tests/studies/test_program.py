"""Running the user's program: its results, and that it cannot hang or harm the caller."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any, get_args

import pytest

from mergebo.errors import AccidentError, ArgumentError, CancelledError, MergeboError, ProgramError
from mergebo.studies import child
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
            measure(script(f"echo 3.2; ulimit -c 0; kill -{kind} $$") + " {order}", retries=0)

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


class TestAccidents:
    """What says nothing about the point, and what does."""

    @pytest.mark.parametrize(
        ("text", "options", "kind"),
        [
            ("kill -9 $$", {}, "signal"),
            ("kill -TERM $$", {}, "signal"),
            ("kill -40 $$", {}, "signal"),
            ("sh -c 'kill -9 $$'", {}, "signal"),  # the shell around it exits with 137
            ("exit 143", {}, "signal"),
            ("ulimit -c 0; kill -SEGV $$", {}, "crash"),
            ("exit 134", {}, "crash"),
            ("exit 127", {}, "start"),
            ("exit 126", {}, "start"),
            ("nosuchprogram", {}, "start"),
            ("exec sleep 30", {"timeout": 0.1}, "timeout"),
            ("exit 1", {}, "exit"),
            ("exit 128", {}, "exit"),
            ("exit 150", {}, "exit"),
            ("exit 255", {}, "exit"),
            ("echo nan", {}, "value"),
            ("true", {}, "value"),
        ],
    )
    def test_kinds(self, text: str, options: dict[str, Any], kind: module.Ending) -> None:
        command = script(text) + " {order}"
        expected = AccidentError if kind in ("signal", "start") else ProgramError
        with pytest.raises(ProgramError) as caught:
            measure(command, retries=0, **options)
        assert type(caught.value) is expected
        with pytest.raises(AccidentError):
            measure(command, retries=0, accidents=[kind], **options)
        with pytest.raises(ProgramError) as caught:
            measure(command, retries=0, accidents=set(get_args(module.Ending)) - {kind}, **options)
        assert type(caught.value) is ProgramError

    def test_exit_codes(self) -> None:
        command = script("exit 75") + " {order}"
        with pytest.raises(AccidentError, match="exit code 75"):
            measure(command, accidents=["signal", 75])
        with pytest.raises(ProgramError) as caught:
            measure(command, accidents=[76])
        assert type(caught.value) is ProgramError

    def test_messages(self) -> None:
        with pytest.raises(AccidentError, match=r"exit code 137 \(128 \+ 9: killed by SIGKILL\) \(the last of 3 runs\)$"):
            measure(script("exit 137") + " {order}")
        with pytest.raises(AccidentError, match=r"exit code 127 \(it, or what it runs, was not found\); .*nosuchprogram"):
            measure("nosuchprogram {order}", shell=True, retries=0)

    def test_a_program_that_cannot_be_started(self) -> None:
        for command in ("./none {order}", "true {order}"):
            with pytest.raises(AccidentError, match="could not be started"):
                measure(command, {"order": ["x" * 200_000]}, retries=0)

    def test_a_script_that_vanishes(self) -> None:
        """The interpreter only exits with an error."""
        Path("simulate.py").write_text("print(3)")
        program = Program(f"{sys.executable} -S simulate.py {{order}}", grace=0.5, retries=0)
        program.check(["order"], {"order": ["a", "b"]})
        assert program.measure(ABC, 0) == (3,)
        Path("simulate.py").unlink()
        with pytest.raises(AccidentError, match=r"exit code 2; the file 'simulate.py', which .* has vanished"):
            program.measure(ABC, 0)

    @pytest.mark.parametrize("call", ["Guard", "ChildProcess", "DefaultSelector"])
    def test_no_room_for_a_program(self, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nothing that was started before is left behind, which the fixture checks for files."""

        def fail(*_: object, **__: object) -> Any:
            raise OSError(errno.EMFILE, "Too many open files")

        monkeypatch.setattr(*((child.selectors, call) if call == "DefaultSelector" else (module, call)), fail)
        with pytest.raises(AccidentError, match=r"'echo' could not be started: Too many open files; .*ulimit -n"):
            measure("echo {order}", retries=0)

    def test_accidents_are_repeated_twice(self) -> None:
        text = "echo x >> runs; [ $(wc -l < runs) = 3 ] && echo 5 || kill -9 $$"
        assert measure(script(text) + " {order}") == (5,)
        Path("runs").unlink()
        with pytest.raises(AccidentError, match=r"killed by SIGKILL$"):
            measure(script(text) + " {order}", retries=0)
        with pytest.raises(ProgramError, match=r"killed by SIGKILL$"):
            measure(script(text) + " {order}", accidents=[])

    def test_a_pause_before_each_repeat(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pauses: list[float] = []
        monkeypatch.setattr(child.Runs, "pause", lambda self, seconds: pauses.append(seconds))
        monkeypatch.setattr(module, "RETRY_SECONDS", 1.0)
        with pytest.raises(AccidentError, match="the last of 4 runs"):
            measure("./none {order}", retries=3)
        assert pauses == [1, 2, 4]
        with pytest.raises(ProgramError, match="the last of 3 runs, which all failed"):
            measure(script("exit 1") + " {order}", retries=2)
        assert len(pauses) == 3

    @pytest.mark.parametrize(
        ("accidents", "message"),
        [
            (["timeouts"], "an accident must be one of 'start', .*, got 'timeouts'; did you mean 'timeout'"),
            ([0], "must be 1..255, got 0"),
            ([256], "must be 1..255, got 256"),
        ],
    )
    def test_invalid(self, accidents: list[Any], message: str) -> None:
        with pytest.raises(ArgumentError, match=message):
            Program("echo {order}", accidents=accidents)


class TestValues:
    """Where the values are; `test_values.py` has the details."""

    def test_pattern(self) -> None:
        command = script("echo loss=3.2s step 1; echo loss=2.5s step 2; echo done") + " {order}"
        assert measure(command, patterns=["loss=(.*) step"]) == (2.5,)
        assert measure(command, values=2, patterns=["loss=(.*) step", "step (.)"]) == (2.5, 2)
        with pytest.raises(ProgramError, match=r"should match 'lost=', but .* matches nothing .*; its last line: done$"):
            measure(command, patterns=["lost="])
        with pytest.raises(ProgramError, match=r"printed nothing .* it should print a line that matches 'x'$"):
            measure(script("") + " {order}", patterns=["x"])

    def test_key(self) -> None:
        assert measure(script("""echo '{"loss": 3, "time": 4}'""") + " {order}", keys=["time"]) == (4,)
        assert measure(script("""echo '{"loss": "12%"}' > $1""") + " {result} {order}", keys=["loss"]) == (12,)
        with pytest.raises(ProgramError, match=r'printed nothing .* its last line should be a JSON object with "loss"$'):
            measure(script("") + " {order}", keys=["loss"])

    def test_a_pattern_and_a_result_file(self) -> None:
        program = Program("echo {order} {result}", patterns=["x"])
        with pytest.raises(ArgumentError, match="use one of them"):
            program.check(["order"], {"order": ["a"]})

    def test_hint(self) -> None:
        with pytest.raises(ProgramError, match=r"'3.2s' is not a number; --pattern and --key read numbers with units"):
            measure(script("echo 3.2s") + " {order}")


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
