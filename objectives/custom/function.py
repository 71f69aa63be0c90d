"""The decorator `objective`, for functions f(M, X) or f(M1, ..., Mk, X1, ..., Xk)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import overload

import numpy as np

from ldr.objectives.custom.backends import (
    Arguments,
    Autograd,
    Backend,
    Function,
    HandWritten,
    Jax,
    Traced,
    name_of,
)
from ldr.objectives.custom.by_value import reduced
from ldr.objectives.custom.problem import CustomProblem, FunctionTerm, SummedProblem
from ldr.objectives.custom.verify import Trial, attached, manifold_named, verified
from ldr.objectives.data.accelerator import Accelerator
from ldr.objectives.data.array_types import Cells
from ldr.objectives.data.data import Beside, Data, Samples, piece_rows
from ldr.objectives.data.memory import check_squares
from ldr.objectives.data.sample_metadata import as_array
from ldr.objectives.families.row_sum import RowSum
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, flag, whole, word
from ldr.objectives.problem import BoundObjective
from ldr.objectives.statistics import mean
from ldr.objectives.statistics.scatters import RowScatter
from ldr.objectives.view import View
from ldr.solvers.errors import ArgumentError, DataError, ObjectiveError, needed
from ldr.solvers.manifolds import Array
from ldr.solvers.problem import read_only


def written(views: int, *beside: str) -> str:
    """Return the arguments of a function of `views` views as text, such as M1, M2, X1, X2."""
    if views == 1:
        return ", ".join(("M", "X", *beside))
    if views == 2:
        return ", ".join(("M1, M2, X1, X2", *beside))
    return ", ".join((f"M1, ..., M{views}, X1, ..., X{views}", *beside))


def required_parameters(
    function: Function, what: str, allowed: tuple[int, ...], wanted: str
) -> int:
    """Count the positional parameters without default values; refuse a count not in `allowed`."""
    name = name_of(function)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise ArgumentError(f"the signature of {name} cannot be read: expected {wanted}") from None
    various = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    required = [p for p in parameters if p.default is p.empty and p.kind not in various]
    keyword_only = any(p.kind is p.KEYWORD_ONLY for p in required)
    if len(required) not in allowed or keyword_only:
        listed = ", ".join(p.name for p in required)
        kind = "keyword-only parameters" if keyword_only else "parameters without default values"
        raise ArgumentError(
            f"the signature of the {what} {name}({listed}) has {len(required)} {kind}, "
            f"expected {wanted}"
        )
    return len(required)


def _blockwise(
    function: Function, views: int, *, directions: int = 0, split: bool = False
) -> Function:
    """Return f of the joined entries of M1, ..., Mk, the views, and further arguments.

    - directions: number of trailing arguments shaped like M: the direction of a Hessian product
    - split: True if f returns a matrix for each view, joined here
    """

    def of_point(M: Traced, *data: Traced) -> Traced:
        widths, last = [X.shape[1] for X in data[:views]], len(data) - directions
        Ms, *along = (_blocks(each, widths) for each in (M, *data[last:]))
        returned = function(*Ms, *data[:last], *(block for blocks in along for block in blocks))
        return _entries(name, returned, list(map(np.shape, Ms))) if split else returned

    of_point.__name__ = name = name_of(function)
    return of_point


def _blocks(M: Traced, widths: list[int]) -> list[Traced]:
    """Split the entries of M into matrices, one a view."""
    r = prod(M.shape) // sum(widths)
    ends = np.cumsum([0, *widths]) * r
    return [M[a:b].reshape(-1, r) for a, b in pairwise(ends)]


def _entries(name: str, returned: Traced, shapes: list[tuple[int, ...]]) -> Array:
    """Join the matrices that a function returned, one a view."""
    listed = isinstance(returned, (tuple, list))
    got = [np.shape(block) for block in returned] if listed else np.shape(returned)
    if got != shapes:
        raise ObjectiveError(
            f"{name!r} returned shapes {got}, expected a matrix for each view, of shapes {shapes}"
        )
    return np.concatenate([np.asarray(block, np.float64).ravel() for block in returned])


# Largest number of rows that is padded by rows of weight 0, so that fewer sizes are compiled, and
# on which an objective declared as a sum over rows is tested.
MOST_PADDED = 1024


@dataclass(frozen=True)
class JaxOfRows(Jax):
    """A weighted sum sum_i w_i f(M, x_i) over rows, where f receives arrays of one row.

    Small data are padded to a power of two rows with rows of weight zero, so that cross-validation
    folds and data of other lengths need no compilation. The added rows repeat the last row, to
    avoid non-finite values of f.
    """

    def place(self, *data: Traced, accelerator: Accelerator | None = None) -> Arguments:
        *rows, weights = data
        n = len(weights)
        if n <= MOST_PADDED:
            further = max(64, 1 << (n - 1).bit_length()) - n
            weights = np.append(weights, np.zeros(further))
            rows = [np.concatenate([a, np.repeat(a[-1:], further, axis=0)]) for a in rows]
        return super().place(*rows, weights, accelerator=accelerator)

    @property
    def compiled_function(self) -> Function:
        import jax

        def weighted(M: Traced, *data: Traced) -> Traced:
            *rows, weights = data
            of_row = jax.vmap(lambda *row: self.function(M, *(one[None] for one in row)))
            return weights @ of_row(*rows)

        return weighted


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
    views: int = ...,
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
    views: int = 1,
) -> CustomObjective | Callable[[Function], CustomObjective]:
    """Make a function of M and X an objective for `ldr.solve`; a decorator.

    The function is f(M, X), or f(M, X, y) if y is needed, and returns a scalar. M is d x r, X is n
    x d (float64), y is the argument of `ldr.solve` as an array. Further parameters of the function
    need default values. The map of a result is P = M'. A function of several views is f(M1, ...,
    Mk, X1, ..., Xk), with y last if needed.

    Parameters
    ----------
    manifold : {"auto", "stiefel", "grassmann", "euclidean"}
        Manifold of M: "stiefel", orthonormal columns; "grassmann", orthonormal columns and f(MQ) =
        f(M) for every orthogonal Q; "euclidean", any d x r matrix. "auto" compares f(MQ) with f(M)
        and chooses "grassmann" or "stiefel".
    sense : {"min", "max"}
        Minimise or maximise f.
    backend : {"jax", "autograd", "numpy"}
        The array library of f. jax and autograd derive the gradient; with NumPy the gradient must
        be hand-written. jax computes in float64, whatever its global flag.
    gradient : callable, for backend="numpy"
        g(M, X) or g(M, X, y), the d x r matrix of the derivatives of f (not of -f).
    hessian : callable, optional, for backend="numpy"
        h(M, X, V) or h(M, X, y, V), the d x r derivative of the gradient in the direction V.
        Without a Hessian, solvers use differences of gradients.
    center : bool
        True to subtract the column means from X before f is called. The result's transform then
        projects the same data. If False, f receives X unchanged, and the result's mean is 0.
    sum_over_rows : bool
        True if f is a sum over rows: f(M, X) = f(M, X1) + f(M, X2) if X is X1 above X2, and y
        likewise. Then f receives rows in a file or on a cluster in chunks, and ``solver="svrg"`` is
        available. A mean is not a sum: divide by a fixed constant, not by len(X). Only functions in
        jax accept ``sample_weight=``: f then receives single rows (`jax.vmap`). f also receives
        single rows if at most 1024 rows in memory are padded to a power of two by rows of weight
        zero, so that jax compiles f for fewer numbers of rows.
    views : int
        Number k of data matrices (views of the same rows); each has a matrix Mi with r columns.
        With several views `gradient` and `hessian` return a matrix for each view, and `hessian`
        takes k directions. ``manifold="auto"`` selects a manifold for each Mi.

    Returns
    -------
    CustomObjective
        The objective, which can be called like the function.

    Raises
    ------
    ldr.errors.ArgumentError
        The manifold, sense or backend is unknown, the function has the wrong number of parameters,
        or `gradient` is missing with backend="numpy" or given with another backend.

    Notes
    -----
    `ldr.solve` tests f once at a random M. The function must return one finite real number, and the
    gradient must have M's shape. Hand-written derivatives must agree with finite differences. For
    "grassmann" f(MQ) must equal f(M). `ldr.check` tests more. A function with
    ``sum_over_rows=True`` is tested on at most 1024 rows, where its value must also equal the sum
    of the values for parts of these rows. The arrays that f receives are read-only.

    Without `sum_over_rows`, all rows are loaded into memory.

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
            function, manifold, sense, backend, gradient, hessian, center, sum_over_rows, views
        )

    return decorate if function is None else decorate(function)


