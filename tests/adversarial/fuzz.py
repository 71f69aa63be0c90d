"""A fuzzer of every door: random inputs, many of them wrong somewhere, and what comes of them.

It may be a result, one of `ldr.errors`, what Python itself says of `PCA() + "a"`, in estimators
what scikit-learn raises, a FileNotFoundError of a path that is not there. Anything else is a fault:
another exception, a warning that is not documented, a result that converged to no number.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import io
import math
import os
import re
import sys
import tempfile
import traceback
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import ldr
from ldr.cli import app
from ldr.errors import ConvergenceWarning, DataWarning, DeviceWarning, ObjectiveWarning
from ldr.objectives.data.data import as_tuple
from ldr.objectives.registry import REGISTRY, named
from ldr.solvers import solver_names
from ldr.solvers.solver import Solver
from tests.adversarial.campaign import REFUSALS, generator
from tests.adversarial.fuzz_data import contained, numbers, response

DOCUMENTED = (ConvergenceWarning, DataWarning, DeviceWarning, ObjectiveWarning)
NAMES = list(REGISTRY)
# Of operands that have nothing to do with objectives.
PYTHONS_OWN = ("unsupported operand", "can't multiply sequence", "does not support ufuncs")
BEGINS_ANEW = "partial_fit ignores the samples given to fit"


@dataclass(frozen=True)
class Fault:
    """What should not have come of a call, and what the call was."""

    index: int
    seed: int
    made: tuple[str, ...]
    fault: str

    def __str__(self) -> str:
        return f"attack({self.index}, {self.seed}): {self.fault} [{'; '.join(self.made)}]"


@dataclass
class Attack:
    """One call in the making: random numbers, how wild it is to be, and what it is made of."""

    rng: np.random.Generator
    wild: bool
    made: list[str] = field(default_factory=list)
    d: int = 3
    beside: np.random.Generator | None = None

    def one(self, *choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def chance(self, ordinary: float, wild: float) -> bool:
        return bool(self.rng.random() < (wild if self.wild else ordinary))

    def note(self, what: str, value: Any) -> Any:
        self.made.append(f"{what} = {_shown(value)}")
        return value

    # --- data

    def shape(self) -> tuple[int, int]:
        n = int(self.one(1, 2, 3, 5, 12, 20, 30)) if self.wild else int(self.one(12, 20, 30))
        self.d = int(self.one(1, 2, 3, 5, 8, 40) if self.wild else self.one(2, 3, 5, 8, 40))
        return n, self.d

    def rows(self, n: int, d: int, what: str = "X") -> Any:
        kind, X = numbers(self.rng, n, d, self.wild)
        container, given = contained(self.rng, X, self.wild)
        self.made.append(f"{what}: {n} x {d} {kind}, {container}")
        return given

    def data(self, objective: Any) -> tuple[Any, Any]:
        """X and y, more or less as the objective needs them."""
        n, d = self.shape()
        needs = getattr(objective, "needs", ())
        views = getattr(objective, "views", 1)
        if self.chance(0.0, 0.1):
            needs, views = self.one((), ("background",), ("distances",)), int(self.one(1, 2))
        X: Any
        if "distances" in needs and not self.chance(0.1, 0.4):
            Y = self.rng.standard_normal((n, 2))
            X = self.note_data("distances", np.linalg.norm(Y[:, None] - Y, axis=2))
        elif "background" in needs:
            X = (self.rows(n, d), self.rows(int(self.one(n, 2 * n)), d, "background"))
        elif views == 2:
            self.d = int(self.one(1, 2, d))
            X = (self.rows(n, d), self.rows(n, self.d, "second view"))
        else:
            X = self.rows(n, d)
        if isinstance(X, tuple) and self.chance(0.02, 0.1):
            X = self.one(list(X), X[0], (*X, X[0]), X[:1])
            self.made.append("another number of views")
        y = None
        if {"labels", "response"} & set(needs) or self.chance(0.1, 0.3):
            kind, y = response(self.rng, n, needs, self.wild)
            self.made.append(f"y: {kind}")
        return X, y

    def weights(self, X: Any) -> dict[str, Any]:
        """Of the rows, now and then, of sizes that rounding loses."""
        if self.beside is None or self.beside.random() > 0.15:
            return {}
        if not hasattr(first := as_tuple(X)[0], "shape") or not first.shape:
            return {}
        if not isinstance(first.shape[0], int):  # of Dask, not yet counted
            return {}
        rng, n = self.beside, first.shape[0]
        low, high = [(-150, 150), (-12, 0), (-6, 6), (0, 12)][rng.integers(4)]
        kinds = {
            "whole": rng.integers(0, 4, n),
            "equal": np.full(n, rng.choice([1e-300, 1e-100, 1e-12, 1e12, 1e100, 1e300])),
            "half": np.where(np.arange(n) % 2, rng.choice([1e-15, 1e-12, 1e12, 1e15]), 1.0),
            "spread": np.logspace(low, high, n),
            "one": np.eye(1, n)[0],
            "gamma": rng.gamma(1.0, 2.0, n),
        }
        kind = str(rng.choice(list(kinds)))
        self.made.append(f"sample_weight: {kind} up to {kinds[kind].max(initial=0):g}")
        return {"sample_weight": kinds[kind]}

    def note_data(self, what: str, X: Any) -> Any:
        self.made.append(f"X: {what} {X.shape}")
        return X

    def r(self) -> Any:
        if self.chance(0.01, 0.3):
            odd = (0, -1, 100, 2.0, "2", None, True, math.nan, [1], 10**30, np.array(1), 1j)
            return self.note("r", self.one(*odd))
        return self.note("r", min(self.one(1, 1, 2, 3, np.int64(2)), self.d))

    # --- objectives

    def parameters(self, cls: Any) -> dict[str, Any]:
        """Of some fields of a dataclass, values that are often right."""
        given = {}
        for f in dataclasses.fields(cls):
            if not self.chance(0.15, 0.3):
                continue
            given[f.name] = self.value(f.name, f.default)
        if given:
            self.note("parameters", given)
        return given

    def value(self, name: str, default: Any) -> Any:
        words = {
            "graph": ("neighbours", "epsilon", "classes", "class-neighbours", np.eye(12)),
            "heat": ("median", 1.0, None),
            "contrast": ("log cosh", "kurtosis", "exp"),
            "expert": ("log cosh", "student-t"),
            "response": ("auto", "labels", "quantity"),
            "landmarks": ("auto", None, 5),
            "hinge": ("squared", "linear"),
            "loss": ("l1", "huber"),
            "weights": ("none", "sammon"),
            "orthonormalise": ("polar", "qr"),
            "heuristic": ("pcr", "pls"),
            "extreme": ("min", "max"),
            "centre": ("mean", "degree"),
            "annealing": ((), (4.0, 2.0), [3]),
            "derivatives": (None, np.ones((12, 3))),
        }
        ordinary = words.get(name)
        if ordinary is None:
            ordinary = (True, False) if isinstance(default, bool) else (1, 2, 3, 0.1, 0.5, 1.0)
        if not self.chance(0.05, 0.4):
            return self.one(*ordinary)
        odd = (0, -1, 1e9, 1e-9, 1e300, 1e-300, 1e120, math.inf, math.nan, True, None, "many", 1j)
        return self.one(*odd, [1.0], np.float32(0.1), np.int64(3), np.array([1.0, 2.0]), {}, object)

    def objective(self, depth: int = 1) -> Any:
        """A name or an instance; of the registry, own, kernels, sums, normalised ones."""
        kind = self.rng.random()
        if depth and kind < 0.06:
            return self.kernel()
        if depth and kind < 0.1:
            return ldr.normalised(self.objective(0))
        if depth and kind < 0.2:
            return self.sum()
        if kind < 0.24:
            return self.note("objective", self.own())
        name = str(self.one(*NAMES))
        if self.rng.random() < 0.5:
            return self.note("objective", name)
        cls = REGISTRY[name]
        self.made.append(name)
        return cls(**self.parameters(cls))

    def instance(self) -> Any:
        found = self.objective(0)
        return named(found) if isinstance(found, str) else found

    def kernel(self) -> Any:
        metric = self.one("rbf", "linear", "cosine", "polynomial", "laplacian", "sigmoid")
        if self.chance(0.05, 0.2):
            metric = self.one("precomputed", "no kernel", None, 3, "chi2", lambda a, b: a @ b)
        own = {"gamma": self.one(0.1, -1.0, 0.0, "a")} if self.chance(0.1, 0.3) else {}
        components = self.one(None, None, 3, 5, 100) if not self.wild else self.one(0, 2.0, 4, None)
        self.note("kernel", (metric, components, own))
        return ldr.kernel(self.objective(0), metric, components=components, **own)

    def sum(self) -> Any:
        total = self.instance()
        for _ in range(int(self.rng.integers(1, 4))):
            total = self.combined(total)
        return self.note("sum", total)

    def combined(self, one: Any) -> Any:
        weight = self.one(2, 0.5, -1.0, 0, np.float32(0.1), np.int64(3))
        if self.chance(0.05, 0.3):
            weight = self.one(math.nan, math.inf, 1e300, 1e-300, "a", None, 1j, np.ones(2), True)
        match int(self.rng.integers(7)):
            case 0:
                return one * weight
            case 1:
                return weight * one
            case 2:
                return one / weight
            case 3:
                return one + ldr.l1(abs(weight) if isinstance(weight, (int, float)) else weight)
            case 4:
                return one - self.instance()
            case 5:
                return -one
            case _:
                return sum([one, weight * self.instance()])

    def own(self) -> Any:
        """An objective of the user's own, now and then one that misbehaves."""
        returned = self.one(None, "a", np.nan, np.inf, 1j, [1.0], 3, np.ones(2), True)

        def slope(M: Any, X: Any) -> Any:
            return 2.0 * X.T @ (X @ M)

        def square(M: Any, X: Any) -> Any:
            return float(np.sum((X @ M) ** 2))

        def odd(M: Any, X: Any) -> Any:
            return returned

        def with_response(M: Any, X: Any, y: Any) -> Any:
            return float(np.sum((X @ M)[:, 0] * len(y)))

        def of_response(M: Any, X: Any, y: Any) -> Any:
            G = np.zeros(M.shape)
            G[:, 0] = X.sum(axis=0) * len(y)
            return G

        options: dict[str, Any] = {
            "manifold": self.one("auto", "stiefel", "grassmann"),
            "sense": self.one("min", "max"),
            "center": self.one(True, False),
        }
        if self.chance(0.05, 0.3):
            return ldr.objective(odd, backend="numpy", gradient=slope, **options)
        if self.rng.random() < 0.3:
            return ldr.objective(with_response, backend="numpy", gradient=of_response, **options)
        options["sum_over_rows"] = self.one(True, False)
        return ldr.objective(square, backend="numpy", gradient=slope, **options)

    # --- options

    def options(self) -> dict[str, Any]:
        """Of `ldr.solve`; few iterations, because there are many calls."""
        given: dict[str, Any] = {"max_iterations": self.one(0, 1, 5, 20), "random_state": 0}
        pool: dict[str, tuple[Any, ...]] = {
            "solver": ("auto", *solver_names(), "closed-form"),
            "start": ("baseline", "random"),
            "starts": (1, 2, 3),
            "certify": (True, False),
            "tolerance": (1e-10, 1e-3, 0.0),
            "time_limit": (1.0, 10.0),
            "workers": (1, 2),
        }
        odd: dict[str, tuple[Any, ...]] = {
            "solver": (None, 3, "trust", Solver, b"auto", ["auto"]),
            "start": (None, 3, np.eye(3, 2), np.full((5, 1), np.nan), [[1], [2, 3]], "no start",
                      np.ones((3, 1)) * 1e300, (np.eye(3, 2), np.eye(2)), np.zeros((5, 2))),
            "starts": (0, -1, 1.5, "a", True),
            "certify": (None, "yes", 2),
            "tolerance": (-1.0, math.nan, "a", None, math.inf, 1e-320),
            "time_limit": (0, -1, math.nan, "a"),
            "workers": (0, -2, 1.5, "a", None),
            "max_iterations": (-1, 1.5, "a", True, math.inf),
            "random_state": (-1, "a", 1.5, [1], np.random.RandomState(0), np.array([1, 2])),
            "device": ("gpu", "tpu", None, 3),
            "observers": (None, 3, [3], [lambda i: None], [lambda i: "yes"], (lambda i: True,)),
        }  # fmt: skip
        for option, choices in pool.items():
            if self.chance(0.15, 0.15):
                given[option] = self.one(*choices)
        for option, choices in odd.items():
            if self.chance(0.003, 0.06):
                given[option] = self.one(*choices)
        return self.note("options", given)


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) < 160 else f"{text[:157]}..."


