"""Explanations of results: the structure that they support and its effects, in words."""

from mergebo.explain.report import Effect, Explanation, explain

__all__ = ["Effect", "Explanation", "explain"]
