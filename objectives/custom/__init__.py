"""Objectives of the user's own: a function of M and the data becomes an Objective."""

from ldr.objectives.custom.compiling import compilations
from ldr.objectives.custom.function import CustomObjective, objective
from ldr.objectives.custom.problem import CustomPoint, CustomProblem, FunctionTerm, SummedProblem
from ldr.objectives.custom.verify import INVARIANCE_TOLERANCE, invariance_error, random_orthogonal

__all__ = [
    "INVARIANCE_TOLERANCE",
    "CustomObjective",
    "CustomPoint",
    "CustomProblem",
    "FunctionTerm",
    "SummedProblem",
    "compilations",
    "invariance_error",
    "objective",
    "random_orthogonal",
]