# --- doors ----------------------------------------------------------------------------------------


def solve(a: Attack) -> Any:
    objective = a.objective()
    X, y = a.data(_traits(objective))
    return ldr.solve(objective, X, a.r(), y=y, **a.weights(X), **a.options())


def solve_by_name(a: Attack) -> Any:
    name = str(a.one(*NAMES))
    if a.chance(0.02, 0.1):
        name = str(a.one("", "PCA ", "lda2", "no such", "mds_stress"))
    a.note("objective", name)
    cls = REGISTRY.get(name, REGISTRY["pca"])
    X, y = a.data(cls)
    given = {**a.weights(X), **a.options(), **a.parameters(cls)}
    return ldr.solve(name, X, a.r(), y=y, **given)


def and_then(a: Attack) -> Any:
    """What one does with a result: transform, score, refit, plot nothing, print it."""
    objective = a.objective()
    X, y = a.data(_traits(objective))
    result = ldr.solve(objective, X, a.r(), y=y, max_iterations=3, random_state=0)
    a.note("solved", result.objective)
    repr(result), result.summary()
    other = a.data(_traits(objective)) if a.chance(0.3, 0.6) else (X, y)
    act = a.note("then", a.one("transform", "score", "score", "refit", "model", "no result"))
    if act == "transform":
        return result.transform(other[0])
    if act == "score":
        return ldr.score(result, *other)
    if act == "refit":
        return ldr.refit(result, other[0], y=other[1])
    if act == "model" and result.model is not None:
        return result.model.score(other[0]), result.model.impute(other[0])
    return ldr.score(a.one(None, X, "pca"), *other)


