"""A progress bar in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(total: int, text: str = "", *, done: int = 0, long: bool = False) -> Iterator[Callable[[str], None]]:
    """A progress bar. Call what it returns after each step, with the text to show beside the bar.

    For a `long` run it is written to the standard error, shows the elapsed time too, and estimates from the last hour.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    shown, bar, count, left = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    if long:
        columns = (bar, count, TimeElapsedColumn(), TextColumn("left"), left, shown)
        progress = Progress(*columns, console=Console(stderr=True), speed_estimate_period=3600)
    else:
        progress = Progress(shown, bar, count, left)
    task = progress.add_task(text, total=total, completed=done)
    with progress:
        yield lambda text: progress.update(task, advance=1, description=text)
