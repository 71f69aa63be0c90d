"""scikit-learn estimators: `Reducer` for any objective, and an estimator for every method.

The named ones are made from the objectives' own fields, so that a new method has its estimator
without a line here; `inspect.signature` has its parameters.
"""

from typing import TYPE_CHECKING, Any

from ldr.estimators.base import Projection
from ldr.estimators.named import ESTIMATORS, Reducer

globals().update({estimator.__name__: estimator for estimator in ESTIMATORS.values()})

__all__ = [
    "ESTIMATORS",
    "Projection",
    "Reducer",
    *(estimator.__name__ for estimator in ESTIMATORS.values()),
]

if TYPE_CHECKING:  # the named ones

    def __getattr__(name: str) -> Any: ...
