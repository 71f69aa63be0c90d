"""Every method of the spectral half of the registry, on small random and on real data."""

from dataclasses import fields
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from ldr.inputs import as_data, as_objective
from ldr.objectives import REGISTRY
from ldr.objectives.families.stated import StatedMethod
from ldr.objectives.parameters import Need
from tests import real_data

# Of several blocks, with local optima; certified where the dual bound is tight.
OF_VIEWS = {"orthogonal-cca", "maxdiff", "maxbet", "orthogonal-mcca"}
# Objectives without a closed form or a certificate: local optima, of which solvers find one.
ITERATIVE = {"fa", "sdr", "hsic", "dynamics", "ica", "uica", "sparse-pca"}
ITERATIVE |= {"mds-stress", "lmnn", "nca", "wda", "robust-pca", "sparse-lda", "sparse-cca"}
ITERATIVE |= {"dca", "foreca", "exponential-family-pca"}


def drawn(n, d):
    """Random data of every kind."""
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 3
    X = np.cumsum(rng.standard_normal((n, d)), axis=0) * (0.3 * np.sqrt(60 / n))
    X = X + 2.0 * rng.standard_normal((3, d))[labels] + rng.standard_normal((n, d))
    some = 4 * d // 7
    views = (X, X[:, :some] + rng.standard_normal((n, some)))
    noise = rng.standard_normal((3 * n // 4, d)) @ rng.standard_normal((d, d))
    response = X[:, 0] + 0.1 * rng.standard_normal(n)
    return SimpleNamespace(
        X=X,
        LABELS=labels,
        VIEWS=views,
        THREE_VIEWS=(*views, np.tanh(X[:, 2:])),
        NOISE=noise,
        RESPONSE=response,
        RESPONSES=X[:, :3] @ rng.standard_normal((3, 5)) + rng.standard_normal((n, 5)),
        PARTIAL=np.where(np.arange(n) % 2, labels, -1),
        DISTANCES=squareform(pdist(X)),
        YES_NO=(X > X.mean(axis=0)).astype(float),
        GAPS=np.where(rng.random(X.shape) < 0.1, np.nan, X),
        EPSILON=6.0 * np.sqrt(d / 7),
    )


def _by_need(cls, of):
    """What the method needs, with its default parameters."""
    if cls.views > 1:
        return of.VIEWS, None, {}
    if Need.BACKGROUND in cls.needs:
        return (of.X, of.NOISE), None, {}
    if Need.DISTANCES in cls.needs:
        return of.DISTANCES, None, {}
    y = {Need.LABELS: of.LABELS, Need.RESPONSE: of.RESPONSE}
    return of.X, next((y[need] for need in cls.needs if need in y), None), {}


def cases(of):
    """key: (X, y, parameters); the key's first word is the name. Every method has one."""
    return {name: _by_need(cls, of) for name, cls in REGISTRY.items()} | {
        "autocovariance": (of.X, None, {"lag": 2}),
        "sfa whitened": (of.X, None, {"whiten": True}),
        "sfa quadratic": (of.X[:, :3], None, {"whiten": True, "degree": 2}),
        "sfa derivatives": (of.X, None, {"derivatives": np.gradient(of.X, axis=0)}),
        "squared-difference max": (of.X, None, {"extreme": "max", "lag": 2}),
        "olpp classes": (of.X, of.LABELS, {"graph": "classes"}),
        "olpp epsilon": (of.X, None, {"graph": "epsilon", "epsilon": of.EPSILON, "heat": "median"}),
        "onpp classes": (of.X, of.LABELS, {"graph": "classes"}),
        "onpp class-neighbours": (of.X, of.LABELS, {"graph": "class-neighbours", "neighbours": 5}),
        "contrastive-pca": ((of.X, of.NOISE), None, {"alpha": 2.0}),
        "maxdiff": (of.THREE_VIEWS, None, {}),
        "maxbet": (of.THREE_VIEWS, None, {}),
        "orthogonal-mcca": (of.THREE_VIEWS, None, {}),
        "mcca": (of.THREE_VIEWS, None, {}),
        "lpp": (of.X, None, {"heat": "median"}),
        "lpp degree": (of.X, None, {"centre": "degree"}),
        "lpp class-neighbours": (of.X, of.LABELS, {"graph": "class-neighbours"}),
        "npe classes": (of.X, of.LABELS, {"graph": "classes"}),
        "tica": (of.X, None, {"lag": 2}),
        "vamp power": (of.X, None, {"power": 1, "lag": 2}),
        "csp": (of.X, of.LABELS % 2, {}),
        "csp trials": (of.X, of.LABELS % 2, {"average": "trials"}),
        "csp classes": (of.X, of.LABELS, {}),
        "xdawn": (of.X, np.arange(len(of.X)) // 10 % 2, {}),
        "xdawn target": (of.X, np.arange(len(of.X)) // 10 % 3, {"target": 1}),
        "orthogonal-gcpca nested": ((of.X, of.NOISE), None, {"nested": True}),
        "dca": (of.X, None, {"window": 2}),
        "foreca": (of.X, None, {"segment": 10}),
        "sir": (of.X, of.RESPONSE, {"slices": 5}),
        "save": (of.X, of.RESPONSE, {"slices": 5}),
        "directional-regression": (of.X, of.RESPONSE, {"slices": 5}),
        "semi-supervised-da": (of.X, of.PARTIAL, {}),
        "orthogonal-lda nested": (of.X, of.LABELS, {"nested": {1: 2.0, 2: 1.0}}),
        "orthogonal-lpp nested": (of.X, None, {"nested": True}),
        "reduced-rank-regression": ((of.X, of.RESPONSES), None, {}),
        "least-squares": (of.X, of.RESPONSES, {}),
        "ridge-regression": (of.X, of.RESPONSES, {"penalty": 3.0}),
        "lasso": (of.X, of.RESPONSES, {"penalty": 20.0}),
        "principal-components-regression": (of.X, of.RESPONSES, {}),
        "pls-regression": (of.X, of.RESPONSES, {}),
        "pls-regression nipals": (of.X, of.RESPONSES, {"algorithm": "nipals"}),
        "ppca missing": (of.GAPS, None, {}),
        "exponential-family-pca": (of.YES_NO, None, {}),
        "fa missing": (of.GAPS, None, {}),
        "sdr labels": (of.X, of.LABELS, {}),
        "sdr landmarks": (of.X, of.RESPONSE, {"landmarks": 20}),
        "gkdr labels": (of.X, of.LABELS, {"epsilon": 0.01, "width": 3.0}),
        "dpca": (of.X, of.LABELS, {}),
        "hsic": (of.X, of.RESPONSE, {}),
        "hsic landmarks": (of.X, of.RESPONSES, {"landmarks": 20}),
        "hsic unsupervised": (of.X, None, {}),
        "hsic unsupervised landmarks": (of.X, None, {"landmarks": 20}),
        "dynamics skew": (of.X, None, {"skew": True}),
        "dynamics derivatives": (of.X, None, {"derivatives": np.gradient(of.X, axis=0)}),
        "uica student": (of.X, None, {"expert": "student-t", "degrees": 4.0}),
        "ica kurtosis": (of.X, None, {"contrast": "kurtosis"}),
        "ica exp": (of.X, None, {"contrast": "exp"}),
        "sparse-pca": (of.X, None, {"penalty": 20.0}),
        "sparse-lda": (of.X, of.LABELS, {"penalty": 0.3}),
        "sparse-cca": (of.VIEWS, None, {"penalty": 0.05}),
        "mds-stress sammon": (of.X, None, {"weights": "sammon"}),
        "lmnn linear": (of.X, of.LABELS, {"hinge": "linear", "width": 1.0}),
        "wda": (of.X, of.LABELS, {"reg": 5.0}),
        "robust-pca huber": (of.X, None, {"loss": "huber"}),
        "robust-pca sphere": (of.X, None, {"sphere": True}),
    }


N, D = 60, 7
SMALL = drawn(N, D)
X, VIEWS, THREE_VIEWS, NOISE = SMALL.X, SMALL.VIEWS, SMALL.THREE_VIEWS, SMALL.NOISE
LABELS, RESPONSE, RESPONSES = SMALL.LABELS, SMALL.RESPONSE, SMALL.RESPONSES
DISTANCES, GAPS = SMALL.DISTANCES, SMALL.GAPS
RANDOM = cases(SMALL)


def name_of(key):
    return key.split()[0]


def class_of(key):
    return REGISTRY[name_of(key)]


def parameters_of(key):
    return {field.name for field in fields(class_of(key))}


def is_stated(key):
    """Whether the method is stated as matrices, of which all derivatives are known."""
    return issubclass(class_of(key), StatedMethod)


def bound(objective, X, r=2, y=None, **parameters):
    """The problem of an objective, or of a method by its name."""
    objective = as_objective(objective, parameters)
    return objective.bind(as_data(objective, X, y), r)


@cache
def kind_of(key):
    """The class of the method's problem: problems of one class are solved by the same code."""
    X, y, parameters = RANDOM[key if key in RANDOM else name_of(key)]
    return type(bound(name_of(key), X, y=y, **parameters))


def by_kind(keys, also=()):
    """Parameters of a test: the first key of each kind and those of `also`; others are slow."""
    keys = list(keys)
    first = {kind_of(key): key for key in reversed(keys)}.values()
    return [
        pytest.param(key, marks=() if key in {*first, *also} else pytest.mark.slow) for key in keys
    ]


def _tumours():
    X, y = real_data.breast_cancer()
    return real_data.standardised(X), y


def _strips():
    X, y = real_data.strips()
    return real_data.by_time(X), y


def _halves(which):
    X, y = _tumours()
    return X[y == which], X[y != which]


def some_labels(X_y):
    X, y = X_y
    return X, np.where(np.arange(len(y)) % 5 == 0, y, -1)


def _gaps(X):
    """One entry in ten missing."""
    return np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)


def _cities():
    """Distances of wines as a metric that is not Euclidean."""
    return squareform(pdist(real_data.wine()[0], "cityblock"))


# key: (data, r), data giving (X, y, parameters); real data that come with scikit-learn, matplotlib.
REAL = {
    "pca": (lambda: (real_data.wine()[0], None, {}), 3),
    "mds": (lambda: (real_data.wine()[0], None, {}), 3),
    "mds-distances": (lambda: (_cities(), None, {}), 3),
    "autocovariance": (lambda: (real_data.stocks(), None, {}), 3),
    "sfa": (lambda: (real_data.elevation(), None, {}), 3),
    "sfa whitened": (lambda: (real_data.stocks(), None, {"whiten": True}), 3),
    "sfa quadratic": (lambda: (real_data.stocks(), None, {"whiten": True, "degree": 2}), 3),
    "squared-difference": (lambda: (real_data.stocks(), None, {}), 3),
    "squared-difference max": (lambda: (real_data.elevation(), None, {"extreme": "max"}), 3),
    "olpp": (lambda: (real_data.digits()[0], None, {}), 5),
    "olpp classes": (lambda: (*real_data.wine(), {"graph": "classes"}), 2),
    "onpp": (lambda: (real_data.digits()[0], None, {}), 5),
    "onpp class-neighbours": (lambda: (*real_data.digits(), {"graph": "class-neighbours"}), 5),
    "signal-noise": (lambda: (_halves(0), None, {}), 3),
    "contrastive-pca": (lambda: (_halves(0), None, {"alpha": 2.0}), 3),
    "pls": (lambda: (real_data.tumour_views(), None, {}), 3),
    "maxdiff": (lambda: (real_data.three_tumour_views(), None, {}), 2),
    "maxbet": (lambda: (real_data.three_tumour_views(), None, {}), 2),
    "mcca": (lambda: (real_data.three_tumour_views(), None, {}), 2),
    "orthogonal-mcca": (lambda: (real_data.three_tumour_views(), None, {}), 2),
    "lda": (lambda: (*real_data.digits(), {}), 5),
    "cca": (lambda: (real_data.linnerud(), None, {}), 3),
    "lpp": (lambda: (real_data.wine()[0], None, {"heat": "median"}), 2),
    "lpp classes": (lambda: (*real_data.digits(), {"graph": "classes"}), 5),
    "npe": (lambda: (real_data.wine()[0], None, {}), 2),
    "maf": (lambda: (real_data.stocks(), None, {}), 3),
    "tica": (lambda: (real_data.stocks(), None, {}), 3),
    "vamp": (lambda: (real_data.elevation(), None, {}), 3),
    "csp": (lambda: (*_strips(), {}), 3),
    "spoc": (lambda: (_strips()[0], np.arange(60) % 30, {}), 3),
    "xdawn": (lambda: (*_strips(), {}), 3),
    "ssd": (lambda: (real_data.elevation(), None, {"signal": (0.06, 0.1)}), 3),
    "orthogonal-gcpca": (lambda: (_halves(0), None, {}), 3),
    "gcpca": (lambda: (_halves(0), None, {}), 3),
    "dca": (lambda: (real_data.stocks(), None, {"window": 2}), 2),
    "foreca": (lambda: (real_data.stocks(), None, {}), 2),
    "sir": (lambda: (*real_data.diabetes(), {}), 2),
    "save": (lambda: (*real_data.diabetes(), {}), 2),
    "directional-regression": (lambda: (*real_data.diabetes(), {}), 2),
    "phd": (lambda: (*real_data.diabetes(), {}), 2),
    "opca": (lambda: (_halves(0), None, {}), 3),
    "semi-supervised-da": (lambda: (*some_labels(real_data.digits()), {}), 5),
    "orthogonal-lda": (lambda: (*real_data.digits(), {}), 5),
    "orthogonal-maf": (lambda: (real_data.stocks(), None, {}), 3),
    "orthogonal-maf nested": (lambda: (real_data.stocks(), None, {"nested": (1, 3)}), 3),
    "orthogonal-lpp": (lambda: (real_data.digits()[0], None, {}), 5),
    "orthogonal-npe": (lambda: (real_data.digits()[0], None, {}), 5),
    "orthogonal-sfa": (lambda: (real_data.elevation(), None, {}), 3),
    "orthogonal-cca": (lambda: (real_data.tumour_views(), None, {}), 3),
    "reduced-rank-regression": (lambda: (real_data.tumour_views(), None, {}), 3),
    "reduced-rank-regression pls": (
        lambda: (real_data.tumour_views(), None, {"heuristic": "pls"}),
        3,
    ),
    "least-squares": (lambda: (*real_data.diabetes(), {}), 2),
    "ridge-regression": (lambda: (*real_data.diabetes(), {"penalty": 0.1}), 2),
    "lasso": (lambda: (*real_data.diabetes(), {"penalty": 200.0}), 2),
    "principal-components-regression": (lambda: (*real_data.diabetes(), {}), 3),
    "pls-regression": (lambda: (*real_data.diabetes(), {}), 3),
    "ppca": (lambda: (real_data.wine()[0], None, {}), 3),
    "ppca missing": (lambda: (_gaps(real_data.wine()[0]), None, {}), 3),
    "exponential-family-pca": (lambda: (real_data.pixels(), None, {}), 2),
    "fa": (lambda: (real_data.wine()[0], None, {}), 2),
    "fa missing": (lambda: (_gaps(real_data.wine()[0]), None, {}), 2),
    "sdr": (lambda: (*real_data.wine(), {}), 2),
    "sdr landmarks": (lambda: (*real_data.diabetes(), {"landmarks": 60}), 2),
    "gkdr": (lambda: (*real_data.diabetes(), {}), 2),
    "dpca": (lambda: (*real_data.wine(), {}), 2),
    "hsic": (lambda: (*real_data.wine(), {}), 2),
    "hsic unsupervised": (lambda: (real_data.wine()[0], None, {"landmarks": 60}), 2),
    "dynamics": (lambda: (real_data.stocks(), None, {}), 2),
    "dynamics skew": (lambda: (real_data.elevation(), None, {"skew": True}), 2),
    "uica": (lambda: (real_data.stocks(), None, {}), 2),
    "ica": (lambda: (real_data.stocks(), None, {}), 2),
    "sparse-pca": (lambda: (real_data.wine()[0], None, {"penalty": 50.0}), 3),
    "sparse-lda": (lambda: (*real_data.wine(), {}), 2),
    "sparse-cca": (lambda: (real_data.tumour_views(), None, {}), 2),
    "mds-stress": (lambda: (real_data.wine()[0], None, {}), 2),
    "mds-stress sammon": (lambda: (real_data.wine()[0], None, {"weights": "sammon"}), 2),
    "lmnn": (lambda: (*real_data.wine(), {}), 2),
    "nca": (lambda: (*(part[::3] for part in _tumours()), {}), 2),
    "wda": (lambda: (*real_data.wine(), {}), 2),
    "robust-pca": (lambda: (_tumours()[0], None, {}), 3),
    "robust-pca huber": (lambda: (real_data.stocks(), None, {"loss": "huber"}), 3),
    "log-det-pca": (lambda: (real_data.wine()[0], None, {}), 3),
}