def check(a: Attack) -> Any:
    objective = a.objective()
    X, y = a.data(_traits(objective))
    return repr(ldr.check(objective, X, a.r(), y=y, random_state=0))


def path(a: Attack) -> Any:
    objective = a.objective()
    X, y = a.data(_traits(objective))
    dimensions = a.one([1, 2], (1,), range(1, 3), np.array([1, 2]))
    if a.chance(0.02, 0.3):
        dimensions = a.one([], [0], [1, 1], None, 3, "12", [1.5], [100], [[1]])
    folds = a.one(None, None, 2, 3)
    if a.chance(0.02, 0.2):
        folds = a.one(0, 1, 1000, "a", True, 2.5)
    a.note("path", (dimensions, folds))
    return repr(ldr.path(objective, X, dimensions, y=y, folds=folds, max_iterations=3,
                         random_state=0))  # fmt: skip


def bootstrap(a: Attack) -> Any:
    objective = a.objective()
    X, y = a.data(_traits(objective))
    draws, block = a.one(1, 2), a.one(None, None, 1, 3)
    if a.chance(0.02, 0.2):
        draws, block = a.one(0, "a", 1.5, True, -1), a.one(0, 1000, "a", 1.5)
    a.note("bootstrap", (draws, block))
    return repr(ldr.bootstrap(objective, X, a.r(), y=y, draws=draws, block=block, random_state=0))


