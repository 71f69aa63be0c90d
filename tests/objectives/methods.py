"""Every method of the spectral half of the registry, on small random and on real data."""

import numpy as np
from scipy.spatial.distance import pdist, squareform

from ldr.objectives import REGISTRY, graphs
from ldr.objectives.data.opening import as_samples
from tests import real_data

N, D = 60, 7
_rng = np.random.default_rng(0)
LABELS = np.arange(N) % 3
X = np.cumsum(_rng.standard_normal((N, D)), axis=0) * 0.3
X = X + 2.0 * _rng.standard_normal((3, D))[LABELS] + _rng.standard_normal((N, D))
VIEWS = (X, X[:, :4] + _rng.standard_normal((N, 4)))
THREE_VIEWS = (*VIEWS, np.tanh(X[:, 2:]))
NOISE = _rng.standard_normal((45, D)) @ _rng.standard_normal((D, D))
RESPONSE = X[:, 0] + 0.1 * _rng.standard_normal(N)
RESPONSES = X[:, :3] @ _rng.standard_normal((3, 5)) + _rng.standard_normal((N, 5))
PARTIAL = np.where(np.arange(N) % 2, LABELS, -1)
DISTANCES = squareform(pdist(X))
YES_NO = (X > X.mean(axis=0)).astype(float)
GAPS = np.where(_rng.random(X.shape) < 0.1, np.nan, X)

