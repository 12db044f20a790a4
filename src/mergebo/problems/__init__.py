"""Benchmark problems over permutations with exact objectives, known optima and random relabelling."""

from mergebo.problems.base import Optimum, OrderProblem, Problem, Relabelled
from mergebo.problems.layout import CellPlacement, FloorPlan
from mergebo.problems.linear_ordering import LOP
from mergebo.problems.loaders import read_qaplib, read_qaplib_solution, read_tour, read_tsplib, read_ttp
from mergebo.problems.order_of_addition import OrderOfAddition, Synthesis
from mergebo.problems.qap import QAP
from mergebo.problems.registry import available, get
from mergebo.problems.scheduling import FlowShop
from mergebo.problems.tsp import TSP
from mergebo.problems.ttp import TTP

__all__ = [
    "LOP",
    "QAP",
    "TSP",
    "TTP",
    "CellPlacement",
    "FloorPlan",
    "FlowShop",
    "Optimum",
    "OrderOfAddition",
    "OrderProblem",
    "Problem",
    "Relabelled",
    "Synthesis",
    "available",
    "get",
    "read_qaplib",
    "read_qaplib_solution",
    "read_tour",
    "read_tsplib",
    "read_ttp",
]
