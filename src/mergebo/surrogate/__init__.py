"""Building, fitting and reading a Gaussian process over orders and mixed points."""

from mergebo.surrogate.gp import GP, Hyperparameters, fit
from mergebo.surrogate.similarity import ByMap, Footrule, Product, SameChoices, SameSlots, Similarity

__all__ = ["GP", "ByMap", "Footrule", "Hyperparameters", "Product", "SameChoices", "SameSlots", "Similarity", "fit"]
