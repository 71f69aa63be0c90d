"""Responses: labels, of which only equality counts, or quantities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.labels import as_array, as_labels
from ldr.objectives.kernels import (
    as_response,
    gaussian_gram,
    incomplete_factor,
    is_categorical,
    median_distance,
)
from ldr.solvers.errors import DataError
from ldr.solvers.linalg.symmetric import full_factor
from ldr.solvers.manifolds import Array

KINDS = ("auto", "labels", "quantity")


@dataclass(frozen=True, eq=False)
class Response:
    """The response of n samples: codes of labels, or values.

    Attributes
    ----------
    codes : ndarray of int (n,), or None
        Of labels, 0, 1, ...
    values : ndarray (n, q)
        Of quantities; of labels, one column an indicator of each.
    weights : ndarray (n,) or None
        Of the samples.
    notes : list of str
        What was guessed.
    """

    codes: np.ndarray | None
    values: Array
    weights: Array | None = None
    notes: Sequence[str] = ()

    @classmethod
    def of(
        cls, y: npt.ArrayLike, n: int, kind: str = "auto", weights: Array | None = None
    ) -> Response:
        """`kind` "auto" takes strings, booleans and at most 20 whole numbers for labels."""
        if kind == "quantity" or (kind == "auto" and not is_categorical(y)):
            return cls(None, as_response(y, n), weights)
        codes, classes = as_labels(y, n, smallest_class=1)
        guessed = kind == "auto" and as_array(y).dtype.kind in "iu"
        note = (
            f"y has {len(classes)} distinct whole numbers, which are read as labels; "
            "response='quantity' reads them as numbers"
        )
        return cls(codes, np.eye(len(classes))[codes], weights, [note] if guessed else [])

    def gram(self, width: float | None) -> Array:
        """The Gram matrix, n x n: of labels, 1 where two are equal; else of a Gaussian kernel."""
        if self.codes is not None:
            return self.values @ self.values.T
        return gaussian_gram(self.values, self._width(width))

    def factor(self, width: float | None, rank: int | None) -> tuple[Array, float]:
        """Z (n x p) with centred columns, ZZ' the centred Gram matrix; the share of trace left out.

        As of `features`.
        """
        Z, left_out = self.features(width, rank)
        return Z - np.average(Z, axis=0, weights=self.weights), left_out

    def features(self, width: float | None, rank: int | None) -> tuple[Array, float]:
        """Z (n x p) with ZZ' the Gram matrix; the share of its trace that is left out.

        To rounding where `rank` is None; else p <= rank and the n x n matrix is never formed.
        """
        if self.codes is not None:
            Z, left_out = self.values, 0.0
        elif rank is None:
            Z, left_out = full_factor(self.gram(width)), 0.0
        else:
            Z = incomplete_factor(self.values, self._width(width), rank)
            left_out = 1.0 - float(np.vdot(Z, Z)) / len(Z)
        return Z, left_out

    def _width(self, width: float | None) -> float:
        sigma = width or median_distance(self.values, self.weights)
        if sigma == 0 or not math.isfinite(sigma):
            raise DataError(
                "y has more than half of its values equal; give response_width= a value"
            )
        return sigma
