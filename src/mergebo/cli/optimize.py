"""`mergebo optimize`: run a program until the budget is spent."""

from __future__ import annotations

import queue
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from mergebo._text import ORDER, format_number, format_numbers, point_text
from mergebo.cli.options import (
    DEFAULT_STORAGE,
    Directions,
    Method,
    Noisy,
    Seed,
    SpaceOptions,
    Storage,
    check_directions,
    with_space_options,
)
from mergebo.cli.output import PARETO_FRONT, Json, console, echo, print_json, sparkline, trial_table, warn
from mergebo.errors import AccidentError, ProgramError

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

    from mergebo.studies import Study
    from mergebo.studies.workers import Workers

RUNS = "Runs of the program"
"""A panel of the help text."""
Timeout = Annotated[
    float | None,
    typer.Option(min=0.001, help="Seconds after which a run is ended and its trial fails.", rich_help_panel=RUNS),
]
Retries = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="How many times a run without a value is repeated; by default twice after an accident, never after a failure.",
        rich_help_panel=RUNS,
    ),
]
Accidents = Annotated[
    str,
    typer.Option(
        help="Ends of a run that say nothing about the order, so that its trial is cancelled and does not count; others are "
        "failures. `signal`: killed from outside, as when the memory is full. `start`: not found, or no room for it. "
        "`timeout`. `crash`: such as a segmentation fault. `exit`: an exit code other than 0. `value`: no number. "
        "Also exit codes, such as `75`, or `none`.",
        rich_help_panel=RUNS,
    ),
]
Logs = Annotated[
    Path | None,
    typer.Option(
        help="Folder for logs. `3.out` and `3.err` have what trial 3 printed, `3.json` its command, time and exit code.",
        rich_help_panel=RUNS,
    ),
]
Patterns = Annotated[
    list[str] | None,
    typer.Option(
        help="Regular expression for the value in the output, such as `loss=(.*)s`; the first group of the last match "
        "counts. Times and percentages may have their units. Once for each objective.",
        rich_help_panel=RUNS,
    ),
]
Keys = Annotated[
    list[str] | None,
    typer.Option(
        help="Key of the value in the JSON object that is the last line or the result file. Once for each objective.",
        rich_help_panel=RUNS,
    ),
]

MAX_INITIAL = 20
"""Initial points by default, at most; for small budgets a third of them."""
MAX_LIVE_TRIALS = 8
"""Trials in the live table, apart from the best ones and those that are running."""


