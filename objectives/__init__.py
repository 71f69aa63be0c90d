"""Objectives (immutable dataclasses of parameters) and the registry of objectives.

The methods are listed in `__init__.pyi`; a method's module is imported when the method is first
used. Estimators, documentation and tests read the registry.
"""

from ldr.objectives import registry
from ldr.objectives.data.data import Data as Data
from ldr.objectives.objective import Objective as Objective
from ldr.objectives.objective import Sum as Sum
from ldr.objectives.parameters import Traits as Traits
from ldr.objectives.problem import BoundObjective as BoundObjective
from ldr.objectives.problem import Certificate as Certificate
from ldr.objectives.registry import REGISTRY as REGISTRY
from ldr.objectives.registry import RENAMED_CLASSES, current_class
from ldr.objectives.registry import named as named

list = registry.list_objectives


def __getattr__(name: str) -> object:
    if name not in registry.PAGES and name not in RENAMED_CLASSES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return registry.method(current_class(name))


def __dir__() -> object:
    return sorted({*globals(), *registry.PAGES})
