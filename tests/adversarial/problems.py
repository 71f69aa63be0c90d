"""Problems of every method that has a closed form or a certificate, each with its reference."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse

from tests.adversarial import data
from tests.adversarial.campaign import maker
from tests.adversarial.extended import DEPENDENT, centred, extended
from tests.adversarial.references import (
    Correlations,
    Factors,
    Form,
    Gaussian,
    LeastSquares,
    LogDeterminant,
    Motion,
    Ratio,
    Reconstruction,
    ReducedRank,
    Reference,
    Save,
    Singular,
    Trace,
    TwoBlocks,
    Whitened,
    covariance,
    lagged,
)


@dataclass
class Problem:
    """What is solved, and from what the optimum is known."""

    X: Any
    r: int
    reference: Callable[[], Reference]
    y: Any = None
    parameters: dict[str, Any] = field(default_factory=dict)
    made: str = ""
    groups: Any = None


def _rows(rng):
    n, d = data.shape(rng)
    return data.ugly(rng, n, d)


def _dimension(rng, most):
    """1, all, or something between."""
    return int(rng.choice([1, most, rng.integers(1, most + 1)]))


def _contained(rng, made):
    """The rows as an array in one order or the other, or sparse; and what was done to them."""
    container = str(rng.choice(["", "", "Fortran order", "sparse"]))
    if container == "Fortran order":
        return np.asfortranarray(made.X), f"{made.made}, {container}"
    if container == "sparse":
        return scipy.sparse.csr_array(made.X), f"{made.made}, {container}"
    return made.X, made.made


@maker
def of_rows(rng, sense, form, **parameters):
    """A trace of a form of the centred rows."""
    made = _rows(rng)
    X = made.X
    r = _dimension(rng, X.shape[1])
    rows, name = _contained(rng, made)
    return Problem(rows, r, lambda: form(sense, centred(X), r), parameters=parameters, made=name)


def _changes(X):
    return Form.squares(X[1:] - X[:-1])


def _pca(sense, X, r):
    return Reconstruction(X, r)


def _trace(form):
    return lambda sense, X, r: Trace(sense, form(X), r, X)


def _whitened(form):
    return lambda sense, X, r: Whitened(sense, form(X), X / np.sqrt(extended(len(X))), r)


def _ratio(form, below=covariance):
    return lambda sense, X, r: Ratio(sense, form(X), below(X), r, X)


def _quadratic(sense, X, r):
    i, j = np.triu_indices(X.shape[1])
    return _whitened(_changes)(sense, centred(np.hstack([X, X[:, i] * X[:, j]])), r)


def quadratic(rng):
    made = data.ugly(rng, int(rng.integers(15, 30)), int(rng.integers(1, 4)))
    # columns and their products 2^100 apart are beyond what dependent ones can be told apart in
    X = made.X / 2.0 ** np.round(np.log2(np.abs(made.X - made.X.mean(axis=0)).max() or 1.0))
    r = int(rng.integers(1, 3))
    return Problem(
        X,
        r,
        lambda: _quadratic("min", centred(X), r),
        parameters={"whiten": True, "degree": 2},
        made=made.made,
    )


def distances(rng):
    n = int(rng.integers(4, 13))
    made = data.ugly(rng, n, int(rng.integers(1, 6)))
    between = np.abs(made.X[:, None] - made.X)
    D = between.sum(axis=2) if rng.random() < 0.5 else np.sqrt((between**2).sum(axis=2))
    r = int(rng.integers(1, 4))

    def reference():
        half = centred(-(extended(D) ** 2) / 2)
        B = half - half.mean(axis=1)[:, None]
        form = Form((2 * extended(n), np.eye(n), (B + B.T) / 2))
        return Trace("max", form, r, np.eye(n))

    return Problem(D, r, reference, made=made.made)


# Classes


def class_rows(X, y):
    """Centred rows, and rows whose squares are S_W and S_B."""
    total = centred(X)
    classes = np.unique(y)
    means = np.stack([total[y == c].mean(axis=0) for c in classes])
    within = total - means[np.searchsorted(classes, y)]
    # of a column that is constant within each class, only its rounding is left
    size, length = (np.abs(rows).max(axis=0, initial=0) for rows in (within, total))
    within = np.where(size <= DEPENDENT * length, 0, within)
    sizes = np.array([np.sum(y == c) for c in classes])
    return total, within, np.sqrt(extended(sizes))[:, None] * means


def _classical_lda(X, y, r):
    total, within, between = class_rows(X, y)
    return Whitened("max", Form.squares(between), within, r, total)


def _lda(X, y, r):
    total, within, between = class_rows(X, y)
    return Ratio("max", Form.squares(between), Form.squares(within), r, total)


def _sir(X, y, r):
    total, _, between = class_rows(X, y)
    n = extended(len(total))
    return Whitened("max", Form.squares(between, 1 / n), total / np.sqrt(n), r)


def _save(X, y, r):
    return Save(centred(X), y, r)


def _class_graph_trace(X, y, r):
    total, within, _ = class_rows(X, y)
    return Trace("min", Form.squares(within), r, total)


def _class_graph_whitened(X, y, r):
    total, within, _ = class_rows(X, y)
    return Whitened("min", Form.squares(within), total, r)


def _class_graph_ratio(X, y, r):
    total, within, _ = class_rows(X, y)
    return Ratio("min", Form.squares(within), Form.squares(total), r, total)


@maker
def of_classes(rng, reference, **parameters):
    made = _rows(rng)
    X = made.X
    y = data.labels(rng, len(X))
    if rng.random() < 0.5:  # told apart by something
        X = X + rng.standard_normal((y.max() + 1, X.shape[1]))[y] * data.spreads(X)
    r = _dimension(rng, X.shape[1])
    rows, name = _contained(rng, data.Ugly(X, made.made))
    return Problem(rows, r, lambda: reference(X, y, r), y=y, parameters=parameters, made=name)


# Graphs


def _weights(rng, n):
    """Symmetric weights, some rows without a neighbour."""
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.4), 1)
    return W + W.T


def _edges(X, W):
    """Rows whose squares are X'LX."""
    i, j = np.nonzero(np.triu(W, 1))
    return np.sqrt(extended(W[i, j]))[:, None] * (X[i] - X[j])


