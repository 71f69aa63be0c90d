"""Values, derivatives, identities and stacks of every method, on few samples and features."""

import json
import warnings
from dataclasses import fields
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

import ldr
from ldr.objectives.data.data import as_tuple, single
from ldr.objectives.registry import REGISTRY, named
from ldr.testing import Case, stacks_have_the_optima_of_solve
from tests.ldr.test_sensitivity import BY_DIFFERENCES, check_method
from tests.objectives.methods import ITERATIVE, OF_VIEWS, RANDOM, cases, drawn, name_of
from tests.objectives.test_methods import JUMPS

pytestmark = [pytest.mark.smoke, pytest.mark.filterwarnings("ignore")]

RECORD = Path(__file__).with_name("recorded.json")
METHODS = {name_of(key): key for key in reversed(RANDOM)}
STACKED = [
    (name, more)
    for name, method in REGISTRY.items()
    for more in ({}, {"ridge": 0.1})
    if method.traits.stacks and more.keys() <= {each.name for each in fields(method)}
]
SPECTRAL = [key for key in RANDOM if name_of(key) not in ITERATIVE | OF_VIEWS | {"mds-distances"}]

# The other methods' values are the same wherever the rows lie.
ABOUT_ZERO = {"csp", "spoc", "xdawn", "ssd", "opca"}

# Of fewer rows than columns the starts have no basis of their own, or the value is zero.
UNSETTLED = {"ica", "uica", "least-squares"}


def recorded(key):
    """What a default solve gives: the certificate, figures, and how far a bound is away."""
    X, y, parameters = RANDOM[key]
    found = ldr.solve(name_of(key), X, 2, y=y, random_state=0, **parameters)
    foreground = "background" in found.objective.needs
    shown = as_tuple(found.transform(X[0] if foreground else X))
    figures = [found.value, found.baseline, *map(np.linalg.norm, shown)]
    if found.predictors:
        figures.append(np.linalg.norm(found.predict(as_tuple(X)[0])))
    gap = found.certificate.gap if found.certificate.kind == "bound" else 0.0
    return found.certificate.kind, [float(figure) for figure in figures], gap


@pytest.mark.parametrize("key", RANDOM)
def test_what_is_on_record(key):
    """Values change only where a digit was wrong: `python -m tests.objectives.test_smoke`."""
    kind, figures, gap = json.loads(RECORD.read_text())[key]
    found = recorded(key)
    assert found[0] == kind
    assert found[1] == pytest.approx(figures, rel=1e-6)
    assert found[2] == pytest.approx(gap, rel=1e-4)


@pytest.mark.parametrize("key", SPECTRAL)
@pytest.mark.parametrize("kind", ["pieces", "sparse"])
def test_kinds_of_data_have_one_value(key, kind):
    X, y, parameters = RANDOM[key]
    method = named(name_of(key), **parameters)
    views = as_tuple(X)
    if (kind == "sparse" and not method.traits.sparse) or np.isnan(views[0]).any():
        pytest.skip("arrays only")
    if kind == "sparse":
        given = single(tuple(map(csr_array, views)))
    else:
        given = single(tuple(partial(np.array_split, view, 4) for view in views))
    found = ldr.solve(method, given, 2, y=y, certify=False)
    assert found.value == pytest.approx(ldr.solve(method, X, 2, y=y).value, rel=1e-8)


@pytest.mark.parametrize("key", [key for key in SPECTRAL if name_of(key) not in ABOUT_ZERO])
def test_rows_far_from_zero_have_one_value(key):
    X, y, parameters = RANDOM[key]
    near, moved = as_tuple(X), tuple(view + 1e3 for view in as_tuple(X))
    pieces = tuple(partial(np.array_split, view, 4) for view in moved)
    solved = partial(ldr.solve, name_of(key), r=2, y=y, certify=False, **parameters)
    values = [solved(single(given)).value for given in (near, moved, pieces)]
    assert values == pytest.approx(values[:1] * 3, rel=1e-8)
    takes_sparse = named(name_of(key), **parameters).traits.sparse and "missing" not in key
    if takes_sparse:  # X'X - n m m' loses every digit of these rows
        far = [view + 1e6 for view in as_tuple(X)]
        dense, sparse = (solved(single(tuple(map(of, far)))) for of in (np.array, csr_array))
        assert sparse.value == pytest.approx(dense.value, rel=1e-8)