def regularisation_path(a: Attack) -> Any:
    objective = a.objective()
    X, y = a.data(_traits(objective))
    penalties = a.one([1.0], [0.1, 10.0], (0.0, 1.0), np.array([1.0, 1e3]))
    if a.chance(0.02, 0.3):
        penalties = a.one([], None, [-1.0], ["a"], "12", [math.nan], [1e300], 3.0, [True], [None])
    a.note("penalties", penalties)
    return repr(ldr.regularisation_path(objective, X, a.r(), penalties, y=y, max_iterations=5,
                                        random_state=0))  # fmt: skip


def algebra(a: Attack) -> Any:
    total = a.sum()
    if a.chance(0.1, 0.3):
        other = a.one("a", None, 3, 1j, ldr.l1, np.ones(3), [1])
        a.note("and", other)
        total = a.one(lambda: total + other, lambda: other - total, lambda: total / other)()
    repr(total)
    X, y = a.data(_traits(total))
    return ldr.solve(total, X, a.r(), y=y, max_iterations=5, random_state=0)


def parallel_analysis(a: Attack) -> Any:
    X = a.rows(*a.shape())
    options = {"draws": a.one(1, 3), "quantile": 0.9, "random_state": 0}
    if a.chance(0.02, 0.4):
        options[str(a.one("draws", "quantile", "null"))] = a.one(0, -1, 2.0, "a", None, math.nan)
    a.note("options", options)
    return repr(ldr.parallel_analysis(X, **options))