def _weighted(X, W):
    """Rows whose squares are X'DX."""
    return np.sqrt(extended(W).sum(axis=1))[:, None] * X


def _residuals(X, W):
    return X - extended(W) @ X


@maker
def of_graph(rng, sense, rows, below=None, *, ratio=False, reconstruction=False):
    """A graph method with weights of the user's: `rows` make A, `below` makes B."""
    made = _rows(rng)
    X = made.X
    W = _weights(rng, len(X))
    if reconstruction:
        W = W / np.maximum(W.sum(axis=1), 1e-300)[:, None]
    r = _dimension(rng, X.shape[1])

    def reference():
        Z = centred(X)
        A = Form.squares(rows(Z, W), numbers=np.sum(_weighted(Z, W) ** 2))
        if below is None:
            return Trace(sense, A, r, Z)
        if ratio:
            return Ratio(sense, A, Form.squares(below(Z, W)), r, below(Z, W))
        return Whitened(sense, A, below(Z, W), r)

    return Problem(X, r, reference, parameters={"graph": scipy.sparse.csr_array(W)}, made=made.made)


def semi_supervised(rng):
    made = _rows(rng)
    X = made.X
    y = np.where(rng.random(len(X)) < 0.4, -1, data.labels(rng, len(X)))
    W = _weights(rng, len(X))
    r = _dimension(rng, X.shape[1])

    def reference():
        Z = centred(X)
        total, _, between = class_rows(X[y >= 0], y[y >= 0])
        rows = np.vstack([total, np.sqrt(extended(0.1)) * _edges(Z, W)])
        return Whitened("max", Form.squares(between), rows, r)

    parameters = {"graph": scipy.sparse.csr_array(W)}
    return Problem(X, r, reference, y=y, parameters=parameters, made=made.made)


# Two matrices


def _pair(rng, same_columns):
    n, d = data.shape(rng)
    first = data.ugly(rng, n, d)
    m, k = (int(rng.integers(3, 30)), d) if same_columns else (n, int(rng.integers(1, 6)))
    second = data.ugly(rng, m, k)
    return first.X, second.X, f"{first.made}, {second.made}"


@maker
def background(rng, reference, **parameters):
    X, noise, made = _pair(rng, same_columns=True)
    r = _dimension(rng, X.shape[1])
    return Problem((X, noise), r, lambda: reference(X, noise, r), parameters=parameters, made=made)


def _contrast(alpha):
    def reference(X, noise, r):
        X, Z = centred(X), centred(noise)
        return Trace("max", covariance(X) + covariance(Z).times(-alpha), r, np.eye(X.shape[1]))

    return reference


def _opca(X, noise, r):
    X = centred(X)
    G = extended(noise) / np.sqrt(extended(len(noise)))
    return Whitened("max", covariance(X), G, r, np.vstack([X, G]))


@maker
def views(rng, reference, **parameters):
    Xa, Xb, made = _pair(rng, same_columns=False)
    if rng.random() < 0.5 and Xb.std() > 0:  # with something in common
        k = min(Xa.shape[1], Xb.shape[1])
        Xb = Xb.copy()
        spread = data.spreads(Xa[:, :k])
        Xb[:, :k] += Xa[:, :k] / np.where(spread > 0, spread, 1) * Xb.std()
    r = _dimension(rng, min(Xa.shape[1], Xb.shape[1]))
    return Problem(
        (Xa, Xb),
        r,
        lambda: reference(centred(Xa), centred(Xb), r),
        parameters=parameters,
        made=made,
    )


