"""Methods as functions of the projected rows, for jax to differentiate.

A method of matrices that are quadratic in the rows (`Objective.matrices`) is one of those of the
rows XT, r x r: with T = P' it needs neither the d x d matrices nor their derivatives. What a
formula says is held against the method's own optimum wherever it is used: there its equations must
vanish.

The implicit function theorem in jax: equations of an optimum T(X), and their derivative.

With the gradient G of f at T and T'BT = I for each view, the equations are G - BT sym(T'G) = 0 off
the axes, T'BT = I, and in place of what turns of the axes leave open, the off-diagonal of the
matrix that canonical coordinates diagonalise. As many as T has entries, they are solved at once,
in O((d r)^3) time and O((d r)^2) memory; jax transposes, compiles and batches that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ldr.objectives.custom.function import CustomObjective
from ldr.objectives.data.accelerator import float64
from ldr.objectives.data.data import UnknownError
from ldr.objectives.families.matrices import DataSums, MovingKernel, by_links_of_pairs
from ldr.objectives.families.trace_ratio import NestedMethod
from ldr.objectives.objective import Objective
from ldr.sensitivity.products import TRACED, Ratio
from ldr.solvers.errors import DataError, SingularError
from ldr.solvers.manifolds import Array

# A traced array of jax's.
Traced = Any


@dataclass(frozen=True)
class Given:
    """What a method is given.

    Attributes
    ----------
    X : sequence of arrays (n, d)
        The views; of methods of a background, samples and background.
    y : array (n,) or None
    parameters : mapping of str to numbers
    """

    X: Sequence[Traced]
    y: Traced = None
    parameters: Mapping[str, Traced] = field(default_factory=dict)

    def through(self, T: Sequence[Traced]) -> Given:
        """XT of each view; of a background with the samples' T."""
        X = [X @ T[min(i, len(T) - 1)] for i, X in enumerate(self.X)]
        return Given(X, self.y, self.parameters)


class TracedRows:
    """Sums over the rows of a view."""

    trials = weights = None

    def __init__(self, X: Traced, mean: Traced = None) -> None:
        self.n = self.count = len(X)
        self.mean = X.mean(axis=0) if mean is None else mean
        self.X = X - self.mean

    def about(self, shares: Array) -> TracedRows:
        X = self.X + self.mean
        return TracedRows(X, shares @ X)

    @property
    def about_zero(self) -> TracedRows:
        return self.about(np.zeros(self.count))

    def of_pairs(self, lag: int) -> tuple[Traced, Traced, Array]:
        return by_links_of_pairs(self, lag)

    def form(self, K: Traced, moving: MovingKernel | None = None) -> Traced:
        if K.ndim == 1:
            return self.X.T @ (K[:, None] * self.X)
        between = K.tocoo()
        products = between.data[:, None] * self.X[between.col]
        return self.X.T @ (0.0 * self.X).at[between.row].add(products)

    def scatter(self) -> Traced:
        return self.cross(self)

    def cross(self, other: TracedRows) -> Traced:
        return self.X.T @ other.X

    def lagged(self, lag: int) -> Traced:
        products = self.X[:-lag].T @ self.X[lag:] / (self.n - lag)
        return (products + products.T) / 2

    def scatter_of_changes(self) -> Traced:
        changes = self.X[1:] - self.X[:-1]
        return changes.T @ changes


class TracedData(DataSums):
    """Those of all views; NumPy's functions of y take no traced arrays."""

    views: Sequence[TracedRows]

    def __init__(self, given: Given) -> None:
        self.views, self.y = [TracedRows(X) for X in given.X], given.y

    @property
    def rows(self) -> TracedRows:
        return self.views[0]

    def scatters_of_classes(self) -> tuple[Traced, Traced]:
        """Of labels that need not be known when it is compiled."""
        import jax

        X, n = self.rows.X, self.rows.n
        codes = (self.y[:, None] == self.y[None, :]).argmax(axis=1)  # the first row of the class
        counts = jax.ops.segment_sum(0.0 * X[:, 0] + 1.0, codes, n)
        means = jax.ops.segment_sum(X, codes, n) / (counts + (counts == 0))[:, None]
        between = (means * counts[:, None]).T @ means
        return between, self.rows.scatter() - between

    def deviations(self) -> Traced:
        return self.y - self.y.mean()