def tune(a: Attack) -> Any:
    """Losses that do not change, and those that are no numbers."""
    name, start = a.one(
        ("orthogonal-lda", {"ridge": 0.1}), ("lda", {"ridge": 1e-3}), ("pca", {"scales": None}),
        ("orthogonal-maf", {"ridge": a.one(0.1, 0.0, -1.0, math.nan)}),
        ("contrastive-pca", {"alpha": 1.0}),
    )  # fmt: skip
    X, y = a.data(REGISTRY[name])
    start = {key: np.ones(a.d) if value is None else value for key, value in start.items()}
    value = a.one(0.0, 0, -1.0, 1e300, 1e-320)
    if a.chance(0.1, 0.5):
        value = a.one(math.nan, math.inf, "a", None, 1j, np.ones(2), True)
    losses = (None, "log", "squared", lambda *rows: value, lambda Y, y, W, z: float(np.sum(W**2)))
    loss = a.note("loss", a.one(*losses))
    a.note("tune", (name, start, value))
    return repr(ldr.tune(name, X, a.r(), start, y=y, loss=loss, folds=a.one(2, 3),
                         evaluations=a.one(1, 3), random_state=0))  # fmt: skip


def paths(a: Attack) -> Any:
    """Where there is nothing to read."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("folder.csv").mkdir()
        Path("empty.csv").write_text("")
        Path("file.csv").write_text("a,b\n1,2\n2,1\n3,3\n")
        nothing = ("", " ", ".", "folder.csv", "empty.csv", "no/such.npy", "x.npz", Path(""), "..",
                   "no/such" * 900 + ".csv", "\0.csv", ["", "file.csv"], ("", ""))  # fmt: skip
        X = a.note("X", a.one(*nothing))
        y = a.note("y", a.one(None, None, "", "a", "no/such.npy", Path("")))
        name = a.note(
            "objective",
            a.one(
                "pca", "orthogonal-lda", "orthogonal-cca", "nca", ldr.objectives.RidgeRegression()
            ),
        )
        if a.rng.random() < 0.3:
            return _run(["solve", "pca", str(X).replace("\0", ""), "-r", "1"])
        if a.rng.random() < 0.2:
            return ldr.load(X)
        weights = a.one(None, None, "", "a", Path(""), "no/such.npy")
        return ldr.solve(name, X, 1, y=y, sample_weight=a.note("weights", weights))


def layer(a: Attack) -> Any:
    """The optimum and its slope in jax, at once: what is refused is refused in words of ours."""
    import jax

    name = str(a.one("pca", "orthogonal-lda", "csp", "sir", "orthogonal-maf", "sparse-pca", "hsic"))
    n, d = a.shape()
    X = numbers(a.rng, n, d, a.wild)[1]
    y = (
        None
        if name in ("pca", "orthogonal-maf", "sparse-pca")
        else np.arange(n) % int(a.one(1, 2, 3))
    )
    project = ldr.layer(a.note("objective", name), a.r())
    if a.note("act", a.one("value", "slope")) == "value":
        return project(X, y)
    with np.errstate(over="ignore"):  # the caller's own step to float32
        X = jax.numpy.asarray(X, float)
    return jax.grad(lambda X: (project(X, y) ** 3).sum())(X)


def subspaces(a: Attack) -> Any:
    n, d = a.shape()
    A, B = a.rows(n, d, "A"), a.rows(n, int(a.one(1, d)), "B")
    if a.rng.random() < 0.5:
        return ldr.subspaces.principal_angles(A, B)
    return ldr.subspaces.distance(A, B, a.note("of", a.one("chordal", "geodesic", "no such", 3)))


def estimator(a: Attack) -> Any:
    name = str(a.one(*ldr.estimators.ESTIMATORS))
    cls = ldr.estimators.ESTIMATORS[name]
    options = {"n_components": a.r(), "max_iterations": 3, **a.parameters(cls._method)}
    a.note("estimator", cls.__name__)
    if a.rng.random() < 0.3:
        objective = a.objective()
        made = ldr.Reducer(objective, a.r(), max_iterations=3)
        traits = _traits(objective)
    else:
        made, traits = cls(**options), cls._method
    X, y = a.data(traits)
    background = None
    if isinstance(X, tuple) and len(X) == 2 and not a.chance(0.02, 0.2):
        X, other = X
        y, background = (other, None) if getattr(traits, "views", 1) == 2 else (y, other)
    takes = "background" in inspect.signature(made.fit).parameters
    kept = {"background": background} if takes and background is not None else {}
    act = a.note("act", a.one("fit", "fit_transform", "partial_fit", "score", "inverse", "again"))
    if act == "fit_transform":
        return made.fit_transform(X, y, **kept)
    if act == "partial_fit" and hasattr(made, "partial_fit"):
        if a.chance(0.1, 0.3):
            classes = a.one([0, 1, 2], ["a", "b", "c"], None, [], [1, "a"], 3, "ab", [[1], [2, 3]])
            made.partial_fit(X, y, classes=a.note("classes", classes), **kept)
        made.partial_fit(X, y, **kept)
        return made.partial_fit(X, y, **kept)
    if act == "again" and a.rng.random() < 0.3:
        return made.transform(X)
    made.fit(X, y, **kept)
    if act == "score" and hasattr(made, "score"):
        return made.score(X, y, **kept)
    if act == "inverse" and hasattr(made, "inverse_transform"):
        return made.inverse_transform(made.transform(X))
    if act == "again":
        return made.transform(a.rows(*a.shape(), "new rows"))
    return made.result_


def command(a: Attack) -> Any:
    """The command `ldr` on files of its own, in this process."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        verb = a.one("solve", "solve", "path", "check", "methods")
        words = [verb]
        if verb != "methods":
            words += [str(a.one(*NAMES, "no such", "own.py", "bad.py:f")), _file(a, "rows")]
            words += ["-r", str(a.one(1, 2, 1, 2, "0", "a", "1-3", "1:2", "-1", "99"))]
        options = [
            ["--label", str(a.one("y", "c0", "kind", "no such", "c0,c1", ""))],
            ["--columns", str(a.one("c0,c1", "0,1", "x", ","))],
            ["--drop", str(a.one("c0", "kind", "0"))],
            ["--second-view", _file(a, "view")],
            ["--background", _file(a, "background")],
            ["--standardise"],
            ["--param", str(a.one("lag=2", "ridge=0.1", "ridge=inf", "x", "penalty=True", "=3"))],
            ["--json"],
        ]
        if verb == "solve":
            outputs = ("out.csv", "out.npy", "out.parquet", "out.npz", "out.mat", "out.x")
            options += [
                ["--out", str(a.one(*outputs, "rows.csv", "no/such/folder/out.csv"))],
                ["--solver", str(a.one("auto", "lbfgs", "no such", "closed-form"))],
                ["--start", str(a.one("random", "baseline", "no.npy", "rows.csv"))],
                ["--starts", str(a.one(1, 2, 0, "a"))],
                ["--max-iterations", str(a.one(0, 5, -1))],
                ["--device", str(a.one("cpu", "gpu", "x"))],
            ]
        if verb == "path":
            options += [["--folds", str(a.one(2, 0, 1000, "a"))]]
        for option in options:
            if a.chance(0.15, 0.25):
                words += option
        Path("own.py").write_text(_OWN)
        Path("bad.py").write_text("import ldr\n1 / 0\n")
        a.note("command", " ".join(words))
        return _run(words)


