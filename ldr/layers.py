"""`ldr.layer`: an optimal projection as a differentiable function of jax arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ldr.inference.many import solve_many
from ldr.inputs import as_data, as_objective, check_r
from ldr.objectives.data.data import as_tuple, single
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need
from ldr.result import Result
from ldr.sensitivity.derivative import Derivative, numbers_of, parameter, with_parameters
from ldr.sensitivity.sensitivity import Sensitivity
from ldr.solvers.checks import whole
from ldr.solvers.errors import ArgumentError, DataError, SingularError, needed
from ldr.solvers.manifolds import Array
from ldr.solving import solve
from ldr.types import Argument

if TYPE_CHECKING:
    from ldr.sensitivity.forms import Traced

# A function of X, y and parameters that returns a `Sensitivity` object.
At: TypeAlias = Callable[..., Sensitivity]

_OPTIONS = frozenset(signature(solve).parameters)


def layer(
    objective: str | Objective, r: int, *, projector: bool = False, **options: Argument
) -> Callable[..., Traced]:
    """Make a function of jax arrays, from X to the optimal P, with derivatives.

    The function can be compiled: jax calls `ldr.solve` back to find the optimum. The derivative of
    the optimum comes from the implicit function theorem and does not depend on the solver:
    `jax.grad`, `jax.jvp`, `jax.vjp` and `jax.vmap` work. If equal eigenvalues prevent a derivative,
    an error names them.

    Parameters
    ----------
    objective : str or Objective
        Derivatives of every order exist for functions of one view in jax with a declared manifold,
        such as ``ldr.objective(manifold="grassmann")``. They also exist for these methods: pca,
        mds, log-det-pca, autocovariance, squared-difference, sfa, orthogonal-sfa, orthogonal-maf,
        maf, signal-noise, contrastive-pca, orthogonal-gcpca, gcpca, opca, orthogonal-lda, lda, pls,
        orthogonal-cca, cca, maxdiff, maxbet, orthogonal-mcca, principal-components-regression,
        tica, spoc and phd. With ``graph="classes"`` they exist for lpp, npe and their variants. For
        methods with `Sensitivity.pullback` first derivatives exist, in forward and reverse mode.
        For other smooth methods only forward mode works (`jax.jvp`).
    r : int
    projector : bool
        Return the orthogonal projector onto the rows of P (P'P for orthonormal rows) instead of P.
        The projector is differentiable even if eigenvalues inside the subspace are equal.
    **options
        Options of `ldr.solve` (start, tolerance, ...). If `objective` is a name, its parameters may
        be given here as well. With `sample_weight` or `groups` only first derivatives exist.

    Returns
    -------
    callable
        ``layer(X, y=None, **parameters)`` returns P (r, d), or the projector (d, d), for each view.
        X is an array (n, d) or a tuple of arrays; y are labels. Derivatives exist with respect to X
        and to numeric parameters such as ``ridge=0.1``. Project by ``(X - X.mean(0)) @ P.T``.

    Raises
    ------
    ldr.errors.ArgumentError
        The objective is unknown, r is no integer, r > d, or a call of the layer lacks y.
    ldr.errors.DataError
        In a call of the layer: arrays have wrong shapes, or the number of views is wrong.

    Notes
    -----
    Within `jax.jit` and `jax.vmap`, and in the backward pass, jax raises its own error
    (`JaxRuntimeError`), which contains the text of the error of ldr.

    In jax's default float32 a derivative has about half of the digits of float64;
    `jax.config.update("jax_enable_x64", True)` enables float64. The context manager
    `jax.enable_x64` is not sufficient for compiled functions: jax may run the solver in a thread
    outside of the context, and then raises an error on dtypes.

    Examples
    --------
    >>> import jax, ldr
    >>> X = jax.random.normal(jax.random.key(0), (50, 4)) * jax.numpy.array([4.0, 3, 2, 1])
    >>> project = ldr.layer("pca", 2)
    >>> jax.grad(lambda X: abs(project(X)[0, 3]))(X).shape
    (50, 4)
    """
    needed("jax", "a layer")
    import jax
    import jax.numpy as jnp

    from ldr.sensitivity.equations import Given, Stated, moved, statement_of

    own = {name: options.pop(name) for name in [*options] if name not in _OPTIONS}
    objective = as_objective(objective, own)
    whole("r", r, 1)
    background = Need.BACKGROUND in objective.needs
    one_array = objective.views == 1 and not background
    marks = {name: options[name] for name in ("sample_weight", "groups") if name in options}

    def is_stated(X: Traced, y: Traced, parameters: dict[str, Traced]) -> bool:
        """Return True if the optimum has equations in jax: no weights, trials or scaling."""
        if marks or options.get("standardise"):
            return False
        found: list[Stated | None] = []

        def look(X: Traced, y: Traced) -> None:
            found.append(statement_of(objective, Given(X, y, parameters), 1))

        jax.eval_shape(look, list(X), y)  # computes the shapes of the results, not the results
        return found[0] is not None

    def solved(X: Traced, y: Traced, parameters: dict[str, Traced]) -> Result:
        X = _in_float64(X)
        own = with_parameters(objective, _numbers(parameters))
        return solve(own, single(X), r, y=as_given(y), certify=False, **options)

    def at(X: Traced, y: Traced, parameters: dict[str, Traced]) -> Sensitivity:
        found = solved(X, y, parameters)
        return found.sensitivity(single(_in_float64(X)), as_given(y), **marks)

    def check_shapes(X: Traced, y: Traced) -> None:
        """Refuse wrong shapes before any computation, and outside of jax's callback."""
        like = single(tuple(np.zeros(each.shape) for each in X))
        data = as_data(objective, like, None if y is None else np.zeros(y.shape))
        check_r(r, objective, data)
        if y is not None and y.shape[:1] != (data.samples.n,):
            raise DataError(
                f"y has shape {y.shape}, expected one entry for each of the "
                f"{data.samples.n} rows of X"
            )

    def shapes(X: Traced) -> Traced:
        views = X[:1] if background else X
        return tuple(jax.ShapeDtypeStruct((r, each.shape[1]), each.dtype) for each in views)

    def optima(X: Traced, y: Traced, parameters: dict[str, Traced]) -> Traced:
        """Return P of a problem, or of all problems in a batch of `jax.vmap`."""
        batch = X[0].shape[:-2]
        if not batch:
            return solved(X, y, parameters).P
        own = [
            _numbers({name: np.asarray(p)[k] for name, p in parameters.items()})
            for k in np.ndindex(batch)
        ]
        given = [np.asarray(each, dtype=np.float64).reshape(-1, *each.shape[-2:]) for each in X]
        labels: Traced = (
            None if y is None else np.asarray(y).reshape(len(own), *y.shape[len(batch) :])
        )
        if options or own.count(own[0]) < len(own) or np.ndim(labels) > 2:
            each = [
                as_tuple(solved([A[k] for A in given], None if y is None else labels[k], one).P)
                for k, one in enumerate(own)
            ]
            found = tuple(map(np.stack, zip(*each, strict=True)))
        else:
            known = with_parameters(objective, own[0])
            many = solve_many(known, single(tuple(given)), r, y=labels, certify=False)
            found = as_tuple(many.P)
        return tuple(P.reshape(*batch, *P.shape[1:]) for P in found)

    def second(*_: Traced) -> Traced:
        raise ArgumentError(
            f"a layer of {objective.name!r} with these arguments has first derivatives only, but "
            "second derivatives were requested"
        )

    def called(
        function: Callable[..., Traced], X: Traced, *beside: Traced, together: bool = False
    ) -> Traced:
        def in_kind(*given: Traced) -> Traced:
            found = zip(as_tuple(function(*given)), shapes(X), strict=True)
            with np.errstate(over="ignore"):  # conversion to jax's single precision may overflow
                return tuple(np.asarray(each, shape.dtype) for each, shape in found)

        method = "broadcast_all" if together else "sequential"
        return _called_back(in_kind, shapes(X), X, *beside, vmap_method=method)

    @jax.jit
    def step(
        T: Traced, X: Traced, y: Traced, parameters: Traced, dX: Traced, moves: Traced
    ) -> Traced:
        given, direction = Given(X, y, parameters), Given(dX, None, moves)
        return moved(objective, T, given, direction, canonical=not projector)

    def along(X: Traced, y: Traced, parameters: dict[str, Traced], moves: Traced) -> Traced:
        """Return J moves for tangents `moves`, from dP in (moves, dP - J moves) = (moves, 0).

        jax accepts a given solution, also of the transposed system, only for linear systems.
        """
        forth, back = partial(_along, at, projector), partial(_pulled, at, projector)
        add = jax.tree.map

        @jax.custom_jvp
        def times(X: Traced, y: Traced, parameters: Traced, moves: Traced) -> Traced:
            return called(forth, X, y, parameters, *moves)

        @jax.custom_jvp
        def transposed(X: Traced, y: Traced, parameters: Traced, cotangents: Traced) -> Traced:
            like = add(lambda each: jax.ShapeDtypeStruct(each.shape, each.dtype), moves)
            given = X, y, parameters, cotangents
            return jax.pure_callback(back, like, *given, vmap_method="sequential")

        times.defjvp(second)
        transposed.defjvp(second)

        def nothing_of(tree: Traced) -> Traced:
            return sum(0.0 * each.sum() for each in jax.tree.leaves(tree))

        still = tuple(jnp.zeros(each.shape, each.dtype) for each in shapes(X))
        none = nothing_of(moves)  # jax requires outputs that are linear in the tangents
        known, found = jax.lax.custom_linear_solve(
            lambda z: (z[0], add(jnp.subtract, z[1], times(X, y, parameters, z[0]))),
            add(lambda each: each + none, (moves, still)),
            lambda _, b: (b[0], add(jnp.add, b[1], times(X, y, parameters, b[0]))),
            lambda _, b: (add(jnp.add, b[0], transposed(X, y, parameters, b[1])), b[1]),
            symmetric=True,  # otherwise jax would try to transpose the callback, and fail
        )
        # jax <= 0.6 needs a cotangent of each output; the term 0 * known yields a zero cotangent.
        return add(lambda each: each + nothing_of(known), found)

    @jax.custom_jvp
    def optimum(X: Traced, y: Traced, parameters: dict[str, Traced]) -> Traced:
        return called(optima, X, y, parameters, together=True)

    @optimum.defjvp
    def derivative(primals: Traced, tangents: Traced) -> Traced:
        X, y, parameters = primals
        dX, _, moves = tangents
        P = optimum(X, y, parameters)
        if not is_stated(X, y, parameters):
            if not _is_traced(primals):
                at(X, y, parameters)  # errors are raised here, because jax would hide them
            return P, along(X, y, parameters, (dX, moves))
        T = [each.T for each in P]
        dT, *known = step(T, X, y, parameters, dX, moves)
        told = jax.lax.stop_gradient((*known, T, X, y, parameters))
        shape = jax.ShapeDtypeStruct((), known[0].dtype)
        # jax removes calls whose result is unused: the check returns 1, by which dT is multiplied.
        one = _called_back(partial(_check, at, projector), shape, *told, vmap_method="sequential")
        return P, tuple(each.T * one for each in dT)

    def project(X: Traced, y: Traced = None, **parameters: Traced) -> Traced:
        single_view = one_array or not isinstance(X, (tuple, list))
        with np.errstate(over="ignore"):  # a later check reports values that overflow in float32
            X = tuple(map(jax.numpy.asarray, (X,) if single_view else X))
        dtype = X[0].dtype
        for name in parameters:
            parameter(objective, name)
        y = None if y is None else jax.numpy.asarray(y)
        check_shapes(X, y)
        known = parameters
        if is_stated(X, y, parameters):
            known = {**numbers_of(objective), **parameters}
        given = {name: jax.numpy.asarray(value, dtype) for name, value in known.items()}
        maps = optimum(X, y, given)
        if projector:
            maps = tuple(P.T @ jax.numpy.linalg.solve(P @ P.T, P) for P in maps)
        return single(maps)

    return project


def _is_traced(given: Traced) -> bool:
    import jax

    return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(given))


