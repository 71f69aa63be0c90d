"""Objectives of the user's own: a function of M and the data becomes an Objective."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, overload

import numpy as np

from ldr.objectives.backends import Arguments, Autograd, Backend, Function, HandWritten, Jax
from ldr.objectives.by_value import reduced
from ldr.objectives.data.data import Data
from ldr.objectives.data.labels import as_array
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.row_sum import RowSum, RowTerm, part_rows
from ldr.objectives.objective import Objective
from ldr.objectives.problem import BoundObjective
from ldr.objectives.statistics import mean
from ldr.objectives.view import View, noted
from ldr.solvers.checks import choice, keep_flag
from ldr.solvers.errors import ArgumentError, DataError, ObjectiveError, ObjectiveWarning
from ldr.solvers.manifolds import Array, Euclidean, Grassmann, Manifold, Stiefel
from ldr.solvers.problem import Point, Problem
from ldr.solvers.riemannian import read_only
from ldr.solvers.warn import warn

MANIFOLDS = ("auto", "stiefel", "grassmann", "euclidean")
SENSES = ("min", "max")
BACKENDS = ("jax", "autograd", "numpy")

# Of a sum over rows, the rows on which it is tested.
TESTED_ROWS = 200
# |f(M, X) - f(M, X1) - f(M, X2)| above this, relative to their sizes, is not rounding.
_ADDITIVITY_TOLERANCE = 1e-8

# |f(MQ) - f(M)| above this, relative to how much f varies, is not rounding.
INVARIANCE_TOLERANCE = 1e-6

_GRADIENT_TOLERANCE = 1e-4
# A sum with kinks may cross some of them within the step.
_HESSIAN_TOLERANCE = 1e-2
# Of the central difference: truncation h^2 and rounding eps/h are both near 1e-10.
_STEP = 1e-5


@overload
def objective(function: Function) -> CustomObjective: ...


@overload
def objective(
    function: None = None,
    *,
    manifold: str = ...,
    sense: str = ...,
    backend: str = ...,
    gradient: Function | None = ...,
    hessian: Function | None = ...,
    center: bool = ...,
    sum_over_rows: bool = ...,
) -> Callable[[Function], CustomObjective]: ...


def objective(
    function: Function | None = None,
    *,
    manifold: str = "auto",
    sense: str = "min",
    backend: str = "jax",
    gradient: Function | None = None,
    hessian: Function | None = None,
    center: bool = True,
    sum_over_rows: bool = False,
) -> CustomObjective | Callable[[Function], CustomObjective]:
    """Make a function of M and X an objective for `ldr.solve`; a decorator.

    The function is f(M, X), or f(M, X, y) where it needs y, and returns a scalar. M is d x r, X is
    n x d (float64), y is what was handed to `ldr.solve`, as an array. Further parameters need
    default values. The map is P = M'.

    Parameters
    ----------
    manifold : {"auto", "stiefel", "grassmann", "euclidean"}
        Where M lives: "stiefel", orthonormal columns; "grassmann", orthonormal columns of which
        only the span matters, f(MQ) = f(M) for every orthogonal Q; "euclidean", any d x r matrix.
        "auto" compares f(MQ) with f(M) and takes "grassmann" or "stiefel".
    sense : {"min", "max"}
        Whether f is minimised or maximised.
    backend : {"jax", "autograd", "numpy"}
        What f is written with: jax.numpy or autograd.numpy, which give the derivatives, or plain
        NumPy with a hand-written gradient. jax works in float64 here whatever its global flag says.
    gradient : callable, for backend="numpy"
        g(M, X) or g(M, X, y), the d x r matrix of the derivatives of f (not of -f).
    hessian : callable, optional, for backend="numpy"
        h(M, X, V) or h(M, X, y, V), the derivative of g along V, d x r. Where it is missing,
        solvers use differences of gradients.
    center : bool
        Whether the column means of X are subtracted before f sees it, so that the result's
        transform(X) = (X - mean) P' is what f saw; otherwise f sees X as it is, and mean is 0.
    sum_over_rows : bool
        Whether f is a sum over rows: f(M, X) = f(M, X1) + f(M, X2) where X is X1 above X2, and y
        likewise. Then rows in a file or on a cluster are read piece by piece at each evaluation, f
        sees some of them at a time, and ``solver="svrg"`` is there. A mean is no sum: divide by a
        number of your own, not by len(X). jax compiles f once for each length of a piece.

    Returns
    -------
    CustomObjective
        Which can still be called as the plain function.

    Raises
    ------
    ldr.errors.ArgumentError
        An unknown manifold, sense or backend; a function of the wrong number of parameters;
        backend="numpy" without a gradient, or another backend with one.

    Notes
    -----
    When data arrive, f is tested once, at a random M: it must return one finite real number, its
    gradient must have M's shape, hand-written derivatives must agree with finite differences, and
    on "grassmann" f(MQ) must equal f(M). `ldr.check` tests more. A sum over rows is tested on the
    first 200 rows, also for being one. What f is given cannot be written to.

    Without `sum_over_rows`, f needs all rows at once, and so memory for them.

    Examples
    --------
    >>> import numpy as np, ldr
    >>> @ldr.objective(manifold="grassmann", sense="max", backend="numpy",
    ...                gradient=lambda M, X: 2 * X.T @ (X @ M) / len(X))
    ... def variance(M, X):
    ...     return np.sum((X @ M) ** 2) / len(X)
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> bool(np.isclose(ldr.solve(variance, X, r=2).value,
    ...                 np.linalg.eigvalsh(np.cov(X.T, bias=True))[-2:].sum()))
    True
    """

    def decorate(function: Function) -> CustomObjective:
        return CustomObjective(
            function, manifold, sense, backend, gradient, hessian, center, sum_over_rows
        )

    return decorate if function is None else decorate(function)


@dataclass(frozen=True, repr=False)
class CustomObjective(Objective):
    """A function f(M, X) or f(M, X, y) as an objective; `ldr.objective` makes it.

    Parameters
    ----------
    function, manifold, sense, backend, gradient, hessian, center, sum_over_rows
        As `ldr.objective` says.
    """

    name = "custom"
    formula = "f(M, X)"
    source = "the user's own"
    baseline = "none"

    function: Function
    manifold: str = "auto"
    sense: str = "min"  # type: ignore[misc]
    backend: str = "jax"
    gradient: Function | None = None
    hessian: Function | None = None
    center: bool = True
    sum_over_rows: bool = False

    def __post_init__(self) -> None:
        choice("manifold", self.manifold, MANIFOLDS)
        choice("sense", self.sense, SENSES)
        choice("backend", self.backend, BACKENDS)
        if not callable(self.function):
            raise ArgumentError(
                "ldr.objective decorates a function f(M, X) or f(M, X, y), "
                f"got {type(self.function).__name__}; options go by keyword"
            )
        for option in ("center", "sum_over_rows"):
            keep_flag(self, option)
        count = _required_parameters(self.function, "function", (2, 3), "f(M, X) or f(M, X, y)")
        object.__setattr__(self, "needs", ("response",) if count == 3 else ())
        object.__setattr__(self, "sparse", self.backend == "numpy" and not self.center)
        self._look_like_function()
        self._check_derivatives()

    def _look_like_function(self) -> None:
        """Take over the function's name and docstring, the way functools.wraps does."""
        named = hasattr(self.function, "__name__")  # a partial has its class's docstring
        name = self.function.__name__ if named else type(self.function).__name__
        attributes = {
            "__name__": name,
            "__qualname__": getattr(self.function, "__qualname__", name),
            "__module__": getattr(self.function, "__module__", __name__),
            "__doc__": self.function.__doc__ if named else None,
            "__wrapped__": self.function,
            "name": name,
        }
        for attribute, value in attributes.items():
            object.__setattr__(self, attribute, value)
        lines = inspect.cleandoc(self.__doc__ or "").splitlines()
        data = "X, y" if "response" in self.needs else "X"
        formula = lines[0] if lines else f"{self.sense} {name}(M, {data})"
        object.__setattr__(self, "formula", formula)

    def _check_derivatives(self) -> None:
        takes_y = "response" in self.needs
        data = "X, y" if takes_y else "X"
        for argument, extra in (("gradient", ""), ("hessian", ", V")):
            given = getattr(self, argument)
            if given is None:
                continue
            if self.backend != "numpy":
                raise ArgumentError(
                    f"{argument}= goes with backend='numpy': backend={self.backend!r} derives it"
                )
            if not callable(given):
                raise ArgumentError(f"{argument} must be a function, got {type(given).__name__}")
            count = 2 + takes_y + bool(extra)
            wanted = f"{argument}(M, {data}{extra})"
            _required_parameters(given, argument, (count,), wanted)
        if self.backend == "numpy" and self.gradient is None:
            raise ArgumentError(
                f"objective {self.name!r} with backend='numpy' needs gradient=, a function "
                f"g(M, {data}) that returns the d x r gradient; backend='jax' or 'autograd' "
                "derives it"
            )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The plain function."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        options = ("manifold", "sense", "backend")
        shown = [f"{option}={getattr(self, option)!r}" for option in options]
        if not self.center:
            shown.append("center=False")
        if self.sum_over_rows:
            shown.append("sum_over_rows=True")
        return f"{self.name}({', '.join(shown)})"

    def __reduce__(self) -> tuple[Any, ...]:
        """With the functions' code, for processes that do not have the user's script or module."""
        return reduced(self, [getattr(self, field.name) for field in fields(self)])

    def __copy__(self) -> CustomObjective:
        return self

    def __deepcopy__(self, memo: Any) -> CustomObjective:
        return self

    @cached_property
    def derivatives(self) -> Backend:
        """The function with its derivatives; kept, because what jax compiles is kept in it."""
        if self.backend == "numpy":
            assert self.gradient is not None
            return HandWritten(self.function, self.gradient, self.hessian)
        return Jax(self.function) if self.backend == "jax" else Autograd(self.function)

    def bind(self, data: Data, r: int) -> BoundObjective:
        """The problem, after the tests that `ldr.objective` lists.

        Raises
        ------
        ldr.errors.DataError
            Sparse X that f cannot take; a y that does not fit; rows that are needed all at once
            and do not fit into memory.
        ldr.errors.ObjectiveError
            A test failed.
        """
        if self.sum_over_rows and not data.samples.is_sparse:
            return self._sum(data, r)
        problem = self.attach(data, r)
        problem.verify()
        return problem

    def attach(self, data: Data, r: int) -> CustomProblem:
        """The problem, tested only for a finite scalar value, so that `ldr.check` can tell more."""
        if self.sum_over_rows and data.samples.stored:
            return self._on_some_rows(data, r)
        X, m = self._rows(data.samples)
        return self._problem(CustomProblem, data, m, r, X, *self._beside(data))

    def _problem(self, cls: type[CustomProblem], data: Data, m: Array, r: int, *given: Any) -> Any:
        placed = self.derivatives.place(*given, accelerator=data.samples.accelerator)
        return cls(self, (View(m),), self.derivatives, placed, len(m), r)

    def _sum(self, data: Data, r: int) -> BoundObjective:
        """The problem of a sum over rows, tested on some of them."""
        tested = self._on_some_rows(data, r)
        tested.verify()
        tested.check_additive()
        samples, m = data.samples, tested.views[0].mean
        if not samples.stored and len(samples.pieces()) == 1:
            X = self._rows(samples)[0]
            problem: SummedProblem = self._problem(
                SummedProblem, data, m, r, X, *self._beside(data)
            )
            problem.manifold = tested.manifold
            return problem.restated(views=tested.views)
        return RowSum(
            self,
            tested.views,
            tested.manifold,
            samples,
            FunctionTerm(self, m),
            beside=self._beside(data),
        )

    def _on_some_rows(self, data: Data, r: int) -> CustomProblem:
        """The problem of the first rows, less the mean of all."""
        where = slice(0, min(TESTED_ROWS, data.samples.n // 2 * 2))
        m = self._mean(data.samples)
        X = FunctionTerm(self, m).rows(data.samples.piece(where))
        problem: CustomProblem = self._problem(
            CustomProblem, data, m, r, X, *(y[where] for y in self._beside(data))
        )
        return problem

    def _mean(self, samples: Samples) -> Array:
        return mean(samples) if self.center else np.zeros(samples.d)

    def _rows(self, samples: Samples) -> tuple[Any, Array]:
        """The rows that f sees, and what was subtracted from them."""
        if samples.is_sparse:
            if self.backend != "numpy":
                raise DataError(
                    f"X is sparse, and objective {self.name!r} has backend={self.backend!r}, which "
                    "takes dense arrays: densify X, or write a numpy objective with center=False"
                )
            if self.center:
                raise DataError(
                    f"X is sparse, and centring it for objective {self.name!r} would make it "
                    "dense: densify X, or declare center=False to receive X as a csr_array"
                )
            return samples.array.astype(np.float64, copy=False), np.zeros(samples.d)
        try:
            X = samples.dense()
        except DataError as error:
            raise DataError(
                f"{error}. If objective {self.name!r} is a sum over rows, declare it with "
                "sum_over_rows=True: it then gets the rows piece by piece"
            ) from error
        m = self._mean(samples)
        X = X - m if self.center else X.view()
        X.flags.writeable = False  # it may be the user's own memory
        return X, m

    def _beside(self, data: Data) -> tuple[Any, ...]:
        """What f takes after X."""
        if "response" not in self.needs:
            return ()
        return (self._response(data.y, data.samples.n),)

    def _response(self, y: Any, n: int) -> Any:
        """y as an array that f can use."""
        y = read_only(as_array(y))  # it may be the user's own memory
        if len(y) != n:
            raise DataError(f"y has shape {y.shape}, expected one entry for each of {n} rows of X")
        if y.dtype.kind not in "biuf" and self.backend == "jax":
            raise DataError(
                f"y has dtype {y.dtype}, and jax takes numbers: encode it, say by "
                "numpy.unique(y, return_inverse=True)[1]"
            )
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise DataError("y has NaN or infinite entries")
        return y


@dataclass(frozen=True)
class FunctionTerm(RowTerm):
    """What some rows add to a sum of the user's own, with its sign."""

    objective: CustomObjective
    mean: Array

    @property
    def has_hessian(self) -> bool:  # type: ignore[override]
        return self.objective.derivatives.has_hessian

    def rows(self, piece: Samples) -> Array:
        """The rows as f sees them."""
        X = piece.dense()
        X = X - self.mean if self.objective.center else X.view()
        X.flags.writeable = False
        return X

    def first(self, M: Array, rows: Samples, *beside: Any) -> tuple[float, Array]:
        derivatives, sign = self.objective.derivatives, self.objective.sign
        value, gradient = derivatives.evaluate(M, self._placed(rows, beside))
        return sign * value, sign * gradient()

    def second(self, M: Array, V: Array, rows: Samples, *beside: Any) -> Array:
        derivatives, sign = self.objective.derivatives, self.objective.sign
        return sign * derivatives.hessian_vector(M, V, self._placed(rows, beside))

    def _placed(self, piece: Samples, beside: tuple[Any, ...]) -> Arguments:
        place = self.objective.derivatives.place
        return place(self.rows(piece), *beside, accelerator=piece.accelerator)


class CustomPoint(Point):
    """The value, the gradient and the Hessian as an operator at M, each found once."""

    def __init__(self, problem: CustomProblem, M: Array) -> None:
        self.M = M
        self._problem = problem
        self._sign = problem.objective.sign

    @cached_property
    def _evaluated(self) -> tuple[float, Callable[[], Array]]:
        return self._problem.derivatives.evaluate(self.M, self._problem.data)

    @property
    def value(self) -> float:
        return self._sign * self._evaluated[0]

    @cached_property
    def gradient(self) -> Array:
        alone = self._problem.derivatives.gradient(self.M, self._problem.data)
        return self._sign * (self._evaluated[1]() if alone is None else alone)

    @cached_property
    def _hessian(self) -> Callable[[Array], Array]:
        return self._problem.derivatives.hessian(self.M, self._problem.data)

    def hessian_vector(self, V: Array) -> Array:
        return self._sign * self._hessian(V)


@dataclass
class CustomProblem(BoundObjective):
    """Minimise f, or -f where f is maximised, in the columns of the user.

    Parameters
    ----------
    derivatives : Backend
    data : tuple
        The arguments of f after M.
    d, r : int
    """

    derivatives: Backend
    data: Arguments
    d: int
    r: int

    def __post_init__(self) -> None:
        assert isinstance(self.objective, CustomObjective)
        self.has_hessian = self.derivatives.has_hessian
        declared = self.objective.manifold
        self.manifold: Manifold = _manifold(declared, self.d, self.r)
        # Every test uses the same random point, so that an objective fails always or never.
        self._rng = np.random.default_rng(0)
        self._M = self.random_point(self._rng)
        self._check_value()
        if declared == "auto":
            self._choose_manifold()

    @property
    def order(self) -> int:
        return max(self.d, *(array.shape[0] for array in self.data))

    def at(self, M: Array) -> CustomPoint:
        return CustomPoint(self, M)

    def _check_value(self) -> None:
        """f must return one finite real number."""
        name = self.objective.name
        try:
            returned = self.derivatives.returned(self._M, self.data)
        except ObjectiveError:
            raise
        except Exception as error:
            shapes = ", ".join(str(np.shape(array)) for array in (self._M, *self.data))
            error.add_note(f"raised by objective {name!r}, called with arrays of shapes {shapes}")
            raise
        problem = _not_a_real_scalar(returned)
        if problem:
            raise ObjectiveError(
                f"objective {name!r} returned {problem}; expected one real number (a scalar)"
            )
        value = self.at(self._M).value
        if not math.isfinite(value):
            where = "standard normal" if isinstance(self.manifold, Euclidean) else "orthonormal"
            raise ObjectiveError(
                f"objective {name!r} returned {self.reported(value)} at a random {where} M of "
                f"shape {self._M.shape}; expected a finite number"
            )

    def _choose_manifold(self) -> None:
        _, error = self._rotated()
        invariant = error <= INVARIANCE_TOLERANCE
        if invariant:
            self.manifold = Grassmann(self.d, self.r)
        sign, chosen = ("=", "grassmann") if invariant else ("!=", "stiefel")
        note = f"manifold='auto': f(MQ) {sign} f(M), so {chosen!r} was chosen"
        self.views = noted(self.views, note)

    def _rotated(self) -> tuple[float, float]:
        """f(MQ), to be compared with f(M), and their difference as `invariance_error` has it."""
        N = self._M @ random_orthogonal(self.r, np.random.default_rng(1))
        return self.at(N).value, invariance_error(self, self._M, N)

    def verify(self) -> None:
        """Test the gradient and, on the Grassmann manifold, the invariance."""
        point = self.at(self._M)
        self._check_matrix("gradient", point.gradient)
        if not self.derivatives.differentiates:
            self._check_gradient_value()
            if self.has_hessian:
                self._check_matrix("Hessian product", point.hessian_vector(self._M))
                self._check_hessian_value()
        if isinstance(self.manifold, Grassmann):
            self._check_invariance()

    def check_additive(self) -> None:
        """f of all rows must be f of the first half of them plus f of the second."""
        half = len(self.data[0]) // 2
        halves = (tuple(array[where] for array in self.data) for where in _halves(half))
        whole, *parts = (
            self.derivatives.evaluate(self._M, data)[0] for data in (self.data, *halves)
        )
        if not abs(whole - sum(parts)) <= _ADDITIVITY_TOLERANCE * sum(map(abs, (whole, *parts))):
            raise ObjectiveError(
                f"objective {self.objective.name!r} is declared with sum_over_rows=True, but of "
                f"the first {2 * half} rows f(M, X) = {whole:.12g}, and f(M, X1) + f(M, X2) = "
                f"{sum(parts):.12g} of their two halves: return a sum over rows (no mean, no "
                "division by len(X), nothing that depends on several rows)"
            )

    def _check_matrix(self, what: str, Z: Array) -> None:
        name, shape = self.objective.name, self._M.shape
        if Z.shape != shape:
            raise ObjectiveError(
                f"the {what} of objective {name!r} has shape {Z.shape}, expected M's, {shape}"
            )
        if not np.isfinite(Z).all():
            raise ObjectiveError(
                f"the {what} of objective {name!r} has NaN or infinite entries at a random M, "
                "where its value is finite"
            )

    def _check_gradient_value(self) -> None:
        """<gradient, V> against the central difference of f along the manifold in direction V."""
        manifold, M = self.manifold, self._M
        V = manifold.random_tangent(M, self._rng)
        slope = manifold.inner(M, self.at(M).gradient, V)
        ahead, behind = (self.at(manifold.retract(M, h * V)).value for h in (_STEP, -_STEP))
        difference = (ahead - behind) / (2 * _STEP)
        rounding = 100 * np.finfo(float).eps * max(abs(ahead), abs(behind)) / _STEP
        size = max(abs(slope), abs(difference))
        if abs(slope - difference) > _GRADIENT_TOLERANCE * size + rounding:
            name = self.objective.name
            raise ObjectiveError(
                f"the gradient of objective {name!r} disagrees with finite differences: along a "
                f"random direction V at a random M, <gradient, V> is {self.reported(slope):.6g} "
                f"but f changes by {self.reported(difference):.6g} (relative error "
                f"{abs(slope - difference) / size:.1e}, expected at most {_GRADIENT_TOLERANCE:g}). "
                f"ldr.check({name}, X, r={self.r}) tells more"
            )

    def _check_hessian_value(self) -> None:
        """H[V] against the central difference of the gradient along the manifold in direction V."""
        manifold, M = self.manifold, self._M
        V = manifold.random_tangent(M, self._rng)
        product = self.at(M).hessian_vector(V)
        ahead, behind = (self.at(manifold.retract(M, h * V)).gradient for h in (_STEP, -_STEP))
        difference = (ahead - behind) / (2 * _STEP)
        rounding = 100 * np.finfo(float).eps * float(np.linalg.norm(ahead)) / _STEP
        size = max(float(np.linalg.norm(product)), float(np.linalg.norm(difference)))
        error = float(np.linalg.norm(product - difference))
        if error > _HESSIAN_TOLERANCE * size + rounding:
            name = self.objective.name
            raise ObjectiveError(
                f"the Hessian product of objective {name!r} disagrees with finite differences of "
                f"its gradient: along a random direction at a random M its relative error is "
                f"{error / size:.1e}, expected at most {_HESSIAN_TOLERANCE:g}. "
                f"ldr.check({name}, X, r={self.r}) tells more; without hessian= solvers difference "
                "the gradient themselves"
            )

    def _check_invariance(self) -> None:
        rotated, error = self._rotated()
        if error > INVARIANCE_TOLERANCE:
            value = self.reported(self.at(self._M).value)
            note = (
                f"declared on 'grassmann', but f(MQ) = {self.reported(rotated):.12g} and f(M) = "
                f"{value:.12g} for a random M and a random orthogonal Q: f depends on more than "
                "the span of M, so it is solved on 'stiefel'"
            )
            self.manifold = Stiefel(self.d, self.r)
            self.views = noted(self.views, note)
            warn(f"objective {self.objective.name!r} is {note}", ObjectiveWarning)


@dataclass
class SummedProblem(CustomProblem):
    """A sum over rows in memory, evaluated by one call; a `Sum` for stochastic solvers."""

    @property
    def _part_rows(self) -> int:
        return part_rows(len(self.data[0]), self.d)

    @property
    def parts(self) -> int:
        return -(-len(self.data[0]) // self._part_rows)

    def part(self, i: int) -> Problem:
        rows = slice(i * self._part_rows, (i + 1) * self._part_rows)
        part = copy(self)
        part.data = tuple(array[rows] for array in self.data)
        return part


def random_orthogonal(r: int, rng: np.random.Generator) -> Array:
    """A random orthogonal r x r matrix of determinant -1, so that reflections are tested too."""
    Q = Stiefel(r, r).random_point(rng)
    if np.linalg.det(Q) > 0:
        Q[:, 0] = -Q[:, 0]
    return Q


def invariance_error(problem: BoundObjective, M: Array, N: Array) -> float:
    """|f(N) - f(M)|, relative to how much f varies around M.

    The value's own size counts little, so that a large constant in f hides nothing but rounding.
    """
    point = problem.at(M)
    difference = abs(problem.value(N) - problem.value(M))
    size = float(np.linalg.norm(point.gradient) * np.linalg.norm(M)) + 1e-6 * abs(point.value)
    return difference / size if size > 0 else (0.0 if difference == 0 else math.inf)


def _halves(half: int) -> tuple[slice, slice]:
    return slice(0, half), slice(half, 2 * half)


def _manifold(declared: str, d: int, r: int) -> Manifold:
    if declared == "euclidean":
        return Euclidean(d, r)
    return Grassmann(d, r) if declared == "grassmann" else Stiefel(d, r)


def _not_a_real_scalar(returned: Any) -> str:
    """What a function returned, in words, where it is not one real number; else empty."""
    if returned is None:
        return "None (is a `return` missing?)"
    if isinstance(returned, (tuple, list, dict, str)):
        return f"a {type(returned).__name__}"
    if not hasattr(returned, "dtype"):
        returned = np.asarray(returned)
    if returned.shape != ():
        return f"an array of shape {tuple(returned.shape)}"
    if returned.dtype.kind == "c":
        return f"a complex number ({returned.dtype})"
    if returned.dtype.kind != "f":
        return f"a value of type {returned.dtype}"
    return ""


def _required_parameters(
    function: Function, what: str, allowed: tuple[int, ...], wanted: str
) -> int:
    """Number of positional parameters without default values, where that is an allowed number."""
    name = getattr(function, "__name__", type(function).__name__)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise ArgumentError(f"the parameters of {name} cannot be read: expected {wanted}") from None
    various = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    required = [p for p in parameters if p.default is p.empty and p.kind not in various]
    keyword_only = any(p.kind is p.KEYWORD_ONLY for p in required)
    if len(required) not in allowed or keyword_only:
        listed = ", ".join(p.name for p in required)
        kind = "keyword-only parameters" if keyword_only else "parameters without default values"
        raise ArgumentError(
            f"the {what} {name}({listed}) has {len(required)} {kind}, expected {wanted}"
        )
    return len(required)
