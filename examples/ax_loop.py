"""A short round tour in Ax, whose trials mergebo chooses. Needs `pip install ax-platform`.

Ax has integers but no orders: an order is held by its Lehmer digits, and the node below puts them together again.
"""

from __future__ import annotations

import numpy as np
from ax.api.client import Client
from ax.api.configs import RangeParameterConfig
from ax.generation_strategy.external_generation_node import ExternalGenerationNode
from ax.generation_strategy.generation_strategy import GenerationStrategy

import mergebo as mb

places = np.random.default_rng(0).random((12, 2))
n = len(places)


def to_order(parameters):
    """The order that Lehmer digits hold; the last digit, always 0, is no parameter."""
    return mb.permutations.lehmer_decode([*(parameters[f"x{k}"] for k in range(n - 1)), 0])


class OrderNode(ExternalGenerationNode):
    """Chooses orders with mergebo, and knows nothing but what the experiment knows."""

    def __init__(self, **options) -> None:
        super().__init__(name="mergebo")
        self.options = options

    def update_generator_state(self, experiment, data) -> None:
        """Tell an optimiser all results."""
        self.opt = mb.Optimizer(mb.PermutationSpace(n), seed=len(experiment.trials), **self.options)
        values = dict(zip(data.df["arm_name"], data.df["mean"], strict=True))
        for name, arm in experiment.arms_by_name.items():
            if name in values:
                self.opt.tell(self.opt.begin(to_order(arm.parameters)), values[name])

    def get_next_candidate(self, pending_parameters):
        """The next order, as digits."""
        for parameters in pending_parameters:
            self.opt.begin(to_order(parameters))
        digits = mb.permutations.lehmer_encode(self.opt.ask().point)
        return {f"x{k}": int(digit) for k, digit in enumerate(digits[:-1])}


def main() -> None:
    """Forty trials, of which the first fifteen are random."""
    client = Client()
    client.configure_experiment(
        parameters=[RangeParameterConfig(name=f"x{k}", bounds=(0, n - 1 - k), parameter_type="int") for k in range(n - 1)]
    )
    client.configure_optimization(objective="-length")
    client.set_generation_strategy(GenerationStrategy(nodes=[OrderNode(initial=15)]))
    for _ in range(40):
        for index, parameters in client.get_next_trials(max_trials=1).items():
            tour = to_order(parameters)
            length = float(np.linalg.norm(places[tour] - places[np.roll(tour, 1)], axis=1).sum())
            client.complete_trial(index, raw_data={"length": length})
    print(client.get_best_parameterization(use_model_predictions=False)[1])


if __name__ == "__main__":
    main()