def _called_back(
    function: Callable[..., Traced], like: Traced, *given: Traced, vmap_method: str
) -> Traced:
    """`jax.pure_callback`, or a plain call for concrete arrays, which raises errors of ldr."""
    import jax

    if _is_traced(given):
        return jax.pure_callback(function, like, *given, vmap_method=vmap_method)
    return jax.tree.map(jax.numpy.asarray, function(*given))


def _moved(derivative: Derivative, projector: bool) -> Sequence[Array]:
    """Return the derivatives of the maps, or of the projectors onto their row spaces."""
    return derivative.maps(None) if projector else as_tuple(derivative.P)


def _along(
    at: At,
    projector: bool,
    X: Traced,
    y: Traced,
    parameters: dict[str, Traced],
    dX: Traced,
    moves: Traced,
) -> Traced:
    """Return dP from `Result.sensitivity`, for methods without equations in jax."""
    directions = {name: move for name, move in _numbers(moves).items() if np.any(move)}
    return _moved(at(X, y, parameters).along(single(_in_float64(dX)), **directions), projector)


def _pulled(
    at: At, projector: bool, X: Traced, y: Traced, parameters: dict[str, Traced], cotangents: Traced
) -> Traced:
    """Return the derivatives in X and the parameters for a cotangent of P."""
    V, sensitivity = _in_float64(cotangents), at(X, y, parameters)
    if projector:
        sensitivity = replace(sensitivity, optimum=sensitivity.optimum.of_subspace)
    found = as_tuple(sensitivity.pullback(single(V)))
    moves = {}
    for name, value in parameters.items():
        slope = np.full(np.shape(value), math.nan, np.asarray(value).dtype)
        for k in np.ndindex(slope.shape):
            if not slope.shape and not value:
                continue  # a parameter at its bound of zero has only a one-sided derivative
            move = np.zeros(slope.shape)
            move[k] = 1.0
            moved = _moved(sensitivity.along(**_numbers({name: move})), projector)
            slope[k] = sum(float(np.vdot(v, dP)) for v, dP in zip(V, moved, strict=True))
        moves[name] = slope
    return tuple(np.asarray(a, x.dtype) for a, x in zip(found, X, strict=True)), moves


def _numbers(parameters: dict[str, Traced]) -> dict[str, Traced]:
    """Parameters for objectives: a number, or a tuple for an array of several."""
    return {
        name: tuple(map(float, value)) if np.ndim(value) else float(value)
        for name, value in parameters.items()
    }


def _in_float64(X: Traced) -> tuple[Traced, ...]:
    return tuple(np.asarray(each, dtype=np.float64) for each in X)


def _check(
    at: At,
    projector: bool,
    J: Traced,
    left: Traced,
    T: Traced,
    X: Traced,
    y: Traced,
    parameters: dict[str, Traced],
) -> Traced:
    """Return 1, or raise an error if the optimum is not isolated or components tie."""
    from ldr.sensitivity.equations import regular

    if not regular(J, left, T):
        still = single(tuple(map(np.zeros_like, _in_float64(X))))
        _moved(at(X, y, parameters).along(still), projector)  # raises an error if values tie
        raise SingularError("the optimum is not isolated, so it is no smooth function of the data")
    return np.ones((), J.dtype)


def as_given(y: Traced) -> Traced:
    """Return y in the form that `ldr.solve` accepts."""
    return None if y is None else np.asarray(y)
