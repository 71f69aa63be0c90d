"""Nested projections: one M whose first columns serve too, for several dimensions at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ldr.objectives.objective import Objective
from ldr.solvers.checks import number, whole
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass, field

# Levels whose weights are farther apart are lost beside the others, in the value and its gradient.
_FARTHEST = 1e8


@dataclass(frozen=True)
class NestedMethod(Objective):
    """Base of the trace ratios, whose best subspaces of several dimensions are not nested.

    With levels r_1 < ... < r_K = r of weights w_k the value is that of all levels together,
    sum_k w_k tr(M_k'AM_k) / sum_k w_k tr(M_k'BM_k), M_k the first r_k columns of M. A result's
    parameters have the ratio at each level, and beside it the optimum of that level alone: the
    price of nesting.

    Source: Szwagier and Pennec 2025.

    Attributes
    ----------
    sibling : str
        The method of the same matrices that counts every direction alike.

    Parameters
    ----------
    nested : bool, sequence of int, or dict of int to float
        The dimensions that the first columns of M are to serve: True for all from 1 to r; or some,
        the largest of them r; or a weight for each.
    """

    sibling: ClassVar[str]

    nested: Any = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "nested", _levels(self.nested))
        if self.nested:
            named = "1, ..., r" if self.nested is True else ", ".join(map(str, self.nested))
            formula = f"{self.formula}, each trace summed over the levels {named}"
            vars(self).update(domain="St", formula=formula)

    def column_weights(self, r: int) -> Array:
        """v_j, the sum of the weights of all levels r_k >= j, in units of v_1."""
        if not self.nested:
            return np.ones(r)
        levels = range(1, r + 1) if self.nested is True else self.nested
        if max(levels) != r:
            raise ArgumentError(
                f"nested = {self.nested!r} has the largest level {max(levels)}, expected r = {r}"
            )
        steps = np.zeros(r)
        for level in levels:
            steps[level - 1] = levels[level] if isinstance(levels, dict) else 1.0
        sums = np.cumsum(steps[::-1] / steps.max())[::-1]
        return sums / sums[0]


def _levels(nested: Any) -> Any:
    """True or False; levels in order, as a tuple; or a dict of levels in order and weights."""
    if isinstance(nested, (bool, np.bool_)):
        return bool(nested)
    several = isinstance(nested, (Mapping, Sequence, np.ndarray)) and not isinstance(nested, str)
    if not several or np.ndim(nested) > 1 or len(nested) == 0:
        raise ArgumentError(
            "nested must be True or False, different whole numbers such as (1, 2, 5), or weights "
            f"of such numbers {{1: 2.0, 5: 1.0}}, got {nested!r}"
        )
    levels = sorted(whole("each level of nested", level, 1) for level in nested)
    if len(set(levels)) < len(levels):
        raise ArgumentError(f"nested must be different whole numbers, got {nested!r}")
    if not isinstance(nested, Mapping):
        return tuple(levels)
    weights = {k: number("each weight of nested", nested[k], positive=True) for k in levels}
    if not max(weights.values()) <= _FARTHEST * min(weights.values()):
        raise ArgumentError(
            f"the weights of nested must be within a factor of {_FARTHEST:.0e}, got {nested!r}: "
            "beyond it the least of them counts for nothing"
        )
    return weights
