"""A short round tour in Ax, with trials proposed by mergebo. Needs `pip install ax-platform`.

Ax has integer parameters but no permutations: an order is encoded by its Lehmer digits, and the node below decodes them.
"""

from __future__ import annotations

import numpy as np
from ax.api.client import Client
from ax.api.configs import RangeParameterConfig
from ax.generation_strategy.external_generation_node import ExternalGenerationNode
from ax.generation_strategy.generation_strategy import GenerationStrategy

import mergebo as mb

cities = np.random.default_rng(0).random((12, 2))
n = len(cities)


def to_order(parameters):
    """The order with these Lehmer digits; the last digit is always 0 and needs no parameter."""
    return mb.permutations.lehmer_decode([*(parameters[f"x{k}"] for k in range(n - 1)), 0])


class OrderNode(ExternalGenerationNode):
    """Proposes orders with mergebo, from the data of the experiment alone."""

    def __init__(self, **options) -> None:
        super().__init__(name="mergebo")
        self.options = options

    def update_generator_state(self, experiment, data) -> None:
        """Report all observations to an optimiser."""
        self.opt = mb.Optimizer(mb.PermutationSpace(n), seed=len(experiment.trials), **self.options)
        values = dict(zip(data.df["arm_name"], data.df["mean"], strict=True))
        for name, arm in experiment.arms_by_name.items():
            if name in values:
                self.opt.tell(self.opt.attach(to_order(arm.parameters)), values[name])

    def get_next_candidate(self, pending_parameters):
        """The next order, as digits."""
        for parameters in pending_parameters:
            self.opt.attach(to_order(parameters))
        digits = mb.permutations.lehmer_encode(self.opt.ask().point)
        return {f"x{k}": int(digit) for k, digit in enumerate(digits[:-1])}


def main() -> None:
    """Run forty trials, the first fifteen of them random."""
    client = Client()
    client.configure_experiment(
        parameters=[RangeParameterConfig(name=f"x{k}", bounds=(0, n - 1 - k), parameter_type="int") for k in range(n - 1)]
    )
    client.configure_optimization(objective="-length")
    client.set_generation_strategy(GenerationStrategy(nodes=[OrderNode(initial=15)]))
    for _ in range(40):
        for index, parameters in client.get_next_trials(max_trials=1).items():
            tour = to_order(parameters)
            length = float(np.linalg.norm(cities[tour] - cities[np.roll(tour, 1)], axis=1).sum())
            client.complete_trial(index, raw_data={"length": length})
    print(client.get_best_parameterization(use_model_predictions=False)[1])


if __name__ == "__main__":
    main()
