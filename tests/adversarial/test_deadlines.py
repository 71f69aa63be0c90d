"""Time limits: whatever the method and the data, a solve ends within a pass over the data.

The clock goes on with the rows that are read, and with each look at it.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import ldr
from ldr.errors import DataError, TimeLimitError
from ldr.solvers import Status
from tests.adversarial.campaign import SEED, count, report
from tests.clock import Clock

N, D = 400, 6
PASS = 10.0
LIMITS = 4
# Looks at the clock once the limit is over, each of which ends a loop.
LOOKS = 6

RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, D)) ** 3 @ RNG.standard_normal((D, D))
LARGE = RNG.standard_normal((8_000, 60)) @ RNG.standard_normal((60, 60))
SPARSE = scipy.sparse.random_array((5000, 400), density=0.02, rng=RNG, format="csr")

METHODS = (
    *("pca", "orthogonal-lda", "orthogonal-maf", "sfa", "lpp", "save", "sparse-pca"),
    *("ica", "uica", "robust-pca", "fa", "lmnn"),
)
LABELS = {
    "save": lambda n: np.arange(n) * 1.0,
    "orthogonal-lda": lambda n: np.arange(n) % 3,
    "lmnn": lambda n: np.arange(n) % 3,
}


def blocks(clock):
    for start in range(0, N, 100):
        clock.now += PASS / 4
        yield X[start : start + 100]


def on_dask(clock):
    import dask.array as da

    def chunk(block_info):
        start, stop = block_info[None]["array-location"][0]
        clock.now += PASS / 4
        return X[start:stop]

    return da.map_blocks(chunk, chunks=((100,) * 4, (D,)), meta=np.empty((0, 0)))


KINDS = {
    "array": lambda clock, folder: LARGE,
    "sparse": lambda clock, folder: SPARSE,
    "npy": lambda clock, folder: clock.rows(folder / "rows.npy"),
    "parquet": lambda clock, folder: clock.rows(folder / "rows.parquet"),
    "stream": lambda clock, folder: lambda: blocks(clock),
    "dask": lambda clock, folder: on_dask(clock),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    np.save(folder / "rows.npy", X)
    pd.DataFrame(X, columns=list("abcdef")).to_parquet(folder / "rows.parquet")
    return folder


def ended(method, X, y, limit):
    """How a solve ended; None where the method does not take the data."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            penalty = {"penalty": 10.0} if method == "sparse-pca" else {}
            result = ldr.solve(method, X, 2, y=y, time_limit=limit, **penalty)
    except TimeLimitError:
        return "nothing"
    except DataError:
        return None
    if result.status is Status.TIME_LIMIT:
        assert result.certificate.kind in ("none", "bound", "global")
    return result.status.name


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_solve_ends_later_than_a_pass_after_its_limit(kind, folder, monkeypatch):
    rng = np.random.default_rng([SEED, 10])
    faults, ends = [], {}
    for method in METHODS:
        for _ in range(count(LIMITS)):
            clock, limit = Clock(monkeypatch, PASS, a_look=1.0), float(rng.exponential(70.0)) + 1.0
            given = KINDS[kind](clock, folder)
            if kind == "array" and method == "lmnn":  # all pairs of rows, at every step
                given = X
            n = given.shape[0] if kind in ("array", "sparse") else N
            end = ended(method, given, LABELS.get(method, lambda n: None)(n), limit)
            if end is None:
                break
            ends[end] = ends.get(end, 0) + 1
            # The classifier of lmnn reads the rows once more.
            passes = 0 if kind in ("array", "sparse") else 1 + (method == "lmnn")
            if (late := clock.now - limit) > passes * PASS + LOOKS:
                faults.append(f"{method}, limit {limit:.3f}: {late:.3f} late, {end}")
    assert {"nothing", "TIME_LIMIT"} <= ends.keys()
    assert not faults, report(faults)
