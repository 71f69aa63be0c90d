"""Symmetric matrices that are known by their products, made of others."""

from __future__ import annotations

import numpy as np

from ldr.objectives.statistics.products import Form
from ldr.solvers.linalg.krylov import SymmetricOperator
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass


@dataclass(frozen=True, eq=False)
class Plus:
    """s S + diag, in columns that are divided by a scale."""

    S: SymmetricOperator
    factor: float = 1.0
    diagonal: Array | float = 0.0
    scale: Array | None = None

    def __matmul__(self, V: Array) -> Array:
        scale = None if self.scale is None else self.scale[:, None]
        V = V if scale is None else scale * V
        found = self.S @ V
        found *= self.factor
        found += np.reshape(self.diagonal, (-1, 1)) * V
        if scale is not None:
            found *= scale
        return found


@dataclass(frozen=True, eq=False)
class Product:
    """UU'."""

    U: Array

    def __matmul__(self, V: Array) -> Array:
        return self.U @ (self.U.T @ V)


@dataclass(frozen=True, eq=False)
class Coupled:
    """[[0, K], [K', 0]]."""

    K: Form

    def __matmul__(self, V: Array) -> Array:
        ka, found = self.K.shape[0], np.empty_like(V)
        found[:ka], found[ka:] = self.K @ V[ka:], self.K.T @ V[:ka]
        return found


@dataclass(frozen=True, eq=False)
class Apart:
    """[[Saa, 0], [0, Sbb]]."""

    ka: int
    aa: SymmetricOperator
    bb: SymmetricOperator

    def __matmul__(self, V: Array) -> Array:
        found = np.empty_like(V)
        found[: self.ka], found[self.ka :] = self.aa @ V[: self.ka], self.bb @ V[self.ka :]
        return found


@dataclass(frozen=True, eq=False)
class Less:
    """One matrix less another."""

    first: SymmetricOperator
    second: SymmetricOperator

    def __matmul__(self, V: Array) -> Array:
        found = self.first @ V
        found -= self.second @ V
        return found


class Identity:
    """What leaves vectors alone."""

    def __matmul__(self, V: Array) -> Array:
        return V.copy()
