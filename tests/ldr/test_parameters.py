"""Every number that an objective or a solver takes goes through the same checks."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV

import ldr
from ldr.errors import ArgumentError, DataError
from ldr.objectives import Objective
from ldr.objectives.kernel import Kernel
from ldr.objectives.registry import REGISTRY
from ldr.solvers.registry import NATIVE

CLASSES = [*REGISTRY.values(), *NATIVE.values()]
NO_NUMBERS = (np.nan, np.float64(np.nan), -np.inf, True, np.True_, "3", 1j, [1.0], {}, object())
# What is no number but a matrix, a label, an infinite count.
OF_ANY_KIND = {"derivatives", "unlabelled", "target"}
BANDS = {"signal", "noise", "of"}  # two numbers; sets of columns
INFINITE = {("TrustRegion", "long")}
# What may be 0; what else is out of range, beside what is below 0 and words that nobody knows.
ZERO = {"acceptance", "alpha", "long", "mu", "penalty", "regularisation", "ridge", "theta"}
NOTHING = {("LMNN", "width"): True, ("LMNN", "penalty"): False}
NOTHING |= {("LDA", "shrinkage"): True, ("OrthogonalLDA", "shrinkage"): True}
OUTSIDE = {"acceptance": 0.3, "degree": 3, "kappa": 1.0, "landmarks": 1, "least_noise": 0.7}
OUTSIDE |= {"power": 3, "segment": 3, "slices": 1}


# Each parameter, with its default.
FIELDS = [
    (cls, field.name, field.default)
    for cls in CLASSES
    for field in dataclasses.fields(cls)
    if field.name not in OF_ANY_KIND
]


def kept(cls, name, value):
    return getattr(cls(**{name: value}), name)


def accepted(cls, name, values):
    """Those of the values that the parameter takes."""
    taken = []
    for value in values:
        try:
            kept(cls, name, value)
        except (ArgumentError, DataError) as error:
            assert name in str(error)
        else:
            taken.append(value)
    return taken


def test_what_is_no_finite_number_is_refused():
    infinite = (np.inf, np.float64(np.inf))
    for cls, name, default in FIELDS:
        values = NO_NUMBERS if (cls.__name__, name) in INFINITE else (*NO_NUMBERS, *infinite)
        taken = accepted(cls, name, values)
        if isinstance(default, bool):
            assert [bool(flag) for flag in taken] == [True, True], (cls, name)
        elif isinstance(default, tuple):
            assert taken == ([] if name in BANDS else [[1.0]]), (cls, name)
            for value in (*NO_NUMBERS, *infinite):
                assert not accepted(cls, name, [(value,)]), (cls, name)
        else:
            assert taken == [], (cls, name)


def test_what_is_out_of_range_is_refused():
    for cls, name, default in FIELDS:
        beyond = (-1, -0.5, "no such", OUTSIDE.get(name, -1))
        assert accepted(cls, name, beyond) == [], (cls, name)
        of_a_share = name == "memory" and isinstance(default, float)
        zero = NOTHING.get((cls.__name__, name), name in ZERO or of_a_share)
        assert bool(accepted(cls, name, [0])) == zero, (cls, name)


def test_numbers_of_numpy_are_kept_as_pythons_own():
    numbers = (np.int64(2), np.int8(2), np.float32(0.125), np.float16(0.125), Fraction(1, 8))
    for cls, name, _ in FIELDS:
        for value in accepted(cls, name, numbers):
            number = kept(cls, name, value)
            assert type(number) in (int, float), (cls, name)
            assert number == value, (cls, name)
        if any(accepted(cls, name, [2, 0.125])):
            whole = not accepted(cls, name, [0.125])
            own = np.int64(2) if whole else np.float32(0.125)
            assert accepted(cls, name, [own]), (cls, name)


def test_numbers_whose_squares_overflow_or_vanish_are_refused():
    for cls, name, _ in FIELDS:
        if issubclass(cls, Objective) and accepted(cls, name, [1.5]):
            for value in (1e300, 1e-300):
                words = rf"{name} must be between 1e-(130|260) and 1e\+(130|260), got {value}"
                with pytest.raises(ArgumentError, match=words.replace("e+300", r"e\+300")):
                    cls(**{name: value})


def test_a_grid_of_whole_numbers_is_searched():
    X, y = load_diabetes(return_X_y=True)
    search = GridSearchCV(ldr.Lasso(), {"penalty": np.arange(1, 4)}, cv=2, error_score="raise")
    assert search.fit(X[:60, :3], y[:60]).best_params_["penalty"] in (1, 2, 3)


@pytest.mark.parametrize("components", [0, True, 2.0, "3", np.inf])
def test_landmarks_of_a_kernel_are_a_whole_number(components):
    for make in (ldr.kernel, Kernel):
        with pytest.raises(ArgumentError, match="components must be a whole number >= 1, got"):
            make(ldr.objectives.PCA(), components=components)


@pytest.mark.parametrize("graph", [3.0, None, np.eye(3)[0], [[1.0], [2.0, 3.0]], True])
@pytest.mark.parametrize("method", ["lpp", "npe"])
def test_a_graph_is_a_word_or_a_matrix(method, graph):
    X = np.random.default_rng(0).standard_normal((12, 3))
    with pytest.raises(ArgumentError, match=r"graph must be one of .* or an n x n matrix, got"):
        ldr.solve(method, X, 2, graph=graph)


@pytest.mark.parametrize("method", ["lpp", "olpp", "npe", "onpp", "orthogonal-npe"])
@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (np.eye(12) * 1j, "graph must hold real numbers, but its type is complex"),
        (np.full((12, 12), np.nan), "graph has NaN or infinite weights"),
        (np.eye(12).astype(object), "graph must hold real numbers, but its type is object"),
        (np.eye(11), r"graph has shape \(11, 11\), expected \(12, 12\)"),
    ],
)
def test_weights_of_the_users_own_are_checked(method, graph, words):
    X = np.random.default_rng(0).standard_normal((12, 3))
    with pytest.raises(DataError, match=words):
        ldr.solve(method, X, 2, graph=graph)