_OWN = """
import numpy as np, ldr

@ldr.objective(backend="numpy", gradient=lambda M, X: 2 * X.T @ (X @ M))
def f(M, X):
    return float(np.sum((X @ M) ** 2))
"""


def _run(words: list[str]) -> Any:
    out, err = io.StringIO(), io.StringIO()
    given, sys.argv = sys.argv, ["ldr", *words]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            app.main()
    except SystemExit as end:
        if end.code not in (0, 1, 2, None):
            raise AssertionError(f"the command ended with {end.code}") from end
    finally:
        sys.argv = given
    if "Traceback" in err.getvalue():
        raise AssertionError(f"the command printed a traceback: {err.getvalue()[-300:]}")
    return None


def _file(a: Attack, stem: str) -> str:
    """A file of some kind with rows of some kind, whole or spoilt."""
    n, d = a.shape()
    _, X = numbers(a.rng, n, d, a.wild)
    kind = a.one("csv", "csv", "tsv", "npy", "parquet", "npz", "mat")
    name = f"{stem}.{kind}"
    n, d = X.shape
    labels = np.array(list("ab"))[np.arange(n) % 2]
    with np.errstate(all="ignore"):
        if kind in ("csv", "tsv"):
            separator = "," if kind == "csv" else "\t"
            rows = [[f"c{j}" for j in range(d)] + ["kind"]]
            rows += [[f"{x:.6g}" for x in row] + [labels[i]] for i, row in enumerate(X)]
            Path(name).write_text("\n".join(separator.join(row) for row in rows))
        elif kind == "npy":
            np.save(name, X)
        elif kind == "npz":
            np.savez(name, X=X)
        elif kind == "mat":
            import scipy.io

            scipy.io.savemat(name, {"X": X})
        else:
            import pandas as pd

            table = pd.DataFrame(X, columns=[f"c{j}" for j in range(d)]).assign(kind=labels)
            table.to_parquet(name)
    if a.chance(0.02, 0.35):
        _spoil(a, Path(name))
    a.made.append(f"{name} {n} x {d}")
    return name


