"""Explain what a model learns from eighty drill tours of a circuit board, as text and a figure. Run by `make explain`.

The board is relabelled, and the method sees only tours and their lengths.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import mergebo as mb


def main() -> None:
    """Optimise, explain and plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", default="tsp:pcb15-0~1", help="any problem")
    parser.add_argument("--budget", type=int, default=80, help="evaluations")
    parser.add_argument("--seed", type=int, default=0, help="seed of the run")
    parser.add_argument("--out", type=Path, default=Path("build/demo/explain.png"), help="file for the figure")
    arguments = parser.parse_args()
    problem = mb.problems.get(arguments.problem)
    opt = mb.Optimizer(problem.space, method="auto", seed=arguments.seed)
    for _ in range(arguments.budget):
        trial = opt.ask()
        opt.tell(trial, float(problem.evaluate(trial.point)))
    explanation = opt.explain()
    print(explanation)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    explanation.plot(arguments.out)
    print(f"\nFigure: {arguments.out}")


if __name__ == "__main__":
    main()
