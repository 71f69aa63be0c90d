"""Rows, labels and containers for the fuzzer: what users pass, and what they should not."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import polars
import scipy.sparse

# --- numbers --------------------------------------------------------------------------------------


def plain(rng, n, d):
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d))


def scaled(exponent):
    def make(rng, n, d):
        return plain(rng, n, d) * 10.0**exponent

    return make


def contrast(rng, n, d):
    return plain(rng, n, d) * 10.0 ** rng.uniform(-60, 60, d)


def constant(rng, n, d):
    return np.full((n, d), rng.choice([0.0, 1.0, 1e-300, -1e8]))


def constant_column(rng, n, d):
    X = plain(rng, n, d)
    X[:, 0] = 3.0
    return X


def duplicated(rng, n, d):
    return plain(rng, n, d)[rng.integers(max(1, n // 3), size=n)]


def same_columns(rng, n, d):
    return np.repeat(plain(rng, n, 1), d, axis=1)


def counts(rng, n, d):
    return rng.integers(0, 3, (n, d)).astype(float)


def distances(rng, n, d):
    Y = rng.standard_normal((n, 2))
    return np.linalg.norm(Y[:, None] - Y, axis=2)


def offset(rng, n, d):
    return plain(rng, n, d) + 1e9


def spoilt(value):
    def make(rng, n, d):
        X = plain(rng, n, d)
        X[rng.integers(n), rng.integers(d)] = value
        return X

    return make


NUMBERS = {
    "constant": constant,
    "constant column": constant_column,
    "duplicated": duplicated,
    "same columns": same_columns,
    "counts": counts,
    "contrast": contrast,
    "offset": offset,
    "distances": distances,
    "huge": scaled(200),
    "large": scaled(100),
    "small": scaled(-100),
    "tiny": scaled(-200),
    "denormal": scaled(-308),
    "nan": spoilt(np.nan),
    "infinite": spoilt(np.inf),
    "one huge": spoilt(1e300),
}
USABLE = ["constant column", "duplicated", "same columns", "counts", "contrast", "offset"]
USABLE += ["distances", "large", "small"]


def numbers(rng, n, d, wild):
    """A matrix and its name: one that may well have a solution, unless it is to be wild."""
    if rng.random() > (0.6 if wild else 0.5):
        return "plain", plain(rng, n, d)
    name = str(rng.choice(list(NUMBERS) if wild else USABLE))
    return name, NUMBERS[name](rng, n, d)


# --- containers -----------------------------------------------------------------------------------


def frame(X):
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])


def nullable(X):
    return frame(X).convert_dtypes()


def mixed_frame(X):
    found = frame(X)
    found["c0"] = found["c0"].astype(np.float32)
    found["more"] = np.arange(len(X)) % 2 == 0
    return found


def words_frame(X):
    return frame(X).assign(words="a")


def categories_frame(X):
    return frame(X).assign(kind=pd.Categorical(["a"] * len(X)))


def indexed_frame(X):
    return frame(X).set_axis([f"row {i}" for i in range(len(X))][::-1])


def same_names(X):
    found = frame(X)
    return found.set_axis(["c"] * found.shape[1], axis=1)


def blocks(X):
    return (X[i : i + 5] for i in range(0, len(X), 5))


def block_maker(X):
    return lambda: blocks(X)


def record(X):
    return np.zeros(len(X), dtype=[("a", float), ("b", int)])


def masked(X):
    return np.ma.masked_array(X, mask=X > 1)


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def of_python(X):
    return [[Fraction(1, 3)] * X.shape[1] for _ in X]


def dask_array(X):
    import dask.array

    return dask.array.from_array(X, chunks=(max(1, len(X) // 2), X.shape[1]))


def dask_frame(X):
    import dask.dataframe

    return dask.dataframe.from_pandas(frame(X), npartitions=2)


CONTAINERS = {
    "list": lambda X: X.tolist(),
    "tuples": lambda X: tuple(map(tuple, X.tolist())),
    "ragged": lambda X: [*X.tolist(), [1.0] * (X.shape[1] + 1)],
    "float16": lambda X: X.astype(np.float16),
    "float32": lambda X: X.astype(np.float32),
    "longdouble": lambda X: X.astype(np.longdouble),
    "complex": lambda X: X.astype(complex),
    "object": lambda X: X.astype(object),
    "fractions": of_python,
    "text": lambda X: X.astype(str),
    "bytes": lambda X: X.astype("S8"),
    "bool": lambda X: X > 0,
    "int8": lambda X: np.nan_to_num(np.clip(X, -100, 100)).astype(np.int8),
    "uint64": lambda X: np.nan_to_num(np.clip(np.abs(X), 0, 1e18)).astype(np.uint64),
    "big endian": lambda X: X.astype(">f8"),
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
    "backwards": lambda X: X[::-1, ::-1],
    "read only": read_only,
    "matrix": lambda X: np.asmatrix(X),
    "masked": masked,
    "record": record,
    "dates": lambda X: np.zeros(X.shape, dtype="datetime64[D]"),
    "0-d": lambda X: np.float64(1.0),
    "1-d": lambda X: X[:, 0],
    "3-d": lambda X: X[None],
    "no rows": lambda X: X[:0],
    "no columns": lambda X: X[:, :0],
    "one row": lambda X: X[:1],
    "two rows": lambda X: X[:2],
    "nothing": lambda X: None,
    "a number": lambda X: 3,
    "a word": lambda X: "pca",
    "a path": lambda X: "no/such/file.csv",
    "a dict": lambda X: {"a": 1},
    "a set": lambda X: {1.0, 2.0},
    "an object": lambda X: object(),
    "a type": lambda X: float,
    "frame": frame,
    "series": lambda X: pd.Series(X[:, 0]),
    "nullable frame": nullable,
    "mixed frame": mixed_frame,
    "frame with words": words_frame,
    "frame with categories": categories_frame,
    "indexed frame": indexed_frame,
    "frame of one name": same_names,
    "polars": lambda X: polars.DataFrame(X),
    "lazy polars": lambda X: polars.DataFrame(X).lazy(),
    "csr": scipy.sparse.csr_array,
    "csr matrix": scipy.sparse.csr_matrix,
    "csc": scipy.sparse.csc_array,
    "coo": scipy.sparse.coo_array,
    "bsr": scipy.sparse.bsr_array,
    "dia": scipy.sparse.dia_array,
    "lil": scipy.sparse.lil_array,
    "dok": scipy.sparse.dok_array,
    "complex csr": lambda X: scipy.sparse.csr_array(X.astype(complex)),
    "empty csr": lambda X: scipy.sparse.csr_array(X.shape),
    "1-d coo": lambda X: scipy.sparse.coo_array(X[:, 0]),
    "blocks": blocks,
    "function of blocks": block_maker,
    "list of arrays": lambda X: [X[: len(X) // 2], X[len(X) // 2 :]],
    "list of arrays and words": lambda X: [X, "no/such/file.npy"],
    "list of different arrays": lambda X: [X, X[:, :1]],
    "empty list": lambda X: [],
    "empty iterator": lambda X: iter([]),
    "iterator of words": lambda X: iter(["a", "b"]),
    "dask array": dask_array,
    "dask frame": dask_frame,
}
TAKEN = ["list", "float16", "float32", "longdouble", "bool", "int8", "big endian", "fortran"]
TAKEN += ["strided", "backwards", "read only", "matrix", "frame", "nullable frame", "mixed frame"]
TAKEN += ["polars", "csr", "csc", "coo", "csr matrix", "lil", "blocks", "function of blocks"]
TAKEN += ["list of arrays", "dask array", "dask frame"]


def contained(rng, X, wild):
    """X in a container, and its name: one of those that are taken, unless it is to be wild."""
    if rng.random() > (0.7 if wild else 0.4):
        return "array", X
    name = str(rng.choice(list(CONTAINERS) if wild else TAKEN))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return name, CONTAINERS[name](X)
        except (ValueError, TypeError, OverflowError):  # these numbers, there: no such thing
            return "array", X


# --- labels and responses -------------------------------------------------------------------------

LABELS = {
    "codes": lambda rng, n: np.arange(n) % 3,
    "words": lambda rng, n: np.array(list("abc"))[np.arange(n) % 3],
    "list": lambda rng, n: [i % 2 for i in range(n)],
    "booleans": lambda rng, n: np.arange(n) % 2 == 0,
    "categories": lambda rng, n: pd.Categorical(["ab"[i % 2] for i in range(n)]),
    "series": lambda rng, n: pd.Series(np.arange(n) % 3),
    "some": lambda rng, n: np.where(np.arange(n) % 2, np.arange(n) % 4, -1),
    "objects": lambda rng, n: np.array([["a", "b"][i % 2] for i in range(n)], dtype=object),
}

RESPONSES = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "column": lambda rng, n: rng.standard_normal((n, 1)),
    "several": lambda rng, n: rng.standard_normal((n, 2)),
    "list": lambda rng, n: rng.standard_normal(n).tolist(),
    "single": lambda rng, n: rng.standard_normal(n).astype(np.float32),
    "whole": lambda rng, n: rng.integers(0, 100, n),
    "series": lambda rng, n: pd.Series(rng.standard_normal(n)),
    "frame": lambda rng, n: pd.DataFrame(rng.standard_normal((n, 2))),
    "large": lambda rng, n: rng.standard_normal(n) * 1e100,
}

BAD = {
    "nothing": lambda rng, n: None,
    "short": lambda rng, n: np.arange(max(0, n - 1)) % 2,
    "long": lambda rng, n: np.arange(n + 1) % 2,
    "empty": lambda rng, n: [],
    "ragged": lambda rng, n: [[1], [2, 3]] * n,
    "nan": lambda rng, n: np.full(n, np.nan),
    "infinite": lambda rng, n: np.full(n, np.inf),
    "none": lambda rng, n: [None] * n,
    "constant": lambda rng, n: np.zeros(n),
    "huge": lambda rng, n: rng.standard_normal(n) * 1e250,
    "tiny": lambda rng, n: rng.standard_normal(n) * 1e-250,
    "half": lambda rng, n: rng.standard_normal(n).astype(np.float16),
    "long double": lambda rng, n: rng.standard_normal(n).astype(np.longdouble),
    "complex": lambda rng, n: rng.standard_normal(n) * 1j,
    "mixed": lambda rng, n: [1 if i % 2 else "a" for i in range(n)],
    "all different": lambda rng, n: np.arange(n),
    "3-d": lambda rng, n: np.ones((n, 2, 2)),
    "no columns": lambda rng, n: np.ones((n, 0)),
    "a word": lambda rng, n: "abc",
    "a column's name": lambda rng, n: "c0",
    "a number": lambda rng, n: 3,
    "a dict": lambda rng, n: {},
    "a set": lambda rng, n: {1, 2},
    "generator": lambda rng, n: (i % 2 for i in range(n)),
    "masked": lambda rng, n: np.ma.masked_array(np.arange(n) % 2, mask=np.arange(n) % 3 == 0),
    "record": record,
    "dates": lambda rng, n: np.arange(n).astype("datetime64[D]"),
    "sparse": lambda rng, n: scipy.sparse.csr_array(np.ones((n, 1))),
    "other index": lambda rng, n: pd.Series(np.arange(n) % 2, index=np.arange(n) + 5),
    "same index twice": lambda rng, n: pd.Series(np.arange(n) % 2, index=np.arange(n) // 2),
    "missing nullable": lambda rng, n: pd.array([1, None] * n, dtype="Int64")[:n],
    "polars": lambda rng, n: polars.Series(np.arange(n) % 2),
    "a file": lambda rng, n: "no/such/y.npy",
}
BAD["record"] = lambda rng, n: np.zeros(n, dtype=[("a", float)])


def response(rng, n, needs, wild):
    """Something for y, and its name."""
    good = LABELS if "labels" in needs else RESPONSES
    if rng.random() < (0.5 if wild else 0.1):
        good = {**LABELS, **RESPONSES, **BAD}
    name = str(rng.choice(list(good)))
    return name, good[name](rng, n)
