"""An Optuna study with a permutation: PermutationSampler, TPE and random sampling on the same objective."""

# %% [markdown]
# # A paint line in Optuna
#
# Twelve jobs go through one paint line. Between two colours the line is cleaned, which is quick from white to black, but
# takes long from black to white. Some jobs are due early. A faster line paints worse, and there are two solvents for
# cleaning. The order, the speed and the solvent are optimised in one study.

# %%
import argparse
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import optuna

from mergebo.integrations.optuna import PermutationSampler, suggest_permutation
from mergebo.plots.style import STYLE

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seeds", type=int, default=2, help="runs for each sampler")
parser.add_argument("--out", type=Path, help="file for the figure, such as optuna.png")
arguments, _ = parser.parse_known_args()  # ignore the arguments of a notebook kernel

optuna.logging.set_verbosity(optuna.logging.WARNING)
TRIALS, INITIAL = 45, 20

# %% [markdown]
# ## The line

# %%
JOBS = {  # darkness and redness of the colour, square metres, due time in minutes
    "doors": (0.0, 0.0, 30, 300),
    "fridges": (0.1, 0.0, 45, 500),
    "benches": (0.9, 0.1, 20, 120),
    "railings": (1.0, 0.0, 35, 600),
    "bicycles": (0.5, 1.0, 15, 200),
    "toolboxes": (0.6, 0.9, 10, 150),
    "lamps": (0.2, 0.1, 8, 90),
    "mailboxes": (0.3, 0.6, 12, 400),
    "cabinets": (0.4, 0.0, 40, 450),
    "chairs": (0.7, 0.3, 25, 350),
    "tractors": (0.4, 0.8, 50, 550),
    "pumps": (0.8, 0.2, 18, 250),
}
CLEANING = {"water": (1.0, 0.0), "thinner": (0.7, 3.0)}  # relative cleaning time, cost per cleaning


def price(order: list[str], speed: float, solvent: str) -> float:
    """The cost of a day: minutes on the line, delays, rework and solvent."""
    factor, fee = CLEANING[solvent]
    clock, cost = 0.0, 0.0
    for before, job in pairwise([None, *order]):
        dark, red, area, due = JOBS[job]
        if before:
            dark_before, red_before, *_ = JOBS[before]
            lighter = max(0.0, dark_before - dark)
            clock += factor * (5 + 40 * lighter + 25 * abs(red - red_before))
            cost += fee
        clock += area / speed
        cost += 2 * max(0.0, clock - due) + area * (speed - 0.8) ** 2
    return cost + clock


# %% [markdown]
# ## The study
#
# `suggest_permutation` complements `suggest_float` and `suggest_categorical` of Optuna, and works with every sampler. The
# benches must be painted before the railings that they are mounted on.


# %%
def objective(trial: optuna.Trial) -> float:
    """The cost of a day with the parameters of a trial."""
    order = suggest_permutation(trial, "order", list(JOBS), before=[("benches", "railings")])
    return price(order, trial.suggest_float("speed", 0.5, 2.0), trial.suggest_categorical("solvent", list(CLEANING)))


SAMPLERS = {
    "random": lambda seed: optuna.samplers.RandomSampler(seed=seed),
    "TPE": lambda seed: optuna.samplers.TPESampler(seed=seed, n_startup_trials=INITIAL),
    "PermutationSampler": lambda seed: PermutationSampler(seed=seed, n_startup_trials=INITIAL),
}
studies: dict[str, list[optuna.Study]] = {}
print(f"{len(JOBS)} jobs, {TRIALS} trials for each sampler, {INITIAL} of them random, seeds 0 to {arguments.seeds - 1}")
for name, make in SAMPLERS.items():
    studies[name] = []
    for seed in range(arguments.seeds):
        study = optuna.create_study(sampler=make(seed))
        study.optimize(objective, n_trials=TRIALS)
        studies[name].append(study)
    ends = [study.best_value for study in studies[name]]
    print(f"  {name:20}{' '.join(f'{end:.0f}' for end in ends)}   mean {np.mean(ends):.0f}")

best = min(studies["PermutationSampler"], key=lambda study: study.best_value)
print(f"\nbest order: {', '.join(best.best_trial.user_attrs['order'])}")
print(f"at speed {best.best_params['speed']:.2f} with {best.best_params['solvent']}")

# %% [markdown]
# With seeds 0 to 4 the best days cost 547 on average with `PermutationSampler`, 694 with TPE and 778 at random, and
# `PermutationSampler` is ahead with three of five seeds. It has its own initial design; TPE starts with the trials of the
# random sampler.
#
# ## What was learned
#
# The sampler is stateless: its model is built from the trials of the study at any time.

# %%
explanation = best.sampler.optimizer(best).explain()
print(f"\n{explanation}")

# %% [markdown]
# ## The figure

# %%
COLOURS = {"random": "0.6", "TPE": "tab:blue", "PermutationSampler": "tab:green"}
with plt.rc_context(STYLE):
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    for name, made in studies.items():
        curves = np.minimum.accumulate([[trial.value for trial in study.trials] for study in made], axis=1)
        axes.plot(curves.T, color=COLOURS[name], alpha=0.4, linewidth=1)
        axes.plot(curves.mean(axis=0), color=COLOURS[name], linewidth=2.5, label=name)
    axes.axvline(INITIAL - 0.5, color="0.85", zorder=0)
    axes.set(xlabel="trials", ylabel="lowest cost so far", title="each study (thin) and the mean (thick)")
    axes.legend()
if arguments.out:
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(arguments.out)
