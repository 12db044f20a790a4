"""Orders in Optuna, by mergebo."""

from mergebo.integrations.optuna import PermutationSampler, permutation_params, suggest_permutation

__all__ = ["PermutationSampler", "permutation_params", "suggest_permutation"]
