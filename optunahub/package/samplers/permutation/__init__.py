"""Permutations in Optuna, sampled by mergebo."""

from mergebo.integrations.optuna import PermutationSampler, permutation_params, suggest_permutation

__all__ = ["PermutationSampler", "permutation_params", "suggest_permutation"]
