"""scikit-learn estimators: `Reducer` for any objective, and an estimator for every method.

The named estimators are generated from the fields of the objectives. `inspect.signature` shows the
parameters of an estimator.
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

if TYPE_CHECKING:  # type checkers cannot see the estimators, which are generated

    def __getattr__(name: str) -> Any: ...