@dataclass(frozen=True, repr=False)
class CustomObjective(Objective):
    """User's function f(M, X) or f(M, X, y) as an objective, created by `ldr.objective`.

    - function, manifold, sense, backend, gradient, hessian, center, sum_over_rows, views: as in
      `ldr.objective`
    """

    name = "custom"
    formula = "f(M, X)"
    source = "the user's own"
    baseline = "none"

    function: Function
    manifold: str = word("auto", ("auto", "stiefel", "grassmann", "euclidean"))
    sense: str = word("min", ("min", "max"))  # type: ignore[misc]
    backend: str = word("jax", ("jax", "autograd", "numpy"))
    gradient: Function | None = None
    hessian: Function | None = None
    center: bool = flag(True)
    sum_over_rows: bool = flag(False)
    views: int = whole(1, 1)  # type: ignore[misc]

    def __post_init__(self) -> None:
        super().__post_init__()
        function, k = self.function, self.views
        if not callable(function):
            raise ArgumentError(
                "ldr.objective must be given a function f(M, X) or f(M, X, y), got "
                f"{type(function).__name__}; pass options by keyword"
            )
        wanted = f"f({written(k)}) or f({written(k, 'y')})"
        takes_y = 2 * k < required_parameters(function, "function", (2 * k, 2 * k + 1), wanted)
        named, name = hasattr(function, "__name__"), name_of(function)
        documentation = function.__doc__ if named else None  # a partial has its class's docstring
        text = inspect.cleandoc(documentation or "")
        arguments = written(k, *["y"] * takes_y)
        attributes = {
            "needs": (*[Need.SECOND_VIEW] * (k > 1), *[Need.RESPONSE] * takes_y),
            "name": name,
            "formula": text.partition("\n")[0] or f"{self.sense} {name}({arguments})",
            # functools.wraps would leave functools.partial objects without a name.
            "__name__": name,
            "__qualname__": getattr(function, "__qualname__", name),
            "__module__": getattr(function, "__module__", __name__),
            "__doc__": documentation,
            "__wrapped__": function,
        }
        for attribute, value in attributes.items():
            object.__setattr__(self, attribute, value)
        self._set_traits(
            weighted=self.sum_over_rows and self.backend == "jax",
            sparse=self.backend == "numpy" and not self.center,
        )
        self._check_derivatives()

    def _check_derivatives(self) -> None:
        along = ["V"] if self.views == 1 else [f"V{i + 1}" for i in range(self.views)]
        for argument, extra in (("gradient", []), ("hessian", along)):
            given = getattr(self, argument)
            if given is None:
                continue
            if self.backend != "numpy":
                raise ArgumentError(
                    f"{argument}= requires backend='numpy'; {self.backend} derives it automatically"
                )
            if not callable(given):
                raise ArgumentError(f"{argument} must be a function, got {type(given).__name__}")
            count = 2 * self.views + len(self._y) + len(extra)
            wanted = f"{argument}({written(self.views, *self._y, *extra)})"
            required_parameters(given, argument, (count,), wanted)
        if self.backend != "numpy":
            needed(self.backend, f"an objective with backend={self.backend!r}")
        elif self.gradient is None:
            raise ArgumentError(
                f"objective {self.name!r} with backend='numpy' needs gradient=, a function "
                f"g({written(self.views, *self._y)}) that returns the d x r "
                f"gradient{' of each view' if self.views > 1 else ''}; backend='jax' or 'autograd' "
                "derives the gradient"
            )

    @property
    def _y(self) -> tuple[str, ...]:
        return ("y",) if Need.RESPONSE in self.needs else ()

    @property
    def in_jax(self) -> bool:
        """True for a function of one view in jax."""
        return self.backend == "jax" and self.views == 1

    def __call__(self, *args: object, **kwargs: object) -> Traced:
        """Return the value of the user's function."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        usual = {"center": True, "sum_over_rows": False, "views": 1}
        shown = [f"{name}={getattr(self, name)!r}" for name in ("manifold", "sense", "backend")]
        shown += [
            f"{name}={getattr(self, name)}" for name in usual if getattr(self, name) != usual[name]
        ]
        return f"{self.name}({', '.join(shown)})"

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the functions' code, for processes without the user's script or module."""
        return reduced(self, [getattr(self, field.name) for field in fields(self)])

    def __copy__(self) -> CustomObjective:
        return self

    def __deepcopy__(self, memo: object) -> CustomObjective:
        return self

    @cached_property
    def of_point(self) -> Function:
        """The function with a solver's point as argument, a flat array for several views."""
        return self.function if self.views == 1 else _blockwise(self.function, self.views)

    @cached_property
    def derivatives(self) -> Backend:
        """Backend with the function's derivatives, cached with jax's compiled programs."""
        if self.backend != "numpy":
            return Jax(self.of_point) if self.backend == "jax" else Autograd(self.of_point)
        gradient, hessian = self.gradient, self.hessian
        assert gradient is not None
        if self.views > 1:
            gradient = _blockwise(gradient, self.views, split=True)
            hessian = hessian and _blockwise(hessian, self.views, directions=1, split=True)
        return HandWritten(self.of_point, gradient, hessian)

    @cached_property
    def of_rows(self) -> Backend:
        """Backend with the derivatives of the weighted sum over rows."""
        return JaxOfRows(self.of_point)

    def order(self, data: Data) -> int:
        return 0

    def bind(self, data: Data, r: int) -> BoundObjective:
        """Return the problem after the tests listed in `ldr.objective`.

        - raises ldr.errors.DataError: X is sparse and f does not accept sparse arrays; y has the
          wrong length; or all rows are needed and do not fit into memory.
        - raises ldr.errors.ObjectiveError: A test failed.
        """
        if self.sum_over_rows and not any(view.is_sparse for view in data.views):
            return self._sum(data, r)
        return verified(self._trial(data, r))

    def attach(self, data: Data, r: int) -> CustomProblem:
        """Return the problem after a single test: the value is a finite scalar."""
        return self._trial(data, r).problem

    def _trial(self, data: Data, r: int) -> Trial:
        if self.sum_over_rows and any(view.stored for view in data.views):
            return self._on_some_rows(data, self._term(data.views), r)
        rows = tuple(map(self._in_memory, data.views))
        return self._on(rows, self._response(data), self._term(rows), r, rows)

    def _sum(self, data: Data, r: int) -> BoundObjective:
        """Return the problem of a sum over rows, after a test on some rows."""
        (samples, *others), term = data.views, self._term(data.views)
        beside: tuple[Beside, ...] = (*others, *self._response(data))
        trial = self._on_some_rows(data, term, r)
        tested = verified(trial)
        trial.check_additive()
        if any(view.stored for view in data.views) or samples.n > piece_rows(samples.d):
            return RowSum(self, tested.views, tested.manifold, samples, term, beside=beside)
        if self.backend == "jax" and samples.n <= MOST_PADDED:
            term = FunctionTerm(self, term.means, weighted=True)
        arguments = term.arguments(samples, *beside)
        problem = SummedProblem(self, tested.views, tested.manifold, term, arguments)
        Trial(problem).check_value()
        return problem

    def _on_some_rows(self, data: Data, term: FunctionTerm, r: int) -> Trial:
        """Return the problem of the first rows, minus the mean of all rows."""
        n = data.samples.n  # rows of weight 0 pad n to a power of two, which saves compilations
        where = slice(0, 1 << (min(n, MOST_PADDED).bit_length() - 1))
        rows = tuple(view.piece(where) for view in data.views)
        return self._on(rows, tuple(y[where] for y in self._response(data)), term, r, data.views)

    def _on(
        self,
        rows: tuple[Samples, ...],
        response: tuple[Cells, ...],
        term: FunctionTerm,
        r: int,
        all_rows: tuple[Samples, ...],
    ) -> Trial:
        manifold = manifold_named(self.manifold, [view.d for view in rows], r)
        arguments = term.arguments(*rows, *response)
        centre = "mean" if self.center else "zero"
        views = tuple(
            View(mean, scatter=RowScatter(view, mean if self.center else None), centre=centre)
            for view, mean in zip(all_rows, term.means, strict=True)
        )
        return attached(CustomProblem(self, views, manifold, term, arguments), self.manifold)

    def _term(self, views: tuple[Samples, ...]) -> FunctionTerm:
        for view in views if self.center else ():
            check_squares(view)
        means = (mean(view) if self.center else np.zeros(view.d) for view in views)
        return FunctionTerm(self, tuple(means), views[0].weights is not None)

    def _in_memory(self, samples: Samples) -> Samples:
        """Return all rows as f's argument; refuse sparse rows that f cannot use."""
        if samples.is_sparse and self.backend != "numpy":
            raise DataError(
                f"X is sparse, and objective {self.name!r} has backend={self.backend!r}, which "
                "takes dense arrays: densify X, or write a numpy objective with center=False"
            )
        if samples.is_sparse and self.center:
            raise DataError(
                f"X is sparse, and centring it for objective {self.name!r} would make it "
                "dense: densify X, or declare center=False to receive X as a csr_array"
            )
        try:
            return samples.in_memory()
        except DataError as error:
            raise DataError(
                f"{error}. If objective {self.name!r} is a sum over rows, declare it with "
                "sum_over_rows=True: it then receives the rows in blocks"
            ) from error

    def _response(self, data: Data) -> tuple[Cells, ...]:
        """Return y as an array if f takes a response."""
        if Need.RESPONSE not in self.needs:
            return ()
        y, n = read_only(as_array(data.y)), data.samples.n  # the user's function may not change y
        if len(y) != n:
            raise DataError(f"y has shape {y.shape}, expected one entry for each of {n} rows of X")
        if y.dtype.kind not in "biuf" and self.backend == "jax":
            raise DataError(
                f"y has dtype {y.dtype}, but jax takes numbers only: encode y, for example by "
                "numpy.unique(y, return_inverse=True)[1]"
            )
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise DataError("y has NaN or infinite entries, expected finite numbers")
        return (y,)