def _others(parameter):
    """Values besides the default, by the check that the parameter is declared with."""
    default, check = parameter.default, parameter.metadata.get("check")
    limits = getattr(check, "keywords", {})
    if "allowed" in limits:
        return [word for word in limits["allowed"] if word != default]
    if check is None or isinstance(default, (str, tuple)):
        return []
    if isinstance(default, bool):
        return [not default]
    if "least" in limits:
        return [max(limits["least"], (default or 1) + 1)]
    return [1.5 * default if default else 0.3]


def variants():
    """Each method with another value of each parameter, with weights, and of fewer rows."""
    weights, few = np.random.default_rng(4).gamma(1.0, 2.0, 60), cases(drawn(20, 30))
    for name, key in METHODS.items():
        X, y, given = RANDOM[key]
        for each in fields(REGISTRY[name]):
            for value in _others(each):
                yield f"{name}, {each.name}={value}", X, y, {**given, each.name: value}
        if REGISTRY[name].traits.weighted:
            yield f"{name}, weights", X, y, {**given, "sample_weight": weights}
        if name in UNSETTLED:
            continue
        X, y, given = few[key]
        ridge = {"ridge": 0.3} if "ridge" in {each.name for each in fields(REGISTRY[name])} else {}
        yield f"{name}, few rows", X, y, {**given, **ridge}


VARIANTS = {key: case for key, *case in variants()}


def figures(key):
    """The baseline's value and, where solvers end at one optimum, the optimum; an error's name."""
    X, y, options = VARIANTS[key]
    name = key.partition(",")[0]
    stop = {"max_iterations": 0} if name in ITERATIVE | OF_VIEWS else {}
    try:
        found = ldr.solve(name, X, 2, y=y, certify=False, start="baseline", **stop, **options)
    except ValueError as error:
        return type(error).__name__
    return [found.baseline] if stop else [found.baseline, found.value]


@pytest.mark.parametrize("key", VARIANTS)
def test_variants(key):
    X, y, options = VARIANTS[key]
    name, found = key.partition(",")[0], figures(key)
    expected = json.loads(RECORD.read_text())[key]
    if isinstance(found, str):
        assert found == expected
        return
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-12)
    assert name in JUMPS or ldr.check(name, X, 2, y=y, random_state=1, **options).passed


@pytest.mark.parametrize(("name", "more"), STACKED)
def test_stacks(name, more):
    X, y, parameters = RANDOM[METHODS[name]]
    stacks_have_the_optima_of_solve(Case(named(name, **parameters, **more), X, 2, y))


# tests/ldr/test_sensitivity.py has one of each class of problems.
@pytest.mark.parametrize("key", BY_DIFFERENCES)
def test_sensitivities(key):
    X, y, parameters = RANDOM[key]
    check_method(key, X, y, parameters, 2)


def test_the_value_of_sdr_is_the_formula():
    """tests/adversarial/catalogue.py has the formulas of nearly all others."""
    X, y, _ = RANDOM["sdr"]
    options = {"width": 2.0, "response_width": 1.0, "landmarks": None, "max_iterations": 3}
    found = ldr.solve("sdr", X, 2, y=y, random_state=0, certify=False, **options)
    centring = np.eye(len(X)) - 1 / len(X)
    K, Kz = (
        centring @ np.exp(-cdist(Y, Y, "sqeuclidean") / (2 * width**2)) @ centring
        for Y, width in ((X @ found.M, 2.0), (y[:, None], 1.0))
    )
    value = np.trace(np.linalg.solve(K + len(X) * 1e-3 * np.eye(len(X)), Kz))
    assert found.value == pytest.approx(value, rel=1e-8)


def test_what_components_leave_of_the_responses():
    X, y, _ = RANDOM["principal-components-regression"]
    found = ldr.solve("principal-components-regression", X, 2, y=y)
    Z, centred = found.transform(X), y - y.mean(0)
    left = centred - Z @ np.linalg.lstsq(Z, centred, rcond=None)[0]
    assert found.parameters["residual"] == pytest.approx(np.sum(left**2), rel=1e-8)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    found = {key: recorded(key) for key in RANDOM} | {key: figures(key) for key in VARIANTS}
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in found.items())
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")
