"""Explanations of results: the structure that they support and its effects, in words."""

from mergebo.explain.effects import Effect, EffectGroup, VariableEffects, effects_of
from mergebo.explain.report import Explanation, explain

__all__ = ["Effect", "EffectGroup", "Explanation", "VariableEffects", "effects_of", "explain"]
