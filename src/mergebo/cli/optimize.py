"""`mergebo optimize`: run a program until the budget is spent."""

from __future__ import annotations

import queue
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

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
from mergebo.errors import ProgramError

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

    from mergebo.studies import Study
    from mergebo.studies.workers import Workers

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
    timeout: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds after which a run is ended and its trial fails.")
    ] = None,
    retries: Annotated[int, typer.Option(min=0, help="How many times a failed run is repeated.")] = 0,
    shell: Annotated[bool, typer.Option("--shell", help="Run the command in a shell, for pipes and variables.")] = False,
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

    Stop with Ctrl-C; the same command resumes the study. To share the work, run it on several machines with the same
    `--storage`.

    Exit codes: 0 success; 1 no result; 2 invalid request; 130 interrupted.

    Example: `mergebo optimize --items a,b,c,d --budget 60 --command './simulate {order}' --before a:b --jobs 4`
    """
    from optuna.exceptions import ExperimentalWarning

    from mergebo.studies import StudyConfig, create
    from mergebo.studies.program import Program
    from mergebo.studies.storage import GRACE_PERIOD, HEARTBEAT_INTERVAL
    from mergebo.studies.workers import PAUSE, Workers

    space, directions = options.space(), check_directions(direction)
    program = Program(command, shell=shell, timeout=timeout, retries=retries, values=len(directions))
    items: Any = space.variables[ORDER]
    program.check(list(space.variables), {ORDER: items.names})
    config = StudyConfig(space, method, seed, initial or min(MAX_INITIAL, max(1, budget // 3)), noisy)
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
    if initial and initial > budget:
        warn(f"with --initial {initial}, all {budget} trials of the budget are random")
    finished = len([trial for trial in study.trials() if trial.state.is_finished()])
    if finished and not (quiet or as_json):
        echo(f"{study.name} has {finished} trials; " + ("resuming." if finished < budget else "the budget is spent."))
    workers = Workers(study, program, budget, jobs, pause=PAUSE, warn=warn)
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
        except ProgramError as error:
            aborted = True
            warn(str(error))
    if workers.exhausted and not as_json:
        echo(f"Nothing left to try: {workers.exhausted}.")
    _result(study, as_json)
    if workers.stopped.is_set() and not aborted:
        typer.echo("Interrupted. All results are stored; the same command resumes the study.", err=True)
        raise typer.Exit(130)
    if not study.completed():
        if not aborted:
            warn("no trial completed")
        raise typer.Exit(1)


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

    for trial in _finished(workers):
        if trial is not None:
            outcome = format_numbers(trial.values) or f"failed: {trial.user_attrs.get(REASON, '')}"
            echo(f"trial {trial.number}: {outcome}  {point_text(study.point(trial))}")


def _live(study: Study, workers: Workers) -> None:
    """Show the progress, the best value so far as bars, and a table of the last trials."""
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    from mergebo.studies.workers import UNREACHABLE

    def display() -> Any:
        trials = study.trials()
        done = [trial for trial in trials if trial.state.is_finished()]
        running = [trial for trial in trials if trial.state.name == "RUNNING"]
        curve = study.best_so_far(done)
        best = [trial.number for trial in study.best_trials()]
        head = Text(f"{study.name}: {len(done)} of {workers.budget} trials, {len(running)} running", style="bold")
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


def _result(study: Study, as_json: bool) -> None:
    """Print the number of trials and the best of them."""
    from mergebo.studies.attributes import WORKER

    done = study.completed()
    failed = len([trial for trial in study.trials() if trial.state.is_finished()]) - len(done)
    if as_json:
        data = {"study": study.name, "done": len(done), "failed": failed}
        print_json({**data, "best": [study.data(each) for each in study.best_trials()]})
        return
    if not done:
        return
    elsewhere = len([trial for trial in study.trials() if trial.state.name == "RUNNING" and WORKER in trial.user_attrs])
    echo(
        f"{len(done)} trials"
        + (f", {failed} failed" if failed else "")
        + (f", {elsewhere} running elsewhere" if elsewhere else "")
    )
    if len(study.directions) > 1:
        echo((PARETO_FRONT, "italic"))
        console().print(trial_table(study, study.best_trials()))
        return
    (trial,) = study.best_trials()
    echo("Best: ", (format_number(trial.value), "bold"), f" in trial {trial.number}")
    echo(point_text(study.point(trial)))
    if study.is_noisy():
        echo(f"Values are noisy: `{study.command_line('best')}` prints the point with the best expected value.")
