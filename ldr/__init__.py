"""Linear dimensionality reduction as a black-box numerical technology.

>>> import numpy as np, ldr
>>> X = np.random.default_rng(0).standard_normal((100, 5))
>>> ldr.solve("pca", X, r=2).certificate.kind
'global'
"""

from ldr import errors, objectives, solvers
from ldr.checking import Check, check
from ldr.objectives.custom import objective
from ldr.objectives.kernel import kernel
from ldr.result import Result
from ldr.solving import solve

__version__ = "0.1.0"

__all__ = [
    "Check",
    "Result",
    "check",
    "errors",
    "kernel",
    "objective",
    "objectives",
    "solve",
    "solvers",
]