def _spoil(a: Attack, file: Path) -> None:
    content = file.read_bytes()
    match int(a.rng.integers(7)):
        case 0:
            content = content[: int(a.rng.integers(len(content) + 1))]
        case 1:
            content = b""
        case 2:
            where = int(a.rng.integers(max(1, len(content))))
            content = content[:where] + bytes(a.rng.integers(0, 256, 5, np.uint8)) + content[where:]
        case 3:
            content = content.replace(b",", b",,", 1)
        case 4:
            content = b"\xef\xbb\xbf" + content
        case 5:
            content = content.replace(b"\n", b"\r")
        case _:
            content = content.replace(b"0", b'"', 2)
    file.write_bytes(content)


def _traits(objective: Any) -> Any:
    """What tells the data that an objective needs."""
    if isinstance(objective, str):
        return REGISTRY.get(objective.lower())
    return objective


DOORS = {
    solve: 22,
    solve_by_name: 18,
    and_then: 12,
    estimator: 14,
    check: 6,
    path: 5,
    bootstrap: 4,
    regularisation_path: 4,
    algebra: 5,
    parallel_analysis: 2,
    subspaces: 2,
    command: 8,
}
# Beside those, by random numbers of their own, so that a call of the others stays what it was.
NEWER = {tune: 0.04, paths: 0.03, layer: 0.02}


