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

from mergebo.cli.screen import (
    UNBEATEN,
    Json,
    as_data,
    best_so_far,
    complain,
    console,
    number,
    numbers,
    point_text,
    print_json,
    say,
    sparkline,
    trial_table,
)
from mergebo.cli.studies import (
    HERE,
    REASON,
    WORKER,
    Directions,
    Method,
    Noisy,
    Seed,
    Setup,
    Storage,
    Study,
    begin,
    check_directions,
)
from mergebo.cli.words import ORDER, Words, about_a_space
from mergebo.errors import ProgramError

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

    from mergebo.cli.workers import Workers

INITIAL = 20
SHOWN = 8
"""Of the last trials on the screen."""


@about_a_space
def optimize(
    words: Words,
    command: Annotated[str, typer.Option(help="Your program: `./simulate {order}`; it prints its value last.")],
    budget: Annotated[int, typer.Option(min=1, help="How many trials in all, those that are there already included.")],
    name: Annotated[str, typer.Option("--study", envvar="MERGEBO_STUDY", help="What the study is called.")] = "study",
    storage: Storage = HERE,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="How many programs run at the same time.")] = 1,
    timeout: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds after which a program is stopped: failed.")
    ] = None,
    retries: Annotated[int, typer.Option(min=0, help="How often a program that failed is run again.")] = 0,
    shell: Annotated[bool, typer.Option("--shell", help="The command is for a shell: pipes, variables.")] = False,
    direction: Directions = None,
    method: Method = "auto",
    initial: Annotated[
        int | None,
        typer.Option(min=1, help="How many random points come first; otherwise a third of the budget, at most 20."),
    ] = None,
    noisy: Noisy = False,
    seed: Seed = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the result.")] = False,
    as_json: Json = False,
) -> None:
    """Find the best order for a program of yours: it is run with one order after the other and prints how good each is.

    `{order}` becomes one argument for each item; within a longer argument, as in `--order={order}`, items are joined by
    commas, and by something else with `{order:-}`. `{json}` is all as JSON, `{trial}` the number, `{result}` a file for the
    result instead of the standard output, and other variables have their names. No shell is used unless you say `--shell`.

    What is printed last is the value: `3.2` or `loss: 3.2`. A program that fails, hangs or prints none is a failed trial.
    Stop it with Ctrl-C; the same command goes on where it was. Run it on several machines with a common `--storage` to share
    the work. If the first five programs fail it gives up. Exit status: 0, 1 if no trial gave a value, 2 for what cannot be,
    130 if it was stopped.

    Example: `mergebo optimize --items a,b,c,d --budget 60 --command './simulate {order}' --before a:b --jobs 4`
    """
    from optuna.exceptions import ExperimentalWarning

    from mergebo.cli.program import Program
    from mergebo.cli.workers import Workers

    space, directions = words.space(), check_directions(direction)
    program = Program(command, shell=shell, timeout=timeout, retries=retries, values=len(directions))
    items: Any = space.variables[ORDER]
    program.check(list(space.variables), {ORDER: items.names})
    setup = Setup(space, method, seed, initial or min(INITIAL, max(1, budget // 3)), noisy)
    keep = () if initial else ("initial",)
    study = begin(storage, name, setup, directions, beats=True, resume=True, keep=keep)
    before = len([trial for trial in study.trials() if trial.state.is_finished()])
    if before and not (quiet or as_json):
        say(f"{study.name} has {before} trials; " + ("going on." if before < budget else "the budget is spent."))
    workers = Workers(study, program, budget, jobs)
    watch = _silently if quiet else _as_json if as_json else _live if sys.stdout.isatty() else _line_by_line
    gave_up = False
    with _stopping(workers.stop), warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)  # `fail_stale_trials` is, and has long been
        workers.start()
        try:
            watch(study, workers)
        except Exception:  # such as a closed pipe
            workers.stop()
            workers.join()
            raise
        try:
            workers.join()
        except ProgramError as error:
            gave_up = True
            complain(str(error))
    if workers.exhausted and not as_json:
        say(f"There is nothing left to try: {workers.exhausted}.")
    _result(study, as_json)
    if workers.stopped.is_set() and not gave_up:
        typer.echo("Stopped. Everything is stored; the same command goes on from here.", err=True)
        raise typer.Exit(130)
    if not study.done():
        if not gave_up:
            complain("no trial gave a value")
        raise typer.Exit(1)


@contextmanager
def _stopping(stop: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C or termination stops the workers; a second one is as hard as ever."""

    def handle(signum: int, frame: FrameType | None) -> None:
        for each, was in before.items():
            signal.signal(each, was)
        stop()

    wanted = [each for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) != signal.SIG_IGN]
    before = {each: signal.signal(each, handle) for each in wanted}
    try:
        yield
    finally:
        for each, was in before.items():
            signal.signal(each, was)


def _finished(workers: Workers) -> Iterator[FrozenTrial | None]:
    """Trials as they end, and None now and then in between."""
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
            print_json(as_data(study, trial))


def _line_by_line(study: Study, workers: Workers) -> None:
    for trial in _finished(workers):
        if trial is not None:
            said = numbers(trial.values) or f"failed: {trial.user_attrs.get(REASON, '')}"
            say(f"trial {trial.number}: {said}  {point_text(study.point(trial))}")


def _live(study: Study, workers: Workers) -> None:
    """A table of the last trials, the best value so far as bars, and how far it is."""
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    from mergebo.cli.workers import UNREACHABLE

    def picture() -> Any:
        trials = study.trials()
        done = [trial for trial in trials if trial.state.is_finished()]
        going = [trial for trial in trials if trial.state.name == "RUNNING"]
        curve = best_so_far(study, done)
        best = [trial.number for trial in study.optuna.best_trials] if curve else []
        head = Text(f"{study.name}: {len(done)} of {workers.budget} trials, {len(going)} running", style="bold")
        parts: list[Any] = [head]
        if len(study.directions) == 1 and curve:
            parts.append(Text(f"best so far {number(curve[-1])}  {sparkline(curve)}"))
        shown = [trial for trial in done if trial.number in best][:3] + [each for each in done if each.number not in best][
            -SHOWN:
        ]
        return Group(*parts, trial_table(study, sorted(shown + going, key=lambda trial: trial.number), best))

    with Live(console=console(), auto_refresh=False, transient=True) as live:

        def refresh() -> None:
            with suppress(*UNREACHABLE):  # the workers go on trying, and so does the next picture
                live.update(picture(), refresh=True)

        refresh()
        drawn = time.monotonic()
        for trial in _finished(workers):
            if trial is not None or time.monotonic() > drawn + 1:
                refresh()
                drawn = time.monotonic()


def _result(study: Study, as_json: bool) -> None:
    """The best of all, and where to look further."""
    done = study.done()
    failed = len([trial for trial in study.trials() if trial.state.is_finished()]) - len(done)
    if as_json:
        best = study.optuna.best_trials if done else []
        data = {"study": study.name, "done": len(done), "failed": failed}
        print_json({**data, "best": [as_data(study, each) for each in best]})
        return
    if not done:
        return
    elsewhere = len([trial for trial in study.trials() if trial.state.name == "RUNNING" and WORKER in trial.user_attrs])
    say(
        f"{len(done)} trials"
        + (f", {failed} failed" if failed else "")
        + (f", {elsewhere} with workers elsewhere" if elsewhere else "")
    )
    if len(study.directions) > 1:
        console().print(trial_table(study, study.optuna.best_trials, title=UNBEATEN))
        return
    trial = study.optuna.best_trial
    say("Best: ", (number(trial.value), "bold"), f" in trial {trial.number}")
    say(point_text(study.point(trial)))
    if study.noisy:
        say("`mergebo best` says which is expected to be the best, for values are noisy.")