def _two_blocks(Xa, Xb, r):
    return TwoBlocks(Xa, Xb, r, np.random.default_rng(0))


# Regression and likelihoods


@maker
def regression(rng, penalty=None, *, outputs=3, columns=8):
    """Without a penalty, or with `LeastSquares`' "ridge" or "lasso"."""
    n, d = data.shape(rng)
    made = data.ugly(rng, n, min(d, columns))
    X = made.X
    q = int(rng.integers(1, outputs + 1))
    spread = data.spreads(X)
    Z = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)
    Y = Z @ rng.standard_normal((Z.shape[1], q)) + 0.3 * rng.standard_normal((n, q))
    amount = 10.0 ** rng.uniform(-3, 2)
    penalties = {penalty: amount} if penalty else {}
    return Problem(
        X,
        _dimension(rng, X.shape[1]),
        lambda: LeastSquares(centred(X), centred(Y), **penalties),
        y=Y,
        parameters={"penalty": amount} if penalty else {},
        made=made.made,
    )


def components_regression(rng):
    base = of_rows("max", _trace(Form.squares))(rng)
    base.y = rng.standard_normal(base.X.shape[0])
    return base


@maker
def likelihood(rng, reference):
    n, d = data.shape(rng)
    made = data.ugly(rng, n, max(d, 2))
    X = made.X
    r = int(rng.integers(1, max(2, X.shape[1] - 1)))
    return Problem(X, r, lambda: reference(centred(X), r), made=made.made)


@maker
def motion(rng, skew):
    made = _rows(rng)
    X = made.X
    r = _dimension(rng, X.shape[1])
    return Problem(
        X,
        r,
        lambda: Motion(centred(X), r, np.random.default_rng(0), skew),
        parameters={"skew": skew},
        made=made.made,
    )


def _lag(lag):
    return lambda X: lagged(X, lag)


def _difference(lag):
    return lambda X: covariance(X) + lagged(X, lag).times(-1)


# key: how a problem is made; its first word is the method.
METHODS = {
    "pca": of_rows("min", _pca),
    "mds": of_rows("max", _trace(lambda X: Form.squares(X, 2 * len(X)))),
    "mds-distances": distances,
    "autocovariance": of_rows("max", _trace(_lag(1))),
    "autocovariance lag": of_rows("max", _trace(_lag(2)), lag=2),
    "sfa": of_rows("min", _trace(_changes)),
    "sfa whitened": of_rows("min", _whitened(_changes), whiten=True),
    "sfa quadratic": quadratic,
    "squared-difference": of_rows("min", _trace(_difference(1))),
    "squared-difference max": of_rows("max", _trace(_difference(1)), extreme="max"),
    "olpp": of_graph("min", _edges),
    "olpp classes": of_classes(_class_graph_trace, graph="classes"),
    "onpp": of_graph("min", _residuals, reconstruction=True),
    "onpp classes": of_classes(_class_graph_trace, graph="classes"),
    "signal-noise": background(_contrast(1)),
    "contrastive-pca": background(_contrast(2), alpha=2.0),
    "pls": views(Singular),
    "lda": of_classes(_classical_lda),
    "cca": views(Correlations),
    "lpp": of_graph("min", _edges, _weighted),
    "lpp classes": of_classes(_class_graph_whitened, graph="classes"),
    "npe": of_graph("min", _residuals, lambda X, W: X, reconstruction=True),
    "npe classes": of_classes(_class_graph_whitened, graph="classes"),
    "maf": of_rows("max", _whitened(_lag(1))),
    "sir": of_classes(_sir),
    "save": of_classes(_save),
    "opca": background(_opca),
    "semi-supervised-da": semi_supervised,
    "orthogonal-lda": of_classes(_lda),
    "orthogonal-maf": of_rows("max", _ratio(_lag(1))),
    "orthogonal-lpp": of_graph("min", _edges, _weighted, ratio=True),
    "orthogonal-lpp classes": of_classes(_class_graph_ratio, graph="classes"),
    "orthogonal-npe": of_graph("min", _residuals, lambda X, W: X, ratio=True, reconstruction=True),
    "orthogonal-sfa": of_rows("min", _ratio(_changes)),
    "orthogonal-cca": views(_two_blocks),
    "reduced-rank-regression": views(ReducedRank),
    "least-squares": regression(),
    "ridge-regression": regression("ridge"),
    "lasso": regression("lasso", columns=4, outputs=2),
    "principal-components-regression": components_regression,
    "ppca": likelihood(Gaussian),
    "fa": likelihood(Factors),
    "dynamics": motion(skew=False),
    "dynamics skew": motion(skew=True),
    "log-det-pca": of_rows("max", lambda sense, X, r: LogDeterminant(X, r)),
}
