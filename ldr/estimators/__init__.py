"""scikit-learn estimators: `Reducer` for any objective, and one for every registry method.

The named ones are made from the objectives' own fields, so that a new method has its estimator
without a line here. `__init__.pyi` tells type checkers and editors their signatures; it is written
by ``python -m ldr.estimators.stub``.
"""

from ldr.estimators.base import Projection
from ldr.estimators.named import ESTIMATORS
from ldr.estimators.reducer import Reducer

globals().update({estimator.__name__: estimator for estimator in ESTIMATORS.values()})

__all__ = [
    "ESTIMATORS",
    "Projection",
    "Reducer",
    *(estimator.__name__ for estimator in ESTIMATORS.values()),
]
