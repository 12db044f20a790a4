"""`mergebo bench`: run experiments and report on them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from mergebo._names import split_calls
from mergebo.errors import ArgumentError

bench = typer.Typer(help="Run experiments and report on them.", no_args_is_help=True, rich_markup_mode="markdown")


@bench.command("run")
def run(
    suite: Annotated[str, typer.Option(help="Suite of problems and budgets; `mergebo bench suites` lists them.")],
    out: Annotated[Path, typer.Option(help="Folder of the records; jobs that have a record there are not run again.")],
    methods: Annotated[str, typer.Option(help="Such as `mergebo,combo`; those of the suite by default.")] = "",
    seeds: Annotated[str, typer.Option(help="Such as `0-19` or `3,5,7`; those of the suite by default.")] = "",
    only: Annotated[str, typer.Option(help="Only problems whose names match this regular expression.")] = "",
    relabelled: Annotated[bool, typer.Option(help="Relabel the items at random, differently for every seed.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Number of processes on this machine.")] = 1,
    cluster: Annotated[str, typer.Option(help="Address of a Dask scheduler, whose workers run the jobs instead.")] = "",
    load: Annotated[
        Path | None,
        typer.Option(exists=True, resolve_path=True, help="A Python file that registers your own methods."),
    ] = None,
    quiet: Annotated[bool, typer.Option(help="No progress bar.")] = False,
) -> None:
    """Run a suite. It can be interrupted at any time; the same command resumes it.

    Several runners may share a folder. Methods may have settings: `--methods "auto,auto(embedding=False)"`.

    Exit code 1 if a job failed: its traceback is shown, and the next run tries it again.

    Example: `mergebo bench run --suite paper-low --methods mergebo,bops-h --seeds 0-9 --out runs/low --jobs 4`
    """
    from mergebo.experiments import get_suite, run_jobs
    from mergebo.experiments.jobs import check_method
    from mergebo.experiments.runner import run_file

    if load is not None:
        run_file(load)
    chosen = get_suite(suite, relabelled=relabelled)
    names = split_calls(methods) or list(chosen.methods)
    for name in names:
        check_method(name)
    selected = chosen.jobs(names, read_seeds(seeds) if seeds else None)
    if only:
        problems = sorted({job.problem for job in selected})
        selected = [job for job in selected if re.search(only, job.problem)]
        if not selected:
            raise ArgumentError(f"no problem of {suite} matches {only!r}; it has {', '.join(problems)}")
    try:
        outcome = run_jobs(selected, out, workers=jobs, cluster=cluster or None, load=load, progress=not quiet)
    except KeyboardInterrupt:
        typer.echo(f"Interrupted. Finished jobs are in {out}; the same command resumes the run.", err=True)
        raise typer.Exit(130) from None
    summary = f"{outcome.done} jobs done, {outcome.already_done} were already done"
    if outcome.claimed_elsewhere:
        summary += f", {len(outcome.claimed_elsewhere)} are running elsewhere"
    typer.echo(f"{summary}. Report: mergebo bench report {out}")
    for record in outcome.failed:
        typer.echo(f"\nFailed: {record.job.key}\n{record.error}", err=True)
    if outcome.failed:
        typer.echo(f"{len(outcome.failed)} jobs failed; run the same command to try them again.", err=True)
        raise typer.Exit(1)


@bench.command("report")
def report(
    folder: Annotated[Path, typer.Argument(help="A folder written by `mergebo bench run`.")],
    focal: Annotated[
        str, typer.Option("--focal", help="Focal method, to which the others are compared; auto or mergebo by default.")
    ] = "",
) -> None:
    """Write tables and figures of a run: `report.html` (self-contained), `report.md`, `tables.tex`, `metrics.json`.

    Example: `mergebo bench report runs/low --focal bops-h`
    """
    from mergebo.experiments.report import report

    typer.echo(f"Written: {report(folder, focal, progress=True)}")


@bench.command("suites")
def suites() -> None:
    """List the suites with their problems, methods and seeds.

    Example: `mergebo bench suites`
    """
    from mergebo.experiments import SUITES

    for name, suite in SUITES.items():
        seeds = f"{suite.seeds[0]}-{suite.seeds[-1]}"
        typer.echo(f"{name}\n  {suite.about}\n  methods: {', '.join(suite.methods)}; seeds {seeds}")
        for case in suite.cases:
            relabelled = ", relabelled" if case.relabelled else ""
            typer.echo(f"    {case.group}: {case.problem}, {case.initial} + {case.budget - case.initial}{relabelled}")


def read_seeds(text: str) -> list[int]:
    """Parse seeds: `0-3,7` is 0, 1, 2, 3, 7."""
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        if not match or (match[2] and int(match[2]) < int(match[1])):
            raise ArgumentError(f"seeds must look like 0-19 or 3,5,7, got {text!r}")
        seeds += range(int(match[1]), int(match[2] or match[1]) + 1)
    return list(dict.fromkeys(seeds))
