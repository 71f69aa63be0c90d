"""The example on real data on the page of each method, from what the method needs."""

from __future__ import annotations

from pathlib import Path

from ldr.objectives import REGISTRY
from ldr.objectives.parameters import Need

# Programs that define the data of the examples. All of them come with scikit-learn.
DATA = {
    path.stem.replace("-", " "): path.read_text(encoding="utf-8")
    for path in Path(__file__).parent.glob("examples/data/*.py")
}

# What the picture shows, where it is not the rows solved for, coloured by y.
_PLOTS = {
    "background": "result.plot_projection(Z, diagnosis)",
    "some labels": "result.plot_projection(X, wine.target_names[cultivar])",
    "lines": "result.plot_projection(X)",
    "pixels": "result.plot_projection(means, np.repeat(np.arange(10), 8))",
    "trials": "ldr.plots.biplot(result, X.rows, y[X.ids])",
    "reactions": "ldr.plots.biplot(result, X.rows, y[X.ids])",
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
    "log-det-pca": ("tumours", "2"),
    "mds": ("bright pixels", "2"),
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
    "spoc": ("reactions", "2, y=y"),
    "xdawn": ("trials", '2, y=y, target="right"'),
    "ssd": ("lines", "2, signal=(0.04, 0.08), noise=(0.02, 0.16)"),
    "contrastive-pca": ("background", "2, alpha=3.0"),
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
