"""Pairs of problems that must have the same answer: what was done to the data changes nothing."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import dask.array
import numpy as np
import pandas
import scipy.sparse
from scipy.spatial.distance import pdist, squareform

from tests.adversarial.campaign import REFUSALS, SEED, generator, maker, solved

Array = Any


@dataclass(frozen=True)
class Given:
    """A problem, and how the values of its method change with the data.

    Attributes
    ----------
    time : bool
        Whether the rows are in time order.
    affine : bool
        Whether any invertible map of the columns changes nothing.
    turns : bool
        Whether a rotation of the columns changes nothing.
    degree : int
        The value is multiplied by s^degree where X is multiplied by s.
    logs : float
        And this times log s is added to it.
    scaled : dict
        Parameters that are multiplied by s to this power.
    copies : int or None
        Doubled rows multiply the value by 2^copies; None where they change the problem.
    copied : dict
        Parameters that are multiplied by 2 to this power then.
    ignores_constants : bool
        Whether a column that does not vary changes nothing.
    response : int or None
        The value is multiplied by s^response where y is multiplied by s.
    flat : bool
        Whether very different spans can have the same value: nca, where nothing is gained any
        more, and regressions, whose coefficients are solved for and not their leading directions.
    """

    method: str
    X: Any
    r: int
    y: Any = None
    parameters: dict[str, Any] = field(default_factory=dict)
    time: bool = False
    affine: bool = False
    turns: bool = True
    degree: int = 0
    logs: float = 0.0
    scaled: dict[str, int] = field(default_factory=dict)
    copies: int | None = 0
    copied: dict[str, int] = field(default_factory=dict)
    ignores_constants: bool = True
    background: bool = False
    views: bool = False
    labels: bool = False
    response: int | None = None
    flat: bool = False

    @property
    def matrices(self) -> tuple[Array, ...]:
        return self.X if isinstance(self.X, tuple) else (self.X,)

    def of(self, matrices: list[Array]) -> Any:
        return tuple(matrices) if isinstance(self.X, tuple) else matrices[0]

    def with_columns(self, change: Callable[[int, Array], Array]) -> Given:
        """Each matrix changed by itself; those with the same columns in the same way."""
        changed = [
            change(0 if self.background else i, matrix) for i, matrix in enumerate(self.matrices)
        ]
        return replace(self, X=self.of(changed))

    def with_parameters(self, factor: float, powers: dict[str, int]) -> Given:
        changed = {k: self.parameters[k] * factor**p for k, p in powers.items()}
        return replace(self, parameters={**self.parameters, **changed})


@dataclass(frozen=True)
class Same:
    """The other problem of a pair, and what its answer must be.

    Attributes
    ----------
    factor, term : float
        Its value is the first one's times `factor`, plus `term`.
    rows : array of int or None
        Where the rows of the first are found in it.
    container : callable
        What each of its matrices is handed over in.
    """

    given: Given
    factor: float = 1.0
    term: float = 0.0
    rows: Any = None
    container: Callable[[Array, Path], Any] | None = None


# What is done to the data. Each takes a problem and random numbers; None where it would change it.


def rotated(given: Given, rng: Any) -> Same | None:
    if not given.turns:
        return None
    turns = [np.linalg.qr(rng.standard_normal((x.shape[1],) * 2))[0] for x in given.matrices]
    return Same(given.with_columns(lambda i, x: x @ turns[i]))


def mapped(given: Given, rng: Any) -> Same | None:
    """Any invertible map of the columns, of condition 1e3 or so."""
    if not given.affine:
        return None
    maps = [
        np.linalg.qr(rng.standard_normal((x.shape[1],) * 2))[0]
        * 10.0 ** rng.uniform(-1.5, 1.5, x.shape[1])
        for x in given.matrices
    ]
    return Same(given.with_columns(lambda i, x: x @ maps[i]))


def nearly_collinear(given: Given, rng: Any) -> Same | None:
    """[a, a + eps b, c] for [a, b, c]; the numbers hold a + eps b exactly."""
    if not given.affine or any(x.shape[1] < 2 for x in given.matrices):
        return None
    eps = 2.0 ** -int(rng.integers(4, 24))

    def collinear(i: int, x: Array) -> Array:
        changed = x.copy()
        changed[:, 1] = x[:, 0] + eps * x[:, 1]
        return changed

    return Same(given.with_columns(collinear))


def translated(given: Given, rng: Any) -> Same | None:
    if given.method == "mds-distances":
        return None
    offsets = [10.0 * rng.standard_normal(x.shape[1]) for x in given.matrices]
    if given.method == "opca":  # the noise is taken about zero
        return Same(replace(given, X=(given.X[0] + offsets[0], given.X[1])))
    return Same(given.with_columns(lambda i, x: x + offsets[i]))


def columns_permuted(given: Given, rng: Any) -> Same | None:
    if given.method == "mds-distances":
        return None
    orders = [rng.permutation(x.shape[1]) for x in given.matrices]
    return Same(given.with_columns(lambda i, x: x[:, orders[i]]))


def rows_permuted(given: Given, rng: Any) -> Same | None:
    """In another order; of what is in time order, backwards."""
    n = len(given.matrices[0])
    order = np.arange(n)[::-1] if given.time else rng.permutation(n)
    parameters = dict(given.parameters)
    if "graph" in parameters and not isinstance(parameters["graph"], str):
        parameters["graph"] = parameters["graph"][order][:, order]
    if given.method == "mds-distances":
        X = given.X[order][:, order]
    elif given.background:
        X = (given.X[0][order], given.X[1][rng.permutation(len(given.X[1]))])
    else:
        X = given.of([x[order] for x in given.matrices])
    y = None if given.y is None else given.y[order]
    moved = replace(given, X=X, y=y, parameters=parameters)
    return Same(moved, rows=np.argsort(order))


def doubled(given: Given, rng: Any) -> Same | None:
    """Every row twice."""
    if given.copies is None or given.time:
        return None
    n = len(given.matrices[0])
    parameters = dict(given.parameters)
    if "graph" in parameters and not isinstance(parameters["graph"], str):
        parameters["graph"] = scipy.sparse.csr_array(
            scipy.sparse.kron(np.ones((2, 2)), parameters["graph"])
        )
    X = given.of([np.vstack([x, x]) for x in given.matrices])
    y = None if given.y is None else np.concatenate([given.y, given.y])
    twice = replace(given, X=X, y=y, parameters=parameters).with_parameters(2.0, given.copied)
    return Same(twice, factor=2.0**given.copies, rows=np.arange(n))


def constant_column_added(given: Given, rng: Any) -> Same | None:
    if given.method == "opca":  # beside a constant the mean of the noise costs nothing
        return None
    return _column_added(given, float(rng.standard_normal()))


def zero_column_added(given: Given, rng: Any) -> Same | None:
    return _column_added(given, 0.0)


def _column_added(given: Given, value: float) -> Same | None:
    if not given.ignores_constants:
        return None
    return Same(given.with_columns(lambda i, x: np.hstack([x, np.full((len(x), 1), value)])))


def times_a_power_of_two(given: Given, rng: Any) -> Same | None:
    return _scaled(given, 2.0 ** int(rng.integers(-20, 21)))


def times_three(given: Given, rng: Any) -> Same | None:
    return _scaled(given, 3.0)


def in_far_units(given: Given, rng: Any) -> Same:
    """1e99 or 1e-99 of them, to the last bit."""
    return _scaled(given, 2.0 ** int(rng.choice([-330, 330])))


def _scaled(given: Given, s: float) -> Same:
    changed = given.with_columns(lambda i, x: s * x).with_parameters(s, given.scaled)
    return Same(changed, s**given.degree, given.logs * np.log(s))


def relabelled(given: Given, rng: Any) -> Same | None:
    """Other names of the classes, in another order."""
    if not given.labels:
        return None
    classes = np.unique(given.y)
    names = rng.permutation([f"class {k}" for k in range(len(classes))])
    y = names[np.searchsorted(classes, given.y)].astype(object)
    if "unlabelled" in given.parameters:
        y[given.y == given.parameters["unlabelled"]] = given.parameters["unlabelled"]
    return Same(replace(given, y=y))


def response_in_other_units(given: Given, rng: Any) -> Same | None:
    if given.response is None:
        return None
    s = float(rng.uniform(0.5, 3.0))
    changed = replace(given, y=s * given.y + rng.standard_normal())
    powers = {"penalty": 1} if given.method == "lasso" else {}
    return Same(changed.with_parameters(s, powers), factor=s**given.response)


def container(change: Callable[[Array, Path], Any]) -> Callable[[Given, Any], Same]:
    """The same numbers in another container."""

    def contained(given: Given, rng: Any) -> Same:
        return Same(given, container=change)

    contained.__name__ = change.__name__
    return contained


@container
def in_fortran_order(x: Array, folder: Path) -> Any:
    return np.asfortranarray(x)


@container
def in_single_precision(x: Array, folder: Path) -> Any:
    return x.astype(np.float32)


@container
def in_a_sparse_matrix(x: Array, folder: Path) -> Any:
    return scipy.sparse.csr_array(x)


@container
def in_a_data_frame(x: Array, folder: Path) -> Any:
    return pandas.DataFrame(x)


@container
def in_a_file(x: Array, folder: Path) -> Any:
    path = folder / f"{len(list(folder.iterdir()))}.npy"
    np.save(path, x)
    return path


def in_blocks(given: Given, rng: Any) -> Same | None:
    """Of methods of time each would be a trial."""
    if given.time:
        return None
    return Same(given, container=lambda x, folder: [x[:7], x[7:20], x[20:]])


@container
def in_a_stream(x: Array, folder: Path) -> Any:
    return lambda: iter((x[:7], x[7:20], x[20:]))


@container
def in_chunks_of_dask(x: Array, folder: Path) -> Any:
    return dask.array.from_array(x, chunks=(11, x.shape[1]))


CHANGES = (
    rotated,
    mapped,
    nearly_collinear,
    translated,
    columns_permuted,
    rows_permuted,
    doubled,
    constant_column_added,
    zero_column_added,
    times_a_power_of_two,
    times_three,
    in_far_units,
    relabelled,
    response_in_other_units,
    in_fortran_order,
    in_single_precision,
    in_a_sparse_matrix,
    in_a_data_frame,
    in_a_file,
    in_blocks,
    in_a_stream,
    in_chunks_of_dask,
)

# Relative, of the values of a pair.
TOLERANCE = 1e-8
# Distance of the spans of the projected rows, for values that are the same to that.
APART = 1e-3
# From which the best of the local optima is taken, where the first ones differ.
STARTS = 12


# The methods, on data without near ties.


def _rows(rng: Any, n: int = 0, d: int = 0) -> Array:
    """Correlated columns, slow in part, with a few large rows."""
    n, d = n or int(rng.integers(24, 41)), d or int(rng.integers(3, 7))
    slow = np.cumsum(rng.standard_normal((n, d)), axis=0) * 0.4
    return (slow + rng.laplace(size=(n, d))) @ (np.eye(d) + 0.4 * rng.standard_normal((d, d)))


def _labels(rng: Any, X: Array) -> tuple[Array, Array]:
    y = rng.permutation(np.arange(len(X)) % 3)
    return X + 2.0 * rng.standard_normal((3, X.shape[1]))[y], y


def _weights(rng: Any, n: int) -> Any:
    """A ring, which connects every row, and edges at random."""
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.2), 1)
    W[np.arange(n - 1), np.arange(1, n)] = 0.5
    return scipy.sparse.csr_array(W + W.T)


@maker
def rows(rng: Any, method: str, **traits: Any) -> Given:
    return Given(method, _rows(rng), int(rng.integers(1, 3)), **traits)


@maker
def classes(rng: Any, method: str, **traits: Any) -> Given:
    X, y = _labels(rng, _rows(rng))
    return Given(method, X, int(rng.integers(1, 3)), y, labels=True, **traits)


@maker
def graph(rng: Any, method: str, normal: bool = False, **traits: Any) -> Given:
    X = _rows(rng)
    W = _weights(rng, len(X))
    if normal:
        W = scipy.sparse.csr_array(W / W.sum(axis=1)[:, None])
    return Given(method, X, int(rng.integers(1, 3)), parameters={"graph": W}, **traits)


@maker
def responses(rng: Any, method: str, several: bool = False, **traits: Any) -> Given:
    X = _rows(rng)
    q = 2 if several else 1
    Y = X @ rng.standard_normal((X.shape[1], q)) + rng.standard_normal((len(X), q))
    return Given(method, X, int(rng.integers(1, 3)), Y if several else Y[:, 0], **traits)


@maker
def beside(rng: Any, method: str, **traits: Any) -> Given:
    X = _rows(rng)
    noise = rng.standard_normal((30, X.shape[1])) * rng.uniform(0.2, 1.0, X.shape[1])
    return Given(method, (X, noise), int(rng.integers(1, 3)), background=True, **traits)


@maker
def two(rng: Any, method: str, **traits: Any) -> Given:
    X = _rows(rng, d=5)
    other = X[:, :3] @ rng.standard_normal((3, 4)) + 2.0 * rng.laplace(size=(len(X), 4))
    return Given(method, (X, other), int(rng.integers(1, 3)), views=True, **traits)


def _distances(rng: Any) -> Given:
    X = _rows(rng, n=20)
    traits: dict[str, Any] = {"turns": False, "degree": 2, "ignores_constants": False}
    return Given("mds-distances", squareform(pdist(X)), 2, copies=None, **traits)


def _semi_supervised(rng: Any) -> Given:
    base = classes("semi-supervised-da", affine=True, copies=None)(rng)
    y = np.where(rng.random(len(base.y)) < 0.4, -1, base.y)
    parameters = {"graph": _weights(rng, len(y)), "unlabelled": -1}
    return replace(base, y=y, parameters=parameters)


@maker
def likelihood(rng: Any, method: str, **traits: Any) -> Given:
    X = _rows(rng, d=6)
    return Given(
        method,
        X,
        int(rng.integers(1, 3)),
        copies=1,
        logs=float(X.size),
        ignores_constants=False,
        **traits,
    )


def _log_det(rng: Any) -> Given:
    base = rows("log-det-pca")(rng)
    return replace(base, logs=2.0 * base.r)


def _kernel(method: str, labels: bool) -> Callable[[Any], Given]:
    traits: dict[str, Any] = {
        "parameters": {"width": 3.0},
        "scaled": {"width": 1},
        "copies": None,
        # beside a column of zeros M can shrink the projection, which a kernel of fixed width sees
        "ignores_constants": False,
    }
    return classes(method, **traits) if labels else responses(method, response=0, **traits)


METHODS: dict[str, Callable[[Any], Given]] = {
    "pca": rows("pca", degree=2, copies=1),
    "mds": rows("mds", degree=2, copies=2),
    "mds-distances": _distances,
    # with fewer than r positive eigenvalues a constant column, of eigenvalue 0, is better
    "autocovariance": rows("autocovariance", degree=2, time=True, ignores_constants=False),
    "sfa": rows("sfa", degree=2, time=True),
    "sfa whitened": rows("sfa", affine=True, time=True, parameters={"whiten": True}),
    "sfa quadratic": rows("sfa", time=True, affine=True, parameters={"whiten": True, "degree": 2}),
    "squared-difference": rows("squared-difference", degree=2, time=True),
    "olpp": graph("olpp", degree=2, copies=2),
    "olpp neighbours": rows("olpp", degree=2, copies=None),
    "olpp classes": classes("olpp", degree=2, copies=1, parameters={"graph": "classes"}),
    "onpp": graph("onpp", True, degree=2, copies=None),
    "onpp neighbours": rows("onpp", degree=2, copies=None),
    "signal-noise": beside("signal-noise", degree=2, ignores_constants=False),
    "contrastive-pca": beside(
        "contrastive-pca", degree=2, ignores_constants=False, parameters={"alpha": 0.5}
    ),
    "pls": two("pls", degree=2, copies=1),
    "lda": classes("lda", affine=True),
    # a mean variance is of all columns, those that do not vary too
    "lda shrinkage": classes("lda", parameters={"shrinkage": 0.3}, ignores_constants=False),
    "cca": two("cca", affine=True),
    "lpp": graph("lpp", affine=True),
    "lpp neighbours": rows("lpp", copies=None),
    "npe": graph("npe", True, affine=True, copies=None),
    "npe neighbours": rows("npe", copies=None),
    "maf": rows("maf", affine=True, time=True),
    "sir": classes("sir", affine=True),
    "sir response": responses(
        "sir", affine=True, response=0, copies=None, parameters={"slices": 4}
    ),
    "save": classes("save", affine=True),
    "directional-regression": classes("directional-regression", affine=True),
    "dpca": classes("dpca", degree=2, copies=1),
    "phd": responses("phd", affine=True, response=1),
    "gkdr": responses(
        "gkdr",
        degree=-2,
        copies=None,  # and y in other units, beside a width of y that is given, is another problem
        parameters={"width": 3.0, "response_width": 2.0},
        scaled={"width": 1},
    ),
    "opca": beside("opca", affine=True),
    "semi-supervised-da": _semi_supervised,
    "orthogonal-lda": classes("orthogonal-lda"),
    "orthogonal-maf": rows("orthogonal-maf", time=True),
    "orthogonal-lpp": graph("orthogonal-lpp"),
    "orthogonal-npe": graph("orthogonal-npe", True, copies=None),
    "orthogonal-sfa": rows("orthogonal-sfa", time=True),
    "orthogonal-cca": two("orthogonal-cca"),
    "reduced-rank-regression": two("reduced-rank-regression", degree=2, copies=1),
    "least-squares": responses(
        "least-squares", several=True, flat=True, affine=True, copies=1, response=2
    ),
    "ridge-regression": responses(
        "ridge-regression",
        several=True,
        flat=True,
        copies=1,
        response=2,
        parameters={"penalty": 3.0},
        scaled={"penalty": 2},
        copied={"penalty": 1},
    ),
    "lasso": responses(
        "lasso",
        turns=False,
        flat=True,
        copies=1,
        response=2,
        parameters={"penalty": 20.0},
        scaled={"penalty": 1},
        copied={"penalty": 1},
    ),
    "principal-components-regression": responses(
        "principal-components-regression", degree=2, copies=1, response=0
    ),
    "pls-regression": responses("pls-regression", several=True, copies=1, response=2),
    "ppca": likelihood("ppca"),
    "fa": likelihood("fa", turns=False),
    "sdr": _kernel("sdr", labels=False),
    "sdr labels": _kernel("sdr", labels=True),
    "hsic": _kernel("hsic", labels=False),
    "hsic labels": _kernel("hsic", labels=True),
    "dynamics": rows("dynamics", degree=2, time=True),
    "dynamics skew": rows("dynamics", degree=2, time=True, parameters={"skew": True}),
    "uica": rows("uica", affine=True),
    "ica": rows("ica", affine=True),
    "sparse-pca": rows(
        "sparse-pca",
        turns=False,
        degree=2,
        copies=1,
        parameters={"penalty": 20.0},
        scaled={"penalty": 2},
        copied={"penalty": 1},
    ),
    # a penalty is refused beside a column that does not vary
    "sparse-lda": classes(
        "sparse-lda", turns=False, parameters={"penalty": 0.3}, ignores_constants=False
    ),
    # M with its length in a column that does not vary correlates as well, at a lower penalty
    "sparse-cca": two(
        "sparse-cca", turns=False, parameters={"penalty": 0.05}, ignores_constants=False
    ),
    "mds-stress": rows("mds-stress", degree=2, copies=2),
    "mds-stress sammon": rows(
        "mds-stress", degree=1, copies=None, parameters={"weights": "sammon"}
    ),
    "lmnn": classes("lmnn", copies=None),
    "nca": classes("nca", copies=None, flat=True),
    # beside zeros M can shrink the projection, as for kernels: reg has a unit
    "wda": classes("wda", parameters={"reg": 5.0}, scaled={"reg": 2}, ignores_constants=False),
    "robust-pca": rows("robust-pca", degree=1, copies=1),
    "robust-pca sphere": rows("robust-pca", degree=0, copies=1, parameters={"sphere": True}),
    "robust-pca huber": rows(
        "robust-pca",
        degree=2,
        copies=1,
        parameters={"loss": "huber", "threshold": 2.0},
        scaled={"threshold": 1},
    ),
    "log-det-pca": _log_det,
}


@dataclass(frozen=True)
class Difference:
    """A pair that has two answers."""

    method: str
    change: str
    index: int
    seed: int
    figures: str

    def __str__(self) -> str:
        return (
            f"compare({self.method!r}, {self.change!r}, {self.index}, {self.seed}): {self.figures}"
        )


def solve(given: Given, starts: int | None = None) -> Any:
    return solved(given.method, given.X, given.r, y=given.y, starts=starts, **given.parameters)


def solve_other(other: Same, starts: int | None = None) -> Any:
    """The second problem of a pair, in its container."""
    given = other.given
    if other.container is None:
        return solve(given, starts)
    with tempfile.TemporaryDirectory() as folder:
        handed = [other.container(x, Path(folder)) for x in given.matrices]
        return solve(replace(given, X=given.of(handed)), starts)


def from_the_better(given: Given, other: Same, first: Any, second: Any) -> tuple[Any, Any]:
    """The problem with the worse answer solved again, from the projection that is the better one.

    Where that is as good there, both problems are the same function, of which either solution is a
    local optimum.
    """
    sign = 1.0 if first.objective.sense == "max" else -1.0
    behind = sign * (other.factor * first.value + other.term - second.value) < 0
    result, source = (second, other.given) if behind else (first, given)
    target = given if behind else other.given
    rows = [slice(None) if one is given or other.rows is None else other.rows
            for one in (source, target)]  # fmt: skip
    scores = result.transform(source.X[0] if source.background else source.X)
    scores = scores if isinstance(scores, tuple) else (scores,)
    starts = [
        np.linalg.lstsq((X - X.mean(axis=0))[rows[1]], Y[rows[0]], rcond=None)[0]
        for X, Y in zip(target.matrices, scores, strict=False)
    ]
    start = starts[0] if len(starts) == 1 else tuple(starts)
    options = {"y": target.y, "start": start, "starts": 1, **target.parameters}
    again = solved(target.method, target.X, target.r, **options)
    return (again, second) if behind else (first, again)


def relative_difference(first: Any, second: Any, other: Same) -> float:
    """Of the values of both problems, the first one's in the second one's terms."""
    expected = other.factor * first.value + other.term
    size = abs(other.factor * first.value) + abs(other.term)
    return abs(second.value - expected) / size


def stated(first: Any, second: Any, other: Same) -> float:
    """By how much the certificates say that both may be off, as `relative_difference` counts.

    A claim within the range of a covariance says nothing of a problem that has lost no direction.
    """
    if sum(each.certificate.message.startswith("within") for each in (first, second)) == 1:
        return math.inf
    if not {first.certificate.kind, second.certificate.kind} <= {"global", "bound"}:
        return 0.0
    gaps = abs(other.factor) * first.certificate.gap + second.certificate.gap
    return gaps / (abs(other.factor * first.value) + abs(other.term))


def span_of_scores(given: Given, result: Any, rows: Any = None) -> Array:
    """Orthonormal columns, one matrix a view, that span what rows are projected to.

    Columns without scores are left out: an optimum of lower rank has an arbitrary M there.
    """
    X = given.X[0] if given.background else given.X
    scores = result.transform(X)
    scores = scores if isinstance(scores, tuple) else (scores,)
    if rows is not None:
        scores = tuple(Y[rows] for Y in scores)
    found = [np.linalg.svd(Y - Y.mean(axis=0), full_matrices=False) for Y in scores]
    return [U[:, s > 1e-9 * s[0]] for U, s, _ in found]


def compare(method: str, change: str, index: int, seed: int = SEED) -> Difference | None:
    """Solve both problems of a pair; None where they agree, or where the change is none."""
    rng = generator("pairs", method, seed, index)
    # few digits: exact in single precision, and in a + eps b
    made = METHODS[method](rng).with_columns(lambda i, x: np.round(x * 2**10) / 2**10)
    other = next(c for c in CHANGES if c.__name__ == change)(made, rng)
    if other is None:
        return None
    difference = partial(Difference, method, change, index, seed)
    try:
        first, second = solve(made), solve_other(other)
        off = relative_difference(first, second, other)
        kinds = {first.certificate.kind, second.certificate.kind}
        if not off <= TOLERANCE and not kinds.isdisjoint(("local", "none")):
            # rounding may lead to another local optimum: the best of several must agree
            first, second = solve(made, STARTS), solve_other(other, STARTS)
            off = relative_difference(first, second, other)
            if not off <= TOLERANCE:
                first, second = from_the_better(made, other, first, second)
                off = relative_difference(first, second, other)
    except REFUSALS as refusal:
        if other.container is not None:
            return None
        return difference(f"refused: {refusal}"[:200])
    if TOLERANCE < off <= stated(first, second, other):
        return None
    if not off <= TOLERANCE:
        kinds = f"{first.certificate.kind}, {second.certificate.kind}"
        return difference(f"values {first.value:.12g} and {second.value:.12g}: {off:.1e} ({kinds})")
    if made.flat:
        return None
    spans = span_of_scores(made, first), span_of_scores(other.given, second, other.rows)
    for a, b in zip(*spans, strict=True):
        angle = float(np.linalg.norm(a - b @ (b.T @ a)))
        if angle > APART:
            return difference(f"same value to {off:.1e}, but spans {angle:.1e} apart")
    return None