# key: (name, X, y, parameters); the key's first word is the name.
RANDOM = {
    "pca": (X, None, {}),
    "mds": (X, None, {}),
    "mds-distances": (DISTANCES, None, {}),
    "autocovariance": (X, None, {"lag": 2}),
    "sfa": (X, None, {}),
    "sfa whitened": (X, None, {"whiten": True}),
    "sfa quadratic": (X[:, :3], None, {"whiten": True, "degree": 2}),
    "sfa derivatives": (X, None, {"derivatives": np.gradient(X, axis=0)}),
    "squared-difference": (X, None, {}),
    "squared-difference max": (X, None, {"extreme": "max", "lag": 2}),
    "olpp": (X, None, {}),
    "olpp classes": (X, LABELS, {"graph": "classes"}),
    "olpp epsilon": (X, None, {"graph": "epsilon", "epsilon": 6.0, "heat": "median"}),
    "onpp": (X, None, {}),
    "onpp classes": (X, LABELS, {"graph": "classes"}),
    "onpp class-neighbours": (X, LABELS, {"graph": "class-neighbours", "neighbours": 5}),
    "signal-noise": ((X, NOISE), None, {}),
    "contrastive-pca": ((X, NOISE), None, {"alpha": 2.0}),
    "pls": (VIEWS, None, {}),
    "maxdiff": (THREE_VIEWS, None, {}),
    "maxbet": (THREE_VIEWS, None, {}),
    "orthogonal-mcca": (THREE_VIEWS, None, {}),
    "mcca": (THREE_VIEWS, None, {}),
    "classical-lda": (X, LABELS, {}),
    "classical-cca": (VIEWS, None, {}),
    "lpp": (X, None, {"heat": "median"}),
    "lpp degree": (X, None, {"centre": "degree"}),
    "lpp class-neighbours": (X, LABELS, {"graph": "class-neighbours"}),
    "npe": (X, None, {}),
    "npe classes": (X, LABELS, {"graph": "classes"}),
    "classical-maf": (X, None, {}),
    "tica": (X, None, {"lag": 2}),
    "vamp": (X, None, {}),
    "vamp power": (X, None, {"power": 1, "lag": 2}),
    "csp": (X, LABELS % 2, {}),
    "csp trials": (X, LABELS % 2, {"average": "trials"}),
    "csp classes": (X, LABELS, {}),
    "spoc": (X, RESPONSE, {}),
    "xdawn": (X, np.arange(N) // 10 % 2, {}),
    "xdawn target": (X, np.arange(N) // 10 % 3, {"target": 1}),
    "ssd": (X, None, {}),
    "gcpca": ((X, NOISE), None, {}),
    "gcpca nested": ((X, NOISE), None, {"nested": True}),
    "classical-gcpca": ((X, NOISE), None, {}),
    "dca": (X, None, {"window": 2}),
    "foreca": (X, None, {"segment": 16}),
    "sir": (X, RESPONSE, {"slices": 5}),
    "save": (X, RESPONSE, {"slices": 5}),
    "directional-regression": (X, RESPONSE, {"slices": 5}),
    "phd": (X, RESPONSE, {}),
    "opca": ((X, NOISE), None, {}),
    "semi-supervised-da": (X, PARTIAL, {}),
    "lda": (X, LABELS, {}),
    "lda nested": (X, LABELS, {"nested": {1: 2.0, 2: 1.0}}),
    "maf": (X, None, {}),
    "orthogonal-lpp": (X, None, {}),
    "orthogonal-lpp nested": (X, None, {"nested": True}),
    "orthogonal-npe": (X, None, {}),
    "orthogonal-sfa": (X, None, {}),
    "cca": (VIEWS, None, {}),
    "reduced-rank-regression": ((X, RESPONSES), None, {}),
    "least-squares": (X, RESPONSES, {}),
    "ridge-regression": (X, RESPONSES, {"penalty": 3.0}),
    "lasso": (X, RESPONSES, {"penalty": 20.0}),
    "principal-components-regression": (X, RESPONSES, {}),
    "pls-regression": (X, RESPONSES, {}),
    "pls-regression nipals": (X, RESPONSES, {"algorithm": "nipals"}),
    "ppca": (X, None, {}),
    "ppca missing": (GAPS, None, {}),
    "exponential-family-pca": (YES_NO, None, {}),
    "fa": (X, None, {}),
    "fa missing": (GAPS, None, {}),
    "sdr": (X, RESPONSE, {}),
    "sdr labels": (X, LABELS, {}),
    "sdr landmarks": (X, RESPONSE, {"landmarks": 20}),
    "gkdr": (X, RESPONSE, {}),
    "gkdr labels": (X, LABELS, {"epsilon": 0.01, "width": 3.0}),
    "dpca": (X, LABELS, {}),
    "hsic": (X, RESPONSE, {}),
    "hsic landmarks": (X, RESPONSES, {"landmarks": 20}),
    "hsic unsupervised": (X, None, {}),
    "hsic unsupervised landmarks": (X, None, {"landmarks": 20}),
    "dynamics": (X, None, {}),
    "dynamics skew": (X, None, {"skew": True}),
    "dynamics derivatives": (X, None, {"derivatives": np.gradient(X, axis=0)}),
    "uica": (X, None, {}),
    "uica student": (X, None, {"expert": "student-t", "degrees": 4.0}),
    "ica": (X, None, {}),
    "ica kurtosis": (X, None, {"contrast": "kurtosis"}),
    "ica exp": (X, None, {"contrast": "exp"}),
    "sparse-pca": (X, None, {"penalty": 20.0}),
    "sparse-lda": (X, LABELS, {"penalty": 0.3}),
    "sparse-cca": (VIEWS, None, {"penalty": 0.05}),
    "mds-stress": (X, None, {}),
    "mds-stress sammon": (X, None, {"weights": "sammon"}),
    "lmnn": (X, LABELS, {}),
    "lmnn linear": (X, LABELS, {"hinge": "linear", "width": 1.0}),
    "nca": (X, LABELS, {}),
    "wda": (X, LABELS, {"reg": 5.0}),
    "robust-pca": (X, None, {}),
    "robust-pca huber": (X, None, {"loss": "huber"}),
    "log-det-pca": (X, None, {}),
}


def name_of(key):
    return key.split()[0]


def untested():
    """Methods of the registry that have no data here, and so no test of their derivatives."""
    return set(REGISTRY) - set(map(name_of, RANDOM))


def _tumours():
    X, y = real_data.breast_cancer()
    return real_data.standardised(X), y


def _halves(which):
    X, y = _tumours()
    return X[y == which], X[y != which]


def _some_labels(X_y):
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
    "classical-lda": (lambda: (*real_data.digits(), {}), 5),
    "classical-cca": (lambda: (real_data.linnerud(), None, {}), 3),
    "lpp": (lambda: (real_data.wine()[0], None, {"heat": "median"}), 2),
    "lpp classes": (lambda: (*real_data.digits(), {"graph": "classes"}), 5),
    "npe": (lambda: (real_data.wine()[0], None, {}), 2),
    "classical-maf": (lambda: (real_data.stocks(), None, {}), 3),
    "tica": (lambda: (real_data.stocks(), None, {}), 3),
    "vamp": (lambda: (real_data.elevation(), None, {}), 3),
    "csp": (lambda: (*real_data.strips(), {}), 3),
    "spoc": (lambda: (real_data.strips()[0], np.arange(60) % 30, {}), 3),
    "xdawn": (lambda: (*real_data.strips(), {}), 3),
    "ssd": (lambda: (real_data.elevation(), None, {"signal": (0.06, 0.1)}), 3),
    "gcpca": (lambda: (_halves(0), None, {}), 3),
    "classical-gcpca": (lambda: (_halves(0), None, {}), 3),
    "dca": (lambda: (real_data.stocks(), None, {"window": 2}), 2),
    "foreca": (lambda: (real_data.stocks(), None, {}), 2),
    "sir": (lambda: (*real_data.diabetes(), {}), 2),
    "save": (lambda: (*real_data.diabetes(), {}), 2),
    "directional-regression": (lambda: (*real_data.diabetes(), {}), 2),
    "phd": (lambda: (*real_data.diabetes(), {}), 2),
    "opca": (lambda: (_halves(0), None, {}), 3),
    "semi-supervised-da": (lambda: (*_some_labels(real_data.digits()), {}), 5),
    "lda": (lambda: (*real_data.digits(), {}), 5),
    "maf": (lambda: (real_data.stocks(), None, {}), 3),
    "maf nested": (lambda: (real_data.stocks(), None, {"nested": (1, 3)}), 3),
    "orthogonal-lpp": (lambda: (real_data.digits()[0], None, {}), 5),
    "orthogonal-npe": (lambda: (real_data.digits()[0], None, {}), 5),
    "orthogonal-sfa": (lambda: (real_data.elevation(), None, {}), 3),
    "cca": (lambda: (real_data.tumour_views(), None, {}), 3),
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
    "sparse-pca": (
        lambda: (real_data.standardised(real_data.wine()[0]), None, {"penalty": 50.0}),
        3,
    ),
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


def knn(X, neighbours=10, heat=None):
    return graphs.neighbour_graph(as_samples(X), neighbours, heat)
