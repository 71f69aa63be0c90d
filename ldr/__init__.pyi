from . import errors, objectives, observers, plots, solvers
from .checking import Check, check
from .objectives.custom import objective
from .objectives.kernel import kernel
from .objectives.l1 import l1
from .objectives.normalised import normalised
from .regularisation import RegularisationPath, regularisation_path
from .result import Result
from .solving import solve

__all__ = [
    "Check",
    "RegularisationPath",
    "Result",
    "check",
    "errors",
    "kernel",
    "l1",
    "normalised",
    "objective",
    "objectives",
    "observers",
    "plots",
    "regularisation_path",
    "solve",
    "solvers",
]

__version__: str
