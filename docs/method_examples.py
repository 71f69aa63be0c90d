"""The example on real data on the page of each method, from what the method needs."""

from __future__ import annotations

from ldr.objectives import REGISTRY
from ldr.objectives.parameters import Need

# Programs that define the data of the examples. All of them come with scikit-learn.
DATA = {
    "wine": """
from sklearn.datasets import load_wine

wine = load_wine()  # 178 wines, 13 measurements, 3 cultivars
X, y = wine.data / wine.data.std(axis=0), wine.target_names[wine.target]
""",
    "some labels": """
import numpy as np
from sklearn.datasets import load_wine

wine = load_wine()  # 178 wines, 13 measurements, 3 cultivars
X, cultivar = wine.data / wine.data.std(axis=0), wine.target
y = np.where(np.arange(len(X)) % 5 == 0, cultivar, -1)  # one label in five is known
""",
    "distances": """
from sklearn.datasets import load_wine
from sklearn.metrics import pairwise_distances

wine = load_wine()  # 178 wines, 13 measurements, 3 cultivars
X = pairwise_distances(wine.data / wine.data.std(axis=0), metric="cityblock")
y = wine.target_names[wine.target]
""",
    "tumours": """
from sklearn.datasets import load_breast_cancer

tumours = load_breast_cancer()  # 569 of them, 30 measurements, 2 diagnoses
X, y = tumours.data / tumours.data.std(axis=0), tumours.target_names[tumours.target]
""",
    "two views": """
from sklearn.datasets import load_breast_cancer

tumours = load_breast_cancer()  # 569 of them, 2 diagnoses
Z, y = tumours.data / tumours.data.std(axis=0), tumours.target_names[tumours.target]
X = Z[:, :10], Z[:, 20:]  # ten measurements, summarised in two ways
""",
    "three views": """
from sklearn.datasets import load_breast_cancer

tumours = load_breast_cancer()  # 569 of them, 2 diagnoses
Z, y = tumours.data / tumours.data.std(axis=0), tumours.target_names[tumours.target]
X = {"means": Z[:, :10], "errors": Z[:, 10:20], "extremes": Z[:, 20:]}  # of ten measurements
""",
    "background": """
from sklearn.datasets import load_breast_cancer

tumours = load_breast_cancer()  # 569 of them, 30 measurements
Z, diagnosis = tumours.data / tumours.data.std(axis=0), tumours.target_names[tumours.target]
X = Z[diagnosis == "malignant"], Z[diagnosis == "benign"]  # against a background
""",
    "patients": """
from sklearn.datasets import load_diabetes

X, y = load_diabetes(return_X_y=True)  # 442 patients, 10 measurements, a score of the disease
""",
    "trials": """
import numpy as np
from sklearn.datasets import load_sample_images

photographs = [image[:420, ::40, 1] for image in load_sample_images().images]
lines = np.concatenate([image - image.mean(axis=0) for image in photographs])
X = ldr.trials(lines.reshape(60, 14, 16), "times, channels")
y = np.repeat(["temple", "flower"], 30)  # of sixty strips, fourteen lines of sixteen pixels each
""",
    "strips": """
import numpy as np
from sklearn.datasets import load_sample_image

lines = load_sample_image("china.jpg")[:420, ::40, 1]
X = ldr.trials((lines - lines.mean(axis=0)).reshape(30, 14, 16), "times, channels")
y = np.arange(30)  # how far down each strip of the photograph lies
""",
    "pixels": """
import numpy as np
from sklearn.datasets import load_digits

images, digit = load_digits(return_X_y=True)  # 1797 digits of 8 x 8 pixels
X = images.reshape(-1, 8)  # a row a line of an image
y = np.column_stack([np.repeat(digit, 8), np.tile(np.arange(8), len(digit))])
means = np.vstack([images[digit == k].mean(axis=0).reshape(8, 8) for k in range(10)])
""",
    "bright pixels": """
from sklearn.datasets import load_digits

X, y = load_digits(n_class=3, return_X_y=True)  # 537 images of 0, 1 and 2
X = 1.0 * (X > 8)  # which of 64 pixels are bright
""",
    "lines": """
from sklearn.datasets import load_sample_image

X = load_sample_image("china.jpg")[:, ::20, 1]  # 427 lines of a photograph, from top to bottom
""",
}

# What the picture shows, where it is not the rows solved for, coloured by y.
_PLOTS = {
    "background": "result.plot_projection(Z, diagnosis)",
    "some labels": "result.plot_projection(X, wine.target_names[cultivar])",
    "lines": "result.plot_projection(X)",
    "pixels": "result.plot_projection(means, np.repeat(np.arange(10), 8))",
    "trials": "result.plot_projection(X.rows, y[X.ids])",
    "strips": "result.plot_projection(X.rows, y[X.ids])",
}


# The data of the example, and the arguments of `ldr.solve` after the objective and X.
_BY_NEED = {
    Need.LABELS: ("wine", "2, y=y"),
    Need.RESPONSE: ("patients", "2, y=y"),
    Need.SECOND_VIEW: ("two views", "2"),
    Need.BACKGROUND: ("background", "2"),
    Need.TIME_ORDER: ("lines", "2"),
    Need.DISTANCES: ("distances", "2"),
}
# Those of methods for which other data or arguments show more.
_OWN = {
    "robust-pca": ("tumours", "2"),
    "sparse-pca": ("wine", "2, penalty=40.0"),
    "exponential-family-pca": ("bright pixels", "2"),
    "semi-supervised-da": ("some labels", "2, y=y"),
    "sparse-cca": ("two views", "1"),
    "mcca": ("three views", "2"),
    "maxdiff": ("three views", "2"),
    "maxbet": ("three views", "2"),
    "orthogonal-mcca": ("three views", "2"),
    "least-squares": ("patients", "1, y=y"),
    "ridge-regression": ("patients", "1, y=y, penalty=0.1"),
    "lasso": ("patients", "1, y=y, penalty=200.0"),
    "sfa": ("lines", "2, whiten=True"),
    "dca": ("lines", "2, window=3"),
    "csp": ("trials", "2, y=y"),
    "spoc": ("strips", "2, y=y"),
    "xdawn": ("trials", '2, y=y, target="temple"'),
    "ssd": ("lines", "2, signal=(0.04, 0.08), noise=(0.02, 0.16)"),
    "contrastive-pca": ("background", "2, alpha=1.0"),
    "sdr": ("wine", "2, y=y"),
    "dpca": ("pixels", "2, y=y, of=((0,), (0, 1))"),
    "gkdr": ("wine", "2, y=y"),
    "hsic": ("wine", "2, y=y"),
}


def example_of(name: str) -> tuple[str, str]:
    """The program on a method's page up to the result, and the expression of its picture."""
    fitting = (_BY_NEED[need] for need in REGISTRY[name].needs if need in _BY_NEED)
    data, arguments = _OWN.get(name) or next(fitting, ("wine", "2"))
    call = f'result = ldr.solve("{name}", X, {arguments})'
    program = f"import ldr\n{DATA[data].strip()}\n\n{call}\nprint(result)\n"
    return program, _PLOTS.get(data, "result.plot_projection(X, y)")
