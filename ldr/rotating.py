"""Coordinates of a result turned to a simple structure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np

from ldr.components import Directions
from ldr.doors import in_words
from ldr.objectives.coordinates import signs
from ldr.objectives.objective import Objective
from ldr.rotation import OBLIQUE, ROTATIONS
from ldr.solvers.checks import choice
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.types import PerView

if TYPE_CHECKING:
    from ldr.objectives.factor_model import FactorModel


class Rotates:
    """A result whose coordinates can be rotated."""

    M: PerView
    P: PerView
    parameters: dict[str, float | Array]
    notes: tuple[str, ...]
    objective: Objective
    model: FactorModel | None
    directions: Directions

    @in_words
    def rotate(self, method: str) -> Self:
        """The same solution in coordinates for which M has few large entries in every column.

        With loadings M of coordinates y, x = mean + My: they become M T^{-T}, and y becomes T'y.
        Of fa and ppca M are the loadings of the model, which is turned too. Of two views both are
        turned by one T, from both their M.

        Parameters
        ----------
        method : {"varimax", "quartimax", "promax", "oblimin"}
            varimax and quartimax are orthogonal: the value stays. promax and oblimin are oblique:
            coordinates are correlated (`correlations`), and M is no longer orthonormal.

        Returns
        -------
        Result
            Columns by their sums of squares, of orthonormal M by the variance of the coordinate.

        Raises
        ------
        ldr.errors.ArgumentError
            The value depends on the columns of M, or the method is unknown.
        """
        choice("method", method, tuple(ROTATIONS))
        oblique = method in OBLIQUE
        views = isinstance(self.P, tuple)
        if not self.directions.free or (oblique and views):
            why = "two views are rotated together" if views else "its columns have a meaning"
            raise ArgumentError(
                f"the result of {self.objective.name} cannot be rotated by {method!r}: {why}, and "
                "another M of the same span has another value"
            )
        blocks, maps = (A if views else (A,) for A in (self.M, self.P))
        T = self._in_order(ROTATIONS[method](np.vstack(blocks)), blocks, maps)
        back = np.linalg.inv(T).T
        M, P = tuple(M @ back for M in blocks), tuple(T.T @ P for P in maps)
        seen = tuple(one and one.turned(T) for one in self.directions.variations)
        own = {"sum_of_squares": np.sum(M[0] ** 2, axis=0)} if self.model is not None else {}
        r = len(T)
        return replace(  # type: ignore[type-var]
            self,
            M=M if views else M[0],
            P=P if views else P[0],
            model=self.model and self.model.turned(T, oblique),
            parameters={
                name: T.T @ value @ back
                if isinstance(value, np.ndarray) and value.shape == (r, r)
                else value
                for name, value in self.parameters.items()
            },
            directions=Directions(
                own, seen, self.directions.orthonormal and not oblique, free=not oblique
            ),
            notes=(*self.notes, f"coordinates rotated by {method}"),
        )

    def _in_order(self, T: Array, blocks: tuple[Array, ...], maps: tuple[Array, ...]) -> Array:
        """Columns by what they explain, with the signs that the maps ask for."""
        if self.model is not None:
            explained = np.sum((blocks[0] @ np.linalg.inv(T).T) ** 2, axis=0)
        else:
            seen = [one for one in self.directions.variations if one is not None]
            explained = sum((one.turned(T).variances for one in seen), np.zeros(len(T)))
        T = T[:, np.argsort(-explained, kind="stable")]
        return T * signs(T.T @ maps[0])
