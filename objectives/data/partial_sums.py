"""Sums over blocks of rows that come one at a time, and need not be kept."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from ldr.objectives.data.samples import Beside, Merge, Samples, Term
from ldr.solvers.errors import ArgumentError
from ldr.solvers.records import dataclass, field, replace

# The total of each term, by the term and its merge.
Totals = dict[bytes, Any]


@dataclass(frozen=True, eq=False)
class AccumulatedSamples(Samples):
    """A block of rows, whose sums are those of all blocks so far.

    An objective that knows its data by sums alone cannot tell them from samples of all rows. Their
    number is taken from the sums; `n` is that of this block, as is the length of its labels.

    Attributes
    ----------
    before : dict
        Totals of the blocks before; empty for the first. Not changed.
    totals : dict
        With this block: what was asked for by now.
    """

    repeatable = False
    n_known = False

    block: Samples = field(kw_only=True)
    before: Totals = field(kw_only=True)
    totals: Totals = field(default_factory=dict, kw_only=True)

    @classmethod
    def of(cls, block: Samples, before: Totals) -> AccumulatedSamples:
        return cls(
            block.array,
            block.feature_names,
            block.name,
            marks=block.marks,
            block=block,
            before=before,
        )

    def reduce(self, term: Callable[..., Term], merge: Merge[Term], *beside: Beside) -> Term:
        """The sum over all blocks so far."""
        blocks = (
            other.block if isinstance(other, AccumulatedSamples) else other for other in beside
        )
        block = replace(self.block, accelerator=self.accelerator, marks=self.marks)
        total = block.reduce(term, merge, *blocks)
        key = pickle.dumps((term, merge))
        if self.before:
            if key not in self.before:
                raise ArgumentError(
                    "this objective needs all rows at once: its sums over a block depend on the "
                    "blocks before"
                )
            total = merge(deepcopy(self.before[key]), total)
        self.totals[key] = total
        return total
