"""`mergebo demo`: optimise a small problem."""

from __future__ import annotations

from typing import Annotated

import typer

from mergebo._text import format_number
from mergebo.cli.output import echo, sparkline


def demo(
    problem: Annotated[str, typer.Option(help="Any problem listed by `mergebo problems`.")] = "tsp:pcb15-0~1",
    budget: Annotated[int, typer.Option(min=2, help="Number of trials for each method.")] = 60,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of both runs.")] = 0,
) -> None:
    """Find the shortest drill tour of 15 holes, compare with random search and explain what was learned.

    Example: `mergebo demo --problem lop:planted --budget 80`
    """
    import mergebo as mb

    chosen = mb.problems.get(problem)
    echo(chosen.describe())
    best = chosen.optimum.value if chosen.optimum else None
    for method in ("random", "auto"):
        result = mb.minimize(chosen.evaluate, chosen.space, budget=budget, method=method, seed=seed, progress=True)
        if result.ended == "interrupted":
            raise typer.Exit(130)
        curve = result.convergence().tolist()
        above = "" if best is None else f"  (best known: {format_number(best)})"
        echo(f"{method:>7}  {sparkline(curve, 40)}  {format_number(curve[-1])}{above}")
    echo()
    echo(str(result.explain()))
