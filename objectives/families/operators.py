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

    @property
    def shape(self) -> tuple[int, ...]:
        return self.S.shape

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

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.U), len(self.U)

    def __matmul__(self, V: Array) -> Array:
        return self.U @ (self.U.T @ V)


@dataclass(frozen=True, eq=False)
class Coupled:
    """[[0, K], [K', 0]]."""

    K: Form

    @property
    def shape(self) -> tuple[int, int]:
        return sum(self.K.shape), sum(self.K.shape)

    def __matmul__(self, V: Array) -> Array:
        ka, found = self.K.shape[0], np.empty_like(V)
        found[:ka], found[ka:] = self.K @ V[ka:], self.K.T @ V[:ka]
        return found


@dataclass(frozen=True, eq=False)
class Apart:
    """[[Saa, 0], [0, Sbb]]."""

    aa: SymmetricOperator
    bb: SymmetricOperator

    @property
    def shape(self) -> tuple[int, int]:
        k = self.aa.shape[0] + self.bb.shape[0]
        return k, k

    def __matmul__(self, V: Array) -> Array:
        ka, found = self.aa.shape[0], np.empty_like(V)
        found[:ka], found[ka:] = self.aa @ V[:ka], self.bb @ V[ka:]
        return found


@dataclass(frozen=True, eq=False)
class Less:
    """One matrix less another."""

    first: SymmetricOperator
    second: SymmetricOperator

    @property
    def shape(self) -> tuple[int, ...]:
        return self.first.shape

    def __matmul__(self, V: Array) -> Array:
        found = self.first @ V
        found -= self.second @ V
        return found


class Identity:
    """What leaves vectors alone."""

    def __init__(self, k: int) -> None:
        self.shape = k, k

    def __matmul__(self, V: Array) -> Array:
        return V.copy()
