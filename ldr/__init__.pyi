from . import errors, objectives, observers, plots, solvers
from .checking import Check, check
from .objectives.custom import objective
from .objectives.kernel import kernel
from .result import Result
from .solving import solve

__all__ = [
    "Check",
    "Result",
    "check",
    "errors",
    "kernel",
    "objective",
    "objectives",
    "observers",
    "plots",
    "solve",
    "solvers",
]

__version__: str
