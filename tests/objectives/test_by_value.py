"""Objectives of a script, of a function or of a module that is elsewhere, in other processes."""

import pickle
import subprocess
import sys
import threading
from weakref import WeakValueDictionary

import numpy as np
import pytest

import ldr
from ldr.objectives.custom import by_value

SCRIPT = """
import numpy as np
import ldr
from joblib.externals.loky import ProcessPoolExecutor

X = np.random.default_rng(0).standard_normal((40, 4)) * [4, 3, 2, 1]


def projected(M, X):
    return X @ M


def slope(M, X):
    return 2 * X.T @ projected(M, X)


@ldr.objective(manifold="grassmann", sense="max", backend="numpy", gradient=slope)
def variance(M, X):
    return float(np.sum(projected(M, X) ** 2))


def nested(weight):
    @ldr.objective(manifold="grassmann", sense="max", backend="numpy",
                   gradient=lambda M, X: weight * slope(M, X))
    def inner(M, X):
        return weight * variance(M, X)
    return inner


short = ldr.objective(manifold="grassmann", sense="max", backend="numpy", gradient=slope)(
    lambda M, X: variance(M, X))

if __name__ == "__main__":
    reducer = ldr.Reducer(variance, 2)
    worker = ProcessPoolExecutor(1)
    print(worker.submit(reducer.fit, X).result().result_.value)
    print(reducer.fit(X).result_.value)
    owns = [variance, short, nested(1.0), variance + 0.5 * nested(2.0)]
    for own in owns:
        found = worker.submit(ldr.solve, own, X, 2).result()
        assert found.objective == own and hash(found.objective) == hash(own)
        print(found.value)
        print(ldr.solve(own, X, 2).value)
"""

MODULE = """
import threading
from functools import partial
import numpy as np
import ldr

WEIGHT = 3.0


def weighted(Y):
    return WEIGHT * Y


def plain(M, X):
    return float(np.sum(weighted(X @ M) ** 2))


def slope(M, X):
    return 2 * X.T @ weighted(weighted(X @ M))


own = ldr.objective(
    manifold="grassmann", sense="max", backend="numpy", gradient=partial(slope)
)(plain)


@ldr.objective(manifold="grassmann", sense="max", backend="numpy", gradient=slope)
def named(M, X):
    return plain(M, X)


lock = threading.Lock()


@ldr.objective(manifold="grassmann", sense="max", backend="numpy", gradient=slope)
def guarded(M, X):
    with lock:
        return plain(M, X)
"""

OPENED = """
import pickle, sys
import numpy as np
X = np.random.default_rng(0).standard_normal((20, 3))
import ldr
for name in sys.argv[1:]:
    own = pickle.load(open(name, "rb"))
    again = pickle.loads(pickle.dumps(own))
    assert again is own and hash(again) == hash(own)
    print(repr(ldr.solve(own, X, 1).value), own.__module__ in sys.modules)
"""


def outcome(program, *arguments, folder):
    done = subprocess.run(
        [sys.executable, program, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def here(monkeypatch):
    """The package for the programs, wherever they run."""
    from pathlib import Path

    monkeypatch.setenv("PYTHONPATH", str(Path(ldr.__file__).parents[1]))


def test_objectives_of_a_script_in_workers(tmp_path, here):
    (tmp_path / "script.py").write_text(SCRIPT)
    printed = outcome("script.py", folder=tmp_path)
    assert len(printed) == 10
    for inside, outside in zip(printed[::2], printed[1::2], strict=True):
        np.testing.assert_allclose(
            [float(s) for s in inside.split()], [float(s) for s in outside.split()], rtol=1e-10
        )


def test_objectives_of_a_module_that_is_elsewhere(tmp_path, here, monkeypatch):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "my_own_methods.py").write_text(MODULE)
    (tmp_path / "opened.py").write_text(OPENED)
    monkeypatch.syspath_prepend(tmp_path / "home")
    import my_own_methods as mine

    for name in ("own", "named"):
        objective = getattr(mine, name)
        (tmp_path / name).write_bytes(pickle.dumps(objective))
        assert pickle.loads(pickle.dumps(objective)) is objective
    X = np.random.default_rng(0).standard_normal((20, 3))
    value = ldr.solve(mine.own, X, 1).value
    lines = outcome("opened.py", "own", "named", folder=tmp_path)
    assert [line.split()[1] for line in lines] == ["False", "False"]
    np.testing.assert_allclose([float(line.split()[0]) for line in lines], value, rtol=1e-10)
    by_name = pickle.dumps(mine.guarded)  # its lock does not travel
    assert pickle.loads(by_name) is mine.guarded
    monkeypatch.setattr(by_value, "_known", WeakValueDictionary())
    monkeypatch.setitem(sys.modules, "my_own_methods", None)
    with pytest.raises(pickle.UnpicklingError, match=r"my_own_methods\.guarded cannot be imported"):
        pickle.loads(by_name)


def lambda_of(power):
    return ldr.objective(manifold="stiefel", backend="numpy", gradient=lambda M, X: M)(
        lambda M, X: float(np.sum(M**power))
    )


def test_round_trips_keep_equality_and_hashes():
    one, other = lambda_of(2), lambda_of(2)
    assert one != other
    for own in (one, ldr.normalised(one), 2.0 * one - other):
        again = pickle.loads(pickle.dumps(own))
        assert again == own and hash(again) == hash(own)
    assert {one: "one", other: "other"}[pickle.loads(pickle.dumps(other))] == "other"
    assert pickle.loads(pickle.dumps(ldr.Reducer(one, 2))).objective is one


def test_what_cannot_be_pickled_is_said():
    lock = threading.Lock()

    @ldr.objective(manifold="stiefel", backend="numpy", gradient=lambda M, X: M)
    def guarded(M, X):
        with lock:
            return 0.0

    @ldr.objective(manifold="stiefel", backend="numpy", gradient=lambda M, X: M)
    def itself(M, X):
        return itself.sign

    for own, words in (
        (guarded, "cannot be pickled with the objects that its"),
        (itself, "circular reference between objective and function"),
    ):
        with pytest.raises(pickle.PicklingError, match=f"{own.name}.*{words}"):
            pickle.dumps(own)
