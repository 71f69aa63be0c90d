"""The example on real data on the page of each method, from what the method needs."""

from __future__ import annotations

from pathlib import Path

from ldr.objectives import REGISTRY
from ldr.objectives.parameters import Need


def _programs(folder: str) -> dict[str, str]:
    """The programs of a folder of the examples, by name."""
    return {
        path.stem.replace("-", " "): path.read_text(encoding="utf-8").strip()
        for path in Path(__file__).parent.glob(f"examples/{folder}/*.py")
    }


# Programs that define the data of the examples: simulated, or of scikit-learn.
DATA = _programs("data")
# Programs that draw the picture where it is not the projection of X, coloured by y.
_DRAWN = _programs("plots")
_PLOTS = {
    "background": "figure = result.plot_projection(Z, diagnosis)",
    "some labels": "figure = result.plot_projection(X, wine.target_names[cultivar])",
    "lines": "figure = result.plot_projection(X)",
    "pixels": "figure = result.plot_projection(means, np.repeat(np.arange(10), 8))",
    "trials": _DRAWN["patterns"],
    "reactions": _DRAWN["patterns"],
    "mixtures": _DRAWN["time courses"],
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
    "ica": ("mixtures", "2, random_state=0"),
    "uica": ("mixtures", "2, random_state=0"),
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
    """The program on a method's page up to the result, and the program of its picture."""
    fitting = (_BY_NEED[need] for need in REGISTRY[name].needs if need in _BY_NEED)
    data, arguments = _OWN.get(name) or next(fitting, ("wine", "2"))
    call = f'result = ldr.solve("{name}", X, {arguments})'
    program = f"import ldr\n{DATA[data]}\n\n{call}\nprint(result)\n"
    return program, _PLOTS.get(data, "figure = result.plot_projection(X, y)")