# --- the verdict ----------------------------------------------------------------------------------


def attack(index: int, seed: int = 0, newer: bool = True) -> Fault | None:
    """Make one call and judge what comes of it; `newer` with weights, and with the newer doors."""
    rng = generator("fuzz", index, seed)
    doors, weights = list(DOORS), np.array(list(DOORS.values()), dtype=float)
    door = doors[rng.choice(len(doors), p=weights / weights.sum())]
    beside = generator("beside", index, seed) if newer else None
    if beside is not None:
        shares = [1.0 - sum(NEWER.values()), *NEWER.values()]
        door = [door, *NEWER][beside.choice(len(shares), p=shares)]
    a = Attack(rng, bool(rng.random() < 0.3), [door.__name__], beside=beside)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fault = _of_result(door(a))
        except Exception as error:
            fault = _of_error(door, error)
    fault = fault or next(filter(None, (_of_warning(door, warning) for warning in caught)), None)
    return None if fault is None else Fault(index, seed, tuple(a.made), fault)


def _of_error(door: Any, error: Exception) -> str | None:
    if isinstance(error, REFUSALS):
        return None if len(str(error)) > 10 else f"says nothing: {error!r}"
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, FileNotFoundError) and re.search("no/such|no such file", str(error)):
        return None
    if isinstance(error, TypeError) and any(word in str(error) for word in PYTHONS_OWN):
        return None
    package = next((p for f in reversed(frames) if (p := _package(f.filename))), "")
    if door is estimator and package == "sklearn":
        return None
    if door is layer and re.search(r"(Argument|Data|Singular)Error: ", str(error)):
        return None  # ours, which jax hands on
    where = next((f for f in reversed(frames) if _package(f.filename) in ("ldr", "")), frames[-1])
    place = f"{Path(where.filename).name}:{where.lineno}"
    return f"{type(error).__name__} at {place}: {' '.join(str(error).split())[:200]}"


def _package(filename: str) -> str:
    """Ours, scikit-learn's or none of them; this fuzzer is none."""
    parts = Path(filename).parts
    if "sklearn" in parts:
        return "sklearn"
    ours = Path(ldr.__file__).resolve().parents[1]
    file = Path(os.path.realpath(filename))
    return "ldr" if file.is_relative_to(ours) and "tests" not in file.parts else ""


def _of_warning(door: Any, warning: warnings.WarningMessage) -> str | None:
    if issubclass(warning.category, DOCUMENTED) or BEGINS_ANEW in str(warning.message):
        return None
    if "feature names" in str(warning.message):  # scikit-learn's own, of estimators
        return None
    if Path(warning.filename).name == Path(__file__).name:  # a function of the user's own
        return None
    if "A column-vector y was passed" in str(warning.message):  # as of its classifiers
        return None
    if door is estimator and "encountered in reduce" in str(warning.message):  # its check of X
        return None
    place = f"{Path(warning.filename).name}:{warning.lineno}"
    return f"{warning.category.__name__} at {place}: {' '.join(str(warning.message).split())[:200]}"


def _of_result(result: Any) -> str | None:
    """A result that converged has a value that is a number."""
    if isinstance(result, ldr.Result) and result.converged and not math.isfinite(result.value):
        return f"converged to the value {result.value}"
    return None
