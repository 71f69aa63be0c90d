from . import errors, objectives, observers, plots, solvers
from .checking import Check, check
from .objectives.custom import objective
from .result import Result
from .solving import solve

__all__ = [
    "Check",
    "Result",
    "check",
    "errors",
    "objective",
    "objectives",
    "observers",
    "plots",
    "solve",
    "solvers",
]

__version__: str