class Formula(ABC):
    """f(T), minimised subject to T'BT = I for each view."""

    @abstractmethod
    def value(self, T: Sequence[Traced], given: Given) -> Traced:
        """f."""

    @abstractmethod
    def axes(self, T: Sequence[Traced], given: Given) -> Traced | None:
        """The symmetric r x r matrix that is diagonal in canonical coordinates.

        None where columns are what they are.
        """

    @abstractmethod
    def squares(self, T: Sequence[Traced], given: Given) -> Sequence[Traced] | None:
        """T'BT of each view; None where nothing binds T."""


@dataclass(frozen=True)
class OfMatrices(Formula):
    """A method that states its matrices."""

    objective: Objective

    def ratio(self, given: Given, r: int) -> Ratio:
        own = copy(self.objective)
        vars(own).update(given.parameters)
        found = Ratio.stated(own, TracedData(given), r)
        if found.of not in TRACED:
            raise UnknownError
        return found

    def value(self, T: Sequence[Traced], given: Given) -> Traced:
        import jax

        found = self._through(T, given)
        match found.of:
            case "sizes":
                return -abs(jax.numpy.linalg.eigvalsh(found.A)).sum()
            case "determinant":
                return -jax.numpy.linalg.slogdet(found.A)[1]
        return found.value([S.trace() for S in (*found.above, *found.over)])

    def axes(self, T: Sequence[Traced], given: Given) -> Traced | None:
        found = self._through(T, given)
        diagonal = found.diagonal
        if found.of == "determinant":
            diagonal = _variances(given.through(T))
        elif diagonal is None:
            shares = found.divided([S.trace() for S in (*found.above, *found.over)])
            diagonal = sum(w * A for w, A in zip(shares, found.above, strict=True))
        return (diagonal + diagonal.T) / 2

    def squares(self, T: Sequence[Traced], given: Given) -> Sequence[Traced]:
        return self._through(T, given).white or orthonormal(T)

    def _through(self, T: Sequence[Traced], given: Given) -> Ratio:
        """Of the rows XT; a ridge is in units of the mean diagonal of B, of all columns."""
        r = T[0].shape[1]
        found = self.ratio(given.through(T), r)
        if not (found.over or found.white):
            return found
        whole = self.ratio(given, r)

        def ridged(of_T: Sequence[Traced], of_all: Sequence[Traced]) -> list[Traced]:
            return [
                B + whole.ridge * every.trace() / len(every) * (each.T @ each)
                for B, every, each in zip(of_T, of_all, T, strict=False)
            ]

        over, white = ridged(found.over, whole.over), ridged(found.white, whole.white)
        return replace(found, over=over, white=white)


@dataclass(frozen=True)
class OfFunction(Formula):
    """A function of one's own in jax, whose manifold is said."""

    objective: CustomObjective

    def value(self, T: Sequence[Traced], given: Given) -> Traced:
        own = self.objective
        X = TracedRows(given.X[0]).X if own.center else given.X[0]
        beside = () if given.y is None or not own.needs else (given.y,)
        return own.sign * own.function(T[0], X, *beside)

    def axes(self, T: Sequence[Traced], given: Given) -> Traced | None:
        return _variances(given.through(T)) if self.objective.manifold == "grassmann" else None

    def squares(self, T: Sequence[Traced], given: Given) -> Sequence[Traced] | None:
        return None if self.objective.manifold == "euclidean" else orthonormal(T)


def orthonormal(T: Sequence[Traced]) -> list[Traced]:
    return [each.T @ each for each in T]


def _variances(through: Given) -> Traced:
    return TracedData(through).rows.scatter() / len(through.X[0])


def formula_of(objective: Objective, given: Given) -> Formula | None:
    """The method as a formula; None where there is none for what is given."""
    if isinstance(objective, CustomObjective):
        said = objective.backend == "jax" and objective.manifold != "auto"
        return OfFunction(objective) if said else None
    if isinstance(objective, NestedMethod) and objective.nested:
        return None
    import jax

    found = OfMatrices(objective)

    def look(X: Sequence[Traced], y: Traced) -> None:
        through = Given(X, y, given.parameters).through([np.ones((one.shape[1], 1)) for one in X])
        found.ratio(through, 1)

    try:  # of shapes, nothing is computed
        jax.eval_shape(look, list(given.X), np.zeros(len(given.X[0])))
    except UnknownError:
        return None
    return found


# Singular values of the Jacobian, in rows of length 1, below this are zero.
_SINGULAR = 1e-11
# What equations may leave, relatively: a power of the precision.
_EXACT = 0.4


