"""`mergebo demo`: what it does, in a minute."""

from __future__ import annotations

from typing import Annotated

import typer

from mergebo.cli.screen import number, say, sparkline


def demo(
    problem: Annotated[str, typer.Option(help="Any that `mergebo problems` lists.")] = "tsp:pcb15-0~1",
    budget: Annotated[int, typer.Option(min=2, help="Trials for each method.")] = 60,
    seed: Annotated[int, typer.Option(min=0, help="Of both runs.")] = 0,
) -> None:
    """Find the shortest drill tour through 15 holes, beside random search, and say what was learned.

    Example: `mergebo demo --problem lop:planted --budget 80`
    """
    import mergebo as mb

    chosen = mb.problems.get(problem)
    say(chosen.describe())
    best = chosen.optimum.value if chosen.optimum else None
    for method in ("random", "auto"):
        result = mb.minimize(chosen.evaluate, chosen.space, budget=budget, method=method, seed=seed, progress=True)
        if result.ended == "interrupted":
            raise typer.Exit(130)
        curve = result.convergence().tolist()
        above = "" if best is None else f"  (best known: {number(best)})"
        say(f"{method:>7}  {sparkline(curve, 40)}  {number(curve[-1])}{above}")
    say()
    say(str(result.explain()))
