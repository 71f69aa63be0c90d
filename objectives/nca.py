"""Neighbourhood components analysis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.families.batches import in_batches
from ldr.objectives.families.labelled_pairs import LabelledPairs, LabelledRows
from ldr.objectives.families.pairwise import PairwisePoint
from ldr.objectives.families.row_sum import in_pieces
from ldr.objectives.objective import Objective
from ldr.objectives.problem import BoundObjective
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class NCA(Objective):
    """Classify by soft neighbours: max sum_i p_i, p_i = sum over j of i's class of p_ij, any M.

    p_ij = exp(-||M'(x_i - x_j)||^2) / sum_{l != i} exp(-||M'(x_i - x_l)||^2) and p_ii = 0: the
    expected number of rows that a random neighbour classifies rightly. The scale of M matters, its
    rotation does not. Where nearest neighbours in the projection make no mistake, a larger M is
    better without end, towards n. P = M'. There are local optima. An evaluation takes O(n^2 r)
    time, memory is O(n (d + r)). The heuristic is lda with unit variance within classes.

    Source: Goldberger, Roweis, Hinton and Salakhutdinov 2004; Cunningham and Ghahramani 2015.
    """

    name = "nca"
    formula = "max sum_i sum_{j: z_j = z_i} p_ij, p_i = softmax_j(-||M'(x_i - x_j)||^2)"
    source = "Goldberger, Roweis, Hinton & Salakhutdinov 2004; Cunningham & Ghahramani 2015"
    sense = "max"
    needs = ("labels",)
    baseline = "lda, unit variance within classes"
    sparse = False
    domain = "R"

    def bind(self, data: Data, r: int) -> BoundObjective:
        if in_pieces(data.samples):
            return in_batches(self, data, r, smallest_class=2)
        rows = LabelledRows.of(data, self)
        return SoftNeighbours(
            self,
            (rows.view,),
            rows.X,
            r,
            rows.lengths,
            rows.boundaries,
        )


class SoftNeighbourPoint(PairwisePoint):
    """phi = -sum_i p_i, with c_ij = 1 where classes agree.

    W_ij = (c_ij - p_i) p_ij, because dp_ij = (e_i - dD_ij) p_ij with e_i = sum_l p_il dD_il. Hence
    dW_ij = (c_ij - p_i) dp_ij - p_ij dp_i.
    """

    def __init__(self, problem: SoftNeighbours, M: Array) -> None:
        super().__init__(problem, M)
        self._problem = problem

    def _neighbours(self, rows: slice, D: Array) -> tuple[Array, Array, slice]:
        """p_ij, p_i and the columns of the rows' class.

        The nearest neighbour's term is exp(0) = 1, so that the sum never underflows.
        """
        own = self._problem.own(rows)
        D[np.arange(len(D)), np.arange(rows.start, rows.stop)] = np.inf
        P = np.exp(D.min(axis=1)[:, None] - D)
        P /= P.sum(axis=1)[:, None]
        return P, P[:, own].sum(axis=1), own

    def weights(self, rows: slice, D: Array) -> tuple[float, Array]:
        P, p, own = self._neighbours(rows, D)
        return -float(p.sum()), _agreeing(P, p, own)

    def weights_change(self, rows: slice, D: Array, dD: Array) -> tuple[Array, Array]:
        P, p, own = self._neighbours(rows, D)
        dP = P * (np.einsum("ij,ij->i", P, dD)[:, None] - dD)
        dp = dP[:, own].sum(axis=1)
        return _agreeing(P, p, own), _agreeing(dP, p, own) - dp[:, None] * P


def _agreeing(P: Array, p: Array, own: slice) -> Array:
    """(c_ij - p_i) P_ij."""
    W = -p[:, None] * P
    W[:, own] += P[:, own]
    return W


@dataclass
class SoftNeighbours(LabelledPairs):
    """Neighbourhood components analysis over all matrices."""

    def at(self, M: Array) -> SoftNeighbourPoint:
        return SoftNeighbourPoint(self, M)
