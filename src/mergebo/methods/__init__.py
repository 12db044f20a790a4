"""Optimization methods: what proposes the next point, given the results so far."""

from mergebo.methods.auto import Auto
from mergebo.methods.base import BatchMethod, History, Method
from mergebo.methods.baselines import Genetic, LocalSearch, RandomSearch
from mergebo.methods.bayesian import Bayesian
from mergebo.methods.dataset import Dataset
from mergebo.methods.embedding import EmbeddingModels
from mergebo.methods.models import KernelModel, ModelBuilder
from mergebo.methods.registry import METHODS, MethodInfo, make_method, register
from mergebo.methods.search import AcquisitionSearch, NeighbourhoodSearch, RelaxationSearch, ThompsonSampling
from mergebo.methods.single_kernel import (
    SingleKernel,
    footrule_kernel,
    mallows_kernel,
    merge_kernel,
    random_kernel,
    slot_kernel,
)
from mergebo.methods.structures import STRUCTURES, Structure, StructureModels
from mergebo.methods.turbo import Turbo

__all__ = [
    "METHODS",
    "STRUCTURES",
    "AcquisitionSearch",
    "Auto",
    "BatchMethod",
    "Bayesian",
    "Dataset",
    "EmbeddingModels",
    "Genetic",
    "History",
    "KernelModel",
    "LocalSearch",
    "Method",
    "MethodInfo",
    "ModelBuilder",
    "NeighbourhoodSearch",
    "RandomSearch",
    "RelaxationSearch",
    "SingleKernel",
    "Structure",
    "StructureModels",
    "ThompsonSampling",
    "Turbo",
    "footrule_kernel",
    "make_method",
    "mallows_kernel",
    "merge_kernel",
    "random_kernel",
    "register",
    "slot_kernel",
]