def equations(
    formula: Formula, T: Sequence[Traced], given: Given, near: Sequence[Traced] | None = None
) -> list[Traced]:
    """What vanishes at an optimum in canonical coordinates, or in axes that are near's unturned."""
    import jax
    import jax.numpy as jnp

    T = list(T)
    G = jax.grad(lambda Z: formula.value(Z, given))(T)
    squares = formula.squares(T, given)
    if squares is None:
        return G
    # BT, as half the derivative of tr(T'BT)
    BT = jax.grad(lambda Z: 0.5 * sum(S.trace() for S in formula.squares(Z, given) or ()))(T)
    found = []
    for k, (each, gradient, S, across) in enumerate(zip(T, G, squares, BT, strict=True)):
        own = each.T @ gradient
        inside = S - jnp.eye(len(S))
        if k == 0 and (N := formula.axes(T, given)) is not None:
            turned = jnp.triu(N, 1) if near is None else near[0].T @ across
            inside = inside + turned - turned.T
        else:
            own = (own + own.T) / 2
        found.append(gradient - across @ own + across @ inside)
    return found


def _system(
    formula: Formula, T: Sequence[Traced], given: Given, *, canonical: bool = True
) -> tuple[Traced, ...]:
    """The entries of T, the way back to T, and the equations as functions of T and of the data."""
    from jax.flatten_util import ravel_pytree

    flat, shaped = ravel_pytree(list(T))
    near = None if canonical else list(T)

    def of_T(t: Traced) -> Traced:
        return ravel_pytree(equations(formula, shaped(t), given, near))[0]

    def of_data(X: Sequence[Traced], parameters: dict[str, Traced]) -> Traced:
        return ravel_pytree(equations(formula, list(T), Given(X, given.y, parameters), near))[0]

    return flat, shaped, of_T, of_data


def moved(
    formula: Formula,
    T: Sequence[Traced],
    given: Given,
    direction: Given,
    *,
    canonical: bool = True,
) -> tuple[list[Traced], Traced, Traced]:
    """dT along a direction of X and the parameters; of axes that turn only if they are canonical.

    And the Jacobian of the equations in T, with what they leave, which is nothing at the optimum.
    """
    import jax

    flat, shaped, of_T, of_data = _system(formula, T, given, canonical=canonical)
    J = jax.jacfwd(of_T)(flat)
    primals = (list(given.X), dict(given.parameters))
    tangents = (list(direction.X), dict(direction.parameters))
    left, change = jax.jvp(of_data, primals, tangents)
    return shaped(-jax.numpy.linalg.solve(J, change)), J, left


def pulled(
    formula: Formula, T: Sequence[Array], given: Given, cotangents: Sequence[Array]
) -> list[Array]:
    """The derivative in X of sum <cotangent, T>, in float64."""
    import jax
    from jax.flatten_util import ravel_pytree

    def pull(X: Sequence[Traced], y: Traced, parameters: dict[str, Traced]) -> Traced:
        flat, _, of_T, of_data = _system(formula, T, Given(X, y, parameters))
        J = jax.jacfwd(of_T)(flat)
        left, transposed = jax.vjp(lambda Z: of_data(Z, parameters), X)
        weights = jax.numpy.linalg.solve(J.T, ravel_pytree(list(cotangents))[0])
        return transposed(-weights)[0], J, left

    with float64():
        y = None if given.y is None else np.asarray(given.y)
        found, J, left = jax.jit(pull)(list(given.X), y, dict(given.parameters))
    if not regular(J, left, T):
        raise SingularError("the equations of the optimum are singular: it is not alone")
    return [np.array(each) for each in found]


def regular(J: Array, left: Array, T: Sequence[Array]) -> bool:
    """Whether the equations determine the derivative.

    - raises DataError: T does not solve them.
    """
    J, eps = np.asarray(J), float(np.finfo(J.dtype).eps)
    size = np.linalg.norm(J) * np.linalg.norm(np.concatenate([np.ravel(each) for each in T]))
    if not np.linalg.norm(left) <= eps**_EXACT * size:
        raise DataError(
            "the optimum does not solve the method's equations in all columns of X, as where they "
            "are collinear or outnumber the rows, and M is restricted to a subspace: leave columns "
            "out, or project on principal components first"
        )
    lengths = np.linalg.norm(J, axis=1, keepdims=True)
    values = np.linalg.svd(J / np.where(lengths > 0, lengths, 1.0), compute_uv=False)
    return bool(values[-1] > max(_SINGULAR, 10 * eps) * values[0])