@with_space_options
def optimize(
    options: SpaceOptions,
    command: Annotated[str, typer.Option(help="Your program, such as `./simulate {order}`; it prints the value last.")],
    budget: Annotated[int, typer.Option(min=1, help="Total number of trials, including those already in the study.")],
    name: Annotated[str, typer.Option("--study", envvar="MERGEBO_STUDY", help="Name of the study.")] = "study",
    storage: Storage = DEFAULT_STORAGE,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Number of programs run in parallel.")] = 1,
    timeout: Timeout = None,
    time_limit: Annotated[
        float | None,
        typer.Option(min=0.001, help="Seconds after which no more runs are started; those that run are finished."),
    ] = None,
    retries: Retries = None,
    accidents: Accidents = "signal,start",
    logs: Logs = None,
    pattern: Patterns = None,
    key: Keys = None,
    shell: Annotated[
        bool, typer.Option("--shell", help="Run the command in a shell, for pipes and variables.", rich_help_panel=RUNS)
    ] = False,
    direction: Directions = None,
    method: Method = "auto",
    initial: Annotated[
        int | None,
        typer.Option(min=1, help="Number of initial points; by default a third of the budget, at most 20."),
    ] = None,
    noisy: Noisy = False,
    seed: Seed = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the result.")] = False,
    as_json: Json = False,
) -> None:
    """Find the best order by running your program, once for each trial.

    In the command, `{order}` becomes one argument for each item. Inside a longer argument, as in `--order={order}`, the
    items are joined by commas; `{order:-}` joins them by `-` or any other separator. `{json}` is the whole point as JSON,
    `{trial}` the trial number, `{result}` a file for the result instead of standard output, and `{NAME}` the value of
    another variable. The command does not run in a shell unless you pass `--shell`.

    The program prints its value last, as in `3.2` or `loss: 3.2`. A trial fails if the program exits with an error, times
    out or prints no number. If the first five runs all fail, the command gives up.

    If the program cannot be started, or is killed from outside, that is an accident: it is run again, and if that does not
    help, the trial is cancelled. After three such trials in a row, the command stops.

    Stop with Ctrl-C; the same command resumes the study. To share the work, run it on several machines with the same
    `--storage`.

    Exit codes: 0 success; 1 no result, or stopped by failures or accidents; 2 invalid request; 130 interrupted.

    Example: `mergebo optimize --items a,b,c,d --budget 60 --command './simulate {order}' --before a:b --jobs 4`
    """
    from optuna.exceptions import ExperimentalWarning

    from mergebo.studies import StudyConfig, create
    from mergebo.studies.program import Program
    from mergebo.studies.storage import GRACE_PERIOD, HEARTBEAT_INTERVAL
    from mergebo.studies.trials import state_of
    from mergebo.studies.workers import PAUSE, Workers, wait_for_server

    space, directions = options.space(), check_directions(direction)
    program = Program(
        command,
        shell=shell,
        timeout=timeout,
        retries=retries,
        values=len(directions),
        accidents=_read_accidents(accidents),
        patterns=pattern or (),
        keys=key or (),
        logs=logs,
    )
    items: Any = space.variables[ORDER]
    program.check(list(space.variables), {ORDER: items.names})
    config = StudyConfig(space, method, seed, initial or min(MAX_INITIAL, max(1, budget // 3)), noisy)

    def open_study() -> tuple[Study, int]:
        study = create(
            storage,
            name,
            config,
            directions,
            heartbeat_interval=HEARTBEAT_INTERVAL,
            grace_period=GRACE_PERIOD,
            resume=True,
            keep=() if initial else ("initial",),
        )
        return study, len([trial for trial in study.trials() if state_of(trial) in ("done", "failed")])

    study, finished = wait_for_server(storage, open_study, warn)
    if initial and initial > budget:
        warn(f"with --initial {initial}, all {budget} trials of the budget are random")
    if finished and not (quiet or as_json):
        echo(f"{study.name} has {finished} trials; " + ("resuming." if finished < budget else "the budget is spent."))
    workers = Workers(study, program, budget, jobs, time_limit=time_limit, pause=PAUSE, warn=warn)
    report = _silently if quiet else _as_json if as_json else _live if sys.stdout.isatty() else _line_by_line
    aborted = False
    with _stopping(workers.stop), warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)  # `fail_stale_trials` has long been experimental
        workers.start()
        try:
            report(study, workers)
        except Exception:  # such as a closed pipe
            workers.stop()
            workers.join()
            raise
        try:
            workers.join()
        except AccidentError as error:
            aborted = True
            warn(
                f"stopped, since {error}. These trials do not count; the same command resumes the study. If the orders "
                "cause such ends, leave them out of --accidents, and they are failures"
            )
        except ProgramError as error:
            aborted = True
            warn(str(error))
    if workers.exhausted and not as_json:
        echo(f"Nothing left to try: {workers.exhausted}.")
    if workers.timed_out and not as_json:
        echo(f"The time limit of {time_limit:g} s is over; the same command continues the study.")
    outcome = _Outcome.of(study) if workers.stopped.is_set() else wait_for_server(storage, lambda: _Outcome.of(study), warn)
    _print_outcome(study, outcome, as_json)
    if workers.stopped.is_set() and not aborted:
        typer.echo("Interrupted. All results are stored; the same command resumes the study.", err=True)
        raise typer.Exit(130)
    if not outcome.done and not aborted:
        warn("no trial completed")
    if aborted or not outcome.done:
        raise typer.Exit(1)


def _read_accidents(text: str) -> list[Any]:
    """The names of ends and the exit codes in `--accidents`."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    return [] if words == ["none"] else [int(word) if word.isdecimal() else word for word in words]


@contextmanager
def _stopping(stop: Callable[[], None]) -> Iterator[None]:
    """Stop the workers on the first Ctrl-C or termination signal; a second one has its usual effect."""

    def handle(signum: int, frame: FrameType | None) -> None:
        for each, handler in previous.items():
            signal.signal(each, handler)
        stop()

    handled = [each for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) != signal.SIG_IGN]
    previous = {each: signal.signal(each, handle) for each in handled}
    try:
        yield
    finally:
        for each, handler in previous.items():
            signal.signal(each, handler)


def _finished(workers: Workers) -> Iterator[FrozenTrial | None]:
    """Yield trials as they finish, and None while waiting."""
    while workers.running or not workers.finished.empty():
        try:
            yield workers.finished.get(timeout=0.2)
        except queue.Empty:
            yield None


def _silently(study: Study, workers: Workers) -> None:
    for _ in _finished(workers):
        pass


def _as_json(study: Study, workers: Workers) -> None:
    for trial in _finished(workers):
        if trial is not None:
            print_json(study.data(trial))


def _line_by_line(study: Study, workers: Workers) -> None:
    from mergebo.studies.attributes import REASON
    from mergebo.studies.trials import state_of

    for trial in _finished(workers):
        if trial is not None:
            outcome = format_numbers(trial.values) or f"{state_of(trial)}: {trial.user_attrs.get(REASON, '')}"
            echo(f"trial {trial.number}: {outcome}  {point_text(study.point(trial))}")


def _live(study: Study, workers: Workers) -> None:
    """Show the progress, the best value so far as bars, and a table of the last trials."""
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    from mergebo.studies.trials import was_cancelled
    from mergebo.studies.workers import UNREACHABLE

    def display() -> Any:
        trials = study.trials()
        done = [trial for trial in trials if trial.state.is_finished()]
        running = [trial for trial in trials if trial.state.name == "RUNNING"]
        curve = study.best_so_far(done)
        best = [trial.number for trial in study.best_trials()]
        counted = len([trial for trial in done if not was_cancelled(trial)])
        head = Text(f"{study.name}: {counted} of {workers.budget} trials, {len(running)} running", style="bold")
        parts: list[Any] = [head]
        if len(study.directions) == 1 and curve:
            parts.append(Text(f"best so far {format_number(curve[-1])}  {sparkline(curve)}"))
        shown = [trial for trial in done if trial.number in best][:3] + [each for each in done if each.number not in best][
            -MAX_LIVE_TRIALS:
        ]
        return Group(*parts, trial_table(study, sorted(shown + running, key=lambda trial: trial.number), best))

    with Live(console=console(), auto_refresh=False, transient=True) as live:

        def refresh() -> None:
            with suppress(*UNREACHABLE):  # the workers retry, and so does the next refresh
                live.update(display(), refresh=True)

        refresh()
        drawn = time.monotonic()
        for trial in _finished(workers):
            if trial is not None or time.monotonic() > drawn + 1:
                refresh()
                drawn = time.monotonic()


class _Outcome(NamedTuple):
    """What is printed at the end, read from the storage all at once."""

    done: int
    failed: int
    cancelled: int
    elsewhere: int
    best: list[FrozenTrial]
    noisy: bool

    @classmethod
    def of(cls, study: Study) -> _Outcome:
        """Read the study."""
        from mergebo.studies.attributes import WORKER
        from mergebo.studies.trials import state_of

        trials = study.trials()
        states = Counter(map(state_of, trials))
        elsewhere = len([trial for trial in trials if trial.state.name == "RUNNING" and WORKER in trial.user_attrs])
        numbers = states["done"], states["failed"], states["cancelled"]
        return cls(*numbers, elsewhere, study.best_trials(), study.is_noisy())


def _print_outcome(study: Study, outcome: _Outcome, as_json: bool) -> None:
    """Print the number of trials and the best of them."""
    cancelled = {"cancelled": outcome.cancelled} if outcome.cancelled else {}
    if as_json:
        data = {"study": study.name, "done": outcome.done, "failed": outcome.failed, **cancelled}
        print_json({**data, "best": [study.data(each) for each in outcome.best]})
        return
    if not outcome.done:
        return
    echo(
        f"{outcome.done} trials"
        + (f", {outcome.failed} failed" if outcome.failed else "")
        + (f", {outcome.cancelled} cancelled" if outcome.cancelled else "")
        + (f", {outcome.elsewhere} running elsewhere" if outcome.elsewhere else "")
    )
    if len(study.directions) > 1:
        echo((PARETO_FRONT, "italic"))
        console().print(trial_table(study, outcome.best))
        return
    (trial,) = outcome.best
    echo("Best: ", (format_number(trial.value), "bold"), f" in trial {trial.number}")
    echo(point_text(study.point(trial)))
    if outcome.noisy:
        echo(f"Values are noisy: `{study.command_line('best')}` prints the point with the best expected value.")
