"""Sums over blocks of rows: means, scatters, class, lagged and cross products, graph products.

Accuracy. A scatter computed as X'X - n mean mean' loses every digit when the mean is large against
the spread. Here the rows are shifted first by a *pilot*, the mean of a sample of s of them (up
to 2048, spread evenly). Any shift c is right in exact arithmetic, and by the Cauchy-Schwarz
inequality s |c_j - mean_j|^2 <= S_jj whatever the data, so the correction - n (mean - c)(mean - c)'
cancels at most a factor 1 + n/s, and a factor 1 + 1/s on average: no digits. Where every mean is
within 5 standard deviations of zero the shift and its copy are spared, for a factor 26. Each
entry of a dense scatter is therefore good to about 1e-14 sqrt(S_ii S_jj), at any ratio of mean to
spread that the stored numbers resolve, and for rows that drift. A column that is constant gives
exactly zero.
Sparse rows cannot be shifted without filling them: there X'X - n mean mean' is used, and the
relative error is about 1e-16 (1 + mean^2 / variance).

All sums are in float64, whatever the type of the data. The pilot's sample comes from a fixed seed,
so the same data give the same bits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from ldr.objectives.samples import Array, Samples
from ldr.solvers.errors import ArgumentError, DataError

# The sums use SciPy's BLAS throughout, which adds into its output in place: with many columns that
# is several times faster than S += Z.T @ Z. Mixing in NumPy's own BLAS would set two
# thread pools against each other.

Codes = npt.NDArray[np.intp]

_PILOT_ROWS = 2048
_PILOT_NUMBERS = 2**20
_FEWEST_PILOT_ROWS = 16
_ROWS_PER_CLASS = 4
_GATHERED_BLOCKS = 4
# Columns whose mean is within this many standard deviations of zero need no shift and no copy,
# which saves a fifth of the time; the correction then cancels a factor 26 of 1e16.
_NO_SHIFT = 5.0
# Directions of the rows' span below this share of the largest eigenvalue are not kept.
_GRAM_CUT = 1e-10


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and scatter of n rows.

    Attributes
    ----------
    n : int
    mean : ndarray, shape (d,)
    scatter : ndarray, shape (d, d)
        sum_i (x_i - mean)(x_i - mean)'.
    """

    n: int
    mean: Array
    scatter: Array

    @property
    def covariance(self) -> Array:
        """scatter / n, shape (d, d)."""
        return self.scatter / self.n


@dataclass(frozen=True, eq=False)
class JointMoments:
    """Means and scatters of two views of the same n samples.

    Attributes
    ----------
    n : int
    mean_a, mean_b : ndarray, shapes (da,) and (db,)
    scatter_aa, scatter_ab, scatter_bb : ndarray, shapes (da, da), (da, db), (db, db)
        scatter_ab is sum_i (a_i - mean_a)(b_i - mean_b)', and so on.
    """

    n: int
    mean_a: Array
    mean_b: Array
    scatter_aa: Array
    scatter_ab: Array
    scatter_bb: Array


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """Scatters within and between c classes.

    Attributes
    ----------
    counts : ndarray of int, shape (c,)
        n_k, the samples in each class.
    means : ndarray, shape (c, d)
        mu_k.
    mean : ndarray, shape (d,)
        mu, the mean of all samples.
    within : ndarray, shape (d, d)
        S_W = sum_i (x_i - mu_{z_i})(x_i - mu_{z_i})'.
    between : ndarray, shape (d, d)
        S_B = sum_k n_k (mu_k - mu)(mu_k - mu)'. S_B + S_W is the scatter of all samples.
    """

    counts: Codes
    means: Array
    mean: Array
    within: Array
    between: Array


@dataclass(frozen=True, eq=False)
class LaggedMoments:
    """Mean, scatter and lagged covariance of rows in time order.

    Attributes
    ----------
    n : int
    mean : ndarray, shape (d,)
    scatter : ndarray, shape (d, d)
        sum_t (x_t - mean)(x_t - mean)'.
    lagged : ndarray, shape (d, d)
        The symmetric part of 1/(n - lag) sum_t (x_t - mean)(x_{t+lag} - mean)'.
    """

    n: int
    mean: Array
    scatter: Array
    lagged: Array


# --- the pilot and the three sums everything is made of -------------------------------------


def _spread_rows(n: int, count: int) -> Codes:
    """Indices of `count` rows, one from each of as many equal stretches of 0..n-1.

    The place within each stretch is random (with a fixed seed), so that data with a period, or
    classes in rotation, are sampled fairly.
    """
    if count >= n:
        return np.arange(n)
    stretch = n / count
    jitter = np.random.default_rng(0).random(count)
    rows = ((np.arange(count) + jitter) * stretch).astype(np.intp)
    return np.minimum(rows, n - 1)


def _pilot_rows(d: int) -> int:
    return max(_FEWEST_PILOT_ROWS, min(_PILOT_ROWS, _PILOT_NUMBERS // d))


def _pilot(samples: Samples) -> Array | None:
    """Shift for dense rows: close to their mean, exactly it for constant columns.

    None where every column's mean is already small against its spread.
    """
    sample = _sampled(samples, _spread_rows(samples.n, _pilot_rows(samples.d)))
    first = sample[0].copy()
    sample -= first  # exactly zero in a constant column, so that its pilot is its value
    offset = sample.mean(axis=0)
    shift = first + offset
    if np.all(np.abs(shift) <= _NO_SHIFT * sample.std(axis=0)):
        return None
    return shift


def _sampled(samples: Samples, rows: Codes) -> Array:
    """Copy of some rows of dense data, in float64."""
    picked = np.asarray(samples.array)[rows]  # a copy already
    return np.asarray(picked, dtype=np.float64, order="C")


def _shifted_blocks(
    samples: Samples, shift: Array | None, rows: int | None
) -> Iterator[tuple[slice, Array]]:
    """Walk over dense blocks less the shift. One buffer serves all: use a block, then forget it."""
    if shift is None:
        yield from samples.blocks(rows)
        return
    buffer = np.empty((min(rows or samples.block_rows, samples.n), samples.d))
    for where, block in samples.blocks(rows):
        yield where, np.subtract(block, shift, out=buffer[: len(block)])


def _add_square(total: Array, Z: Array) -> Array:
    """Upper triangle of total + Z'Z, in place (total in Fortran order, Z in C order)."""
    return scipy.linalg.blas.dsyrk(1.0, Z.T, beta=1.0, c=total, overwrite_c=1)


def _add_product(total: Array, Z: Array, Y: Array) -> Array:
    """Return total + Z'Y, computed in place (total in Fortran order, Z and Y in C order)."""
    return scipy.linalg.blas.dgemm(1.0, Z.T, Y.T, beta=1.0, c=total, trans_b=1, overwrite_c=1)


def _add_sum(total: Array, Z: Array) -> Array:
    """Return total + 1'Z. The block is summed on its own first, which rounds less."""
    return total + scipy.linalg.blas.dgemv(1.0, Z.T, np.ones(len(Z)))


def _zeros(rows: int, columns: int) -> Array:
    """Zeros in the order BLAS can add into without a copy."""
    return np.zeros((rows, columns), order="F")


def _full(upper: Array) -> Array:
    """Symmetric matrix of an upper triangle."""
    square = np.triu(upper)
    return square + np.triu(upper, 1).T


def _symmetric(A: Array) -> Array:
    return 0.5 * (A + A.T)


def _plus(shift: Array | None, mean: Array) -> Array:
    return mean if shift is None else shift + mean


def _dense(product: Any) -> Array:
    """Product of two sparse matrices (d x d or smaller) as an array."""
    return np.asarray(product.toarray() if hasattr(product, "toarray") else product)


def _sparse_rows(samples: Samples) -> Any:
    return samples.array.astype(np.float64, copy=False)


def _sparse_mean(samples: Samples) -> Array:
    return np.asarray(_sparse_rows(samples).sum(axis=0)).ravel() / samples.n


# --- means and scatters -----------------------------------------------------------------------


def mean(samples: Samples, *, rows: int | None = None) -> Array:
    """Mean of the rows.

    Parameters
    ----------
    samples : Samples, shape (n, d)
    rows : int, optional
        Rows in a block.

    Returns
    -------
    ndarray, shape (d,)
        Right to a few units in the last place of max(|mean|, spread); exact for constant
        columns of dense data.
    """
    if samples.is_sparse:
        return _sparse_mean(samples)
    shift = _pilot(samples)
    total = np.zeros(samples.d)
    for _, Z in _shifted_blocks(samples, shift, rows):
        total = _add_sum(total, Z)
    return _plus(shift, total / samples.n)


def moments(samples: Samples, *, rows: int | None = None) -> Moments:
    """Mean and scatter of the rows, in one pass.

    Parameters
    ----------
    samples : Samples, shape (n, d)
    rows : int, optional
        Rows in a block.

    Returns
    -------
    Moments
        Accuracy as the module says: entries of the scatter to about 1e-14 sqrt(S_ii S_jj) for
        dense data; algebraic, X'X - n mean mean', for sparse data.
    """
    if samples.is_sparse:
        return _sparse_moments(samples)
    shift = _pilot(samples)
    return _moments_of(_shifted_blocks(samples, shift, rows), samples.shape, shift)


def _moments_of(
    blocks: Iterator[tuple[slice, Array]], shape: tuple[int, int], shift: Array | None
) -> Moments:
    """Moments of rows from their shifted blocks."""
    n, d = shape
    total, squares = np.zeros(d), _zeros(d, d)
    for _, Z in blocks:
        total = _add_sum(total, Z)
        squares = _add_square(squares, Z)
    rest = total / n
    squares = scipy.linalg.blas.dsyrk(-float(n), rest[:, None], beta=1.0, c=squares, overwrite_c=1)
    return Moments(n, _plus(shift, rest), _full(squares))


def _sparse_moments(samples: Samples) -> Moments:
    X, centre = _sparse_rows(samples), _sparse_mean(samples)
    scatter = _dense(X.T @ X) - samples.n * np.outer(centre, centre)
    return Moments(samples.n, centre, _symmetric(scatter))


def joint_moments(a: Samples, b: Samples, *, rows: int | None = None) -> JointMoments:
    """Means, scatters and cross scatter of two views of the same samples.

    One pass over both views where both are dense. Where either is sparse, three passes: the
    scatters, then A'(B - 1 mean_b'), which is right because A's own mean drops out.

    Parameters
    ----------
    a, b : Samples, shapes (n, da) and (n, db)
    rows : int, optional
        Rows in a block.

    Returns
    -------
    JointMoments
        Accuracy as for `moments`: the error of cross entry (i, j) is relative to
        sqrt(Saa_ii Sbb_jj).

    Raises
    ------
    DataError
        The views have different numbers of rows.
    """
    if a.n != b.n:
        raise DataError(
            f"{a.name} has {a.n} rows and {b.name} has {b.n}; "
            f"two views of the same samples were expected"
        )
    if a.is_sparse or b.is_sparse:
        return _joint_moments_apart(a, b)
    shift = _side_by_side(_pilot(a), a.d, _pilot(b), b.d)
    blocks = _joint_blocks(a, b, shift, rows or min(a.block_rows, b.block_rows))
    both = _moments_of(blocks, (a.n, a.d + b.d), shift)
    return JointMoments(
        a.n,
        both.mean[: a.d],
        both.mean[a.d :],
        both.scatter[: a.d, : a.d],
        both.scatter[: a.d, a.d :],
        both.scatter[a.d :, a.d :],
    )


def _side_by_side(shift_a: Array | None, da: int, shift_b: Array | None, db: int) -> Array:
    parts = (
        np.zeros(da) if shift_a is None else shift_a,
        np.zeros(db) if shift_b is None else shift_b,
    )
    return np.concatenate(parts)


def _joint_blocks(a: Samples, b: Samples, shift: Array, rows: int) -> Iterator[tuple[slice, Array]]:
    """Shifted blocks of both views side by side, so that one product gives all scatters."""
    buffer = np.empty((min(rows, a.n), a.d + b.d))
    for where in a.slices(rows):
        block = buffer[: where.stop - where.start]
        np.subtract(a.rows(where), shift[: a.d], out=block[:, : a.d])
        np.subtract(b.rows(where), shift[a.d :], out=block[:, a.d :])
        yield where, block


def _joint_moments_apart(a: Samples, b: Samples) -> JointMoments:
    of_a, of_b = moments(a), moments(b)
    if a.is_sparse and b.is_sparse:
        cross = _dense(_sparse_rows(a).T @ _sparse_rows(b))
        cross -= a.n * np.outer(of_a.mean, of_b.mean)
    elif a.is_sparse:
        cross = _sparse_cross(a, b, of_b.mean)
    else:
        cross = _sparse_cross(b, a, of_a.mean).T
    return JointMoments(a.n, of_a.mean, of_b.mean, of_a.scatter, cross, of_b.scatter)


def _sparse_cross(a: Samples, b: Samples, mean_b: Array) -> Array:
    """A'(B - 1 mean_b') for sparse A and dense B."""
    cross = np.zeros((a.d, b.d))
    for where, block in b.blocks():
        cross += a.rows(where).T @ (block - mean_b)
    return cross


# --- classes ------------------------------------------------------------------------------------


def class_moments(
    samples: Samples, codes: Codes, n_classes: int, *, rows: int | None = None
) -> ClassMoments:
    """Scatters within and between classes, in one pass; classes may come in any order.

    Parameters
    ----------
    samples : Samples, shape (n, d)
    codes : ndarray of int, shape (n,)
        Class of each sample, 0..n_classes-1, every class occurring (see `as_labels`).
    n_classes : int
    rows : int, optional
        Rows in a block.

    Returns
    -------
    ClassMoments
        S_W is accurate relative to its own diagonal even where the classes lie far apart, since
        each class has its own pilot, and S_B relative to its own where they lie close. Both
        are algebraic for sparse data.

    Raises
    ------
    ArgumentError
        Another number of codes than rows, codes out of range, or a class that never occurs.
    """
    counts = _class_counts(samples.n, codes, n_classes)
    if samples.is_sparse:
        return _sparse_class_moments(samples, codes, counts)
    pilots = _class_pilots(samples, codes, counts)
    # With many classes, longer blocks: the sums are rewritten for each.
    rows = rows or max(samples.block_rows, _ROWS_PER_CLASS * n_classes)
    sums, squares = np.zeros((n_classes, samples.d)), _zeros(samples.d, samples.d)
    for where, Z in _class_shifted_blocks(samples, codes, pilots, rows):
        sums += _membership(codes[where], n_classes) @ Z
        squares = _add_square(squares, Z)
    rest = sums / counts[:, None]
    weighted = np.sqrt(counts)[:, None] * rest
    squares = scipy.linalg.blas.dsyrk(-1.0, weighted.T, beta=1.0, c=squares, overwrite_c=1)
    if pilots is None:
        return _class_moments(counts, np.zeros(samples.d), rest, _full(squares))
    # Class means measured from one of the pilots keep the digits that their differences need.
    return _class_moments(counts, pilots[0], (pilots - pilots[0]) + rest, _full(squares))


def _class_shifted_blocks(
    samples: Samples, codes: Codes, pilots: Array | None, rows: int
) -> Iterator[tuple[slice, Array]]:
    """Walk over dense blocks less each row's class pilot, in one buffer (see _shifted_blocks)."""
    if pilots is None:
        yield from samples.blocks(rows)
        return
    buffer = np.empty((min(rows, samples.n), samples.d))
    for where, block in samples.blocks(rows):
        Z = buffer[: len(block)]
        # mode="clip" (the codes are checked) lets take write into its output directly.
        np.take(pilots, codes[where], axis=0, out=Z, mode="clip")
        yield where, np.subtract(block, Z, out=Z)


def _class_counts(n: int, codes: Codes, n_classes: int) -> Codes:
    if codes.shape != (n,):
        raise ArgumentError(f"codes has shape {codes.shape}; one code for each of {n} rows needed")
    if codes.min() < 0 or codes.max() >= n_classes:
        raise ArgumentError(
            f"codes run from {codes.min()} to {codes.max()}; 0 to {n_classes - 1} was expected"
        )
    counts = np.bincount(codes, minlength=n_classes)
    if np.any(counts == 0):
        raise ArgumentError(f"class {int(np.argmin(counts))} of {n_classes} has no samples")
    return counts


def _class_pilots(samples: Samples, codes: Codes, counts: Codes) -> Array | None:
    """Shift for each class, from sampled rows and each class's first: close to its mean.

    None where the class means are already small against the spread within classes.
    """
    first_rows = np.unique(codes, return_index=True)[1]
    rows = np.union1d(_spread_rows(samples.n, _pilot_rows(samples.d)), first_rows)
    firsts, sample, classes = _sampled(samples, first_rows), _sampled(samples, rows), codes[rows]
    sample -= firsts[classes]
    offsets = _membership(classes, len(counts)) @ sample
    offsets /= np.bincount(classes, minlength=len(counts))[:, None]
    pilots = firsts + offsets
    sample -= offsets[classes]
    if np.all(counts @ pilots**2 <= _NO_SHIFT**2 * samples.n * np.mean(sample**2, axis=0)):
        return None
    return np.asarray(pilots)


def _membership(codes: Codes, n_classes: int) -> Any:
    """Sparse (n_classes x rows) matrix of ones that sums rows class by class."""
    from scipy.sparse import csc_array

    n = len(codes)
    return csc_array((np.ones(n), codes, np.arange(n + 1)), shape=(n_classes, n))


def _class_moments(counts: Codes, origin: Array, offsets: Array, within: Array) -> ClassMoments:
    """Put the parts together, from class means relative to an origin."""
    centre = counts @ offsets / counts.sum()
    weighted = np.sqrt(counts)[:, None] * (offsets - centre)
    return ClassMoments(
        counts, origin + offsets, origin + centre, within, _symmetric(weighted.T @ weighted)
    )


def _sparse_class_moments(samples: Samples, codes: Codes, counts: Codes) -> ClassMoments:
    X = _sparse_rows(samples)
    means = _dense(_membership(codes, len(counts)).tocsr() @ X) / counts[:, None]
    weighted = np.sqrt(counts)[:, None] * means
    within = _dense(X.T @ X) - weighted.T @ weighted
    return _class_moments(counts, np.zeros(samples.d), means, _symmetric(within))


# --- time -----------------------------------------------------------------------------------------


def lagged_moments(samples: Samples, lag: int, *, rows: int | None = None) -> LaggedMoments:
    """Mean, scatter and symmetrised lagged covariance of rows in time order.

    With Z the rows less a shift c, e = mean - c, and a, b the sums of the first and of the last
    n - lag rows of Z, sum_t (x_t - mean)(x_{t+lag} - mean)' is
    sum_t z_t z_{t+lag}' - a e' - e b' + (n - lag) e e'.

    Parameters
    ----------
    samples : Samples, shape (n, d)
    lag : int
        1 <= lag < n.
    rows : int, optional
        Rows in a block; fewer than the lag is fine.

    Returns
    -------
    LaggedMoments
        Errors as for `moments`, relative to the covariance's diagonal.

    Raises
    ------
    ArgumentError
        The lag is out of range.
    """
    if not 1 <= lag < samples.n:
        raise ArgumentError(
            f"lag must be between 1 and n - 1 = {samples.n - 1} "
            f"({samples.name} has {samples.n} rows), got {lag}"
        )
    if samples.is_sparse:
        return _sparse_lagged_moments(samples, lag)
    n, d = samples.shape
    shift = _pilot(samples)
    head_sum, tail_sum, total = np.zeros(d), np.zeros(d), np.zeros(d)
    squares, products = _zeros(d, d), _zeros(d, d)
    for where, Z in _shifted_blocks(samples, shift, rows):
        total = _add_sum(total, Z)
        squares = _add_square(squares, Z)
        # The rows `lag` later are read again rather than carried: any lag, any block, and
        # memory for two blocks only.
        head = Z[: max(0, n - lag - where.start)]
        if len(head) == 0:
            continue
        later = samples.rows(slice(where.start + lag, where.start + lag + len(head)))
        tail = later if shift is None else later - shift
        head_sum, tail_sum = _add_sum(head_sum, head), _add_sum(tail_sum, tail)
        products = _add_product(products, head, tail)
    rest = total / n
    squares = scipy.linalg.blas.dsyrk(-float(n), rest[:, None], beta=1.0, c=squares, overwrite_c=1)
    products -= np.outer(head_sum, rest) + np.outer(rest, tail_sum - (n - lag) * rest)
    return LaggedMoments(n, _plus(shift, rest), _full(squares), _symmetric(products) / (n - lag))


def _sparse_lagged_moments(samples: Samples, lag: int) -> LaggedMoments:
    X, n = _sparse_rows(samples), samples.n
    whole = _sparse_moments(samples)
    head, tail, centre = X[: n - lag], X[lag:], whole.mean
    products = _dense(head.T @ tail)
    products -= np.outer(np.asarray(head.sum(axis=0)).ravel(), centre)
    products -= np.outer(centre, np.asarray(tail.sum(axis=0)).ravel() - (n - lag) * centre)
    return LaggedMoments(n, centre, whole.scatter, _symmetric(products) / (n - lag))


def difference_scatter(samples: Samples, *, rows: int | None = None) -> Array:
    """Xdot'Xdot, where Xdot holds the n - 1 differences x_{t+1} - x_t of rows in time order.

    Parameters
    ----------
    samples : Samples, shape (n, d)
        At least two rows.
    rows : int, optional
        Rows in a block.

    Returns
    -------
    ndarray, shape (d, d)
        A sum of squares of differences of the stored numbers: nothing cancels, whatever the
        mean.

    Raises
    ------
    DataError
        Fewer than two rows.
    """
    if samples.n < 2:
        raise DataError(f"{samples.name} has {samples.n} row(s); differences need at least 2")
    if samples.is_sparse:
        X = _sparse_rows(samples)
        steps = X[1:] - X[:-1]
        return _symmetric(_dense(steps.T @ steps))
    squares = _zeros(samples.d, samples.d)
    for where in samples.slices(rows):
        block = samples.rows(slice(where.start, where.stop + 1))  # and the next block's first row
        if len(block) > 1:
            squares = _add_square(squares, block[1:] - block[:-1])
    return _full(squares)


# --- graphs ---------------------------------------------------------------------------------------


def graph_scatter(samples: Samples, W: Any, mean: Array) -> tuple[Array, Array]:
    """Xc'L Xc and Xc'D Xc for a weighted graph on the samples, Xc = X - 1 mean'.

    L = D - W is the graph Laplacian and D the diagonal of W's row sums. L is blind to the mean
    (Xc'L Xc = X'L X), but the sums are made of centred rows, which keep the digits; D is not
    blind. Works on a few rows of W at a time with the rows of X they touch, in
    O(nnz(W) d + n d^2).

    Parameters
    ----------
    samples : Samples, shape (n, d)
    W : scipy.sparse matrix or array, shape (n, n)
        Symmetric; never made dense.
    mean : ndarray, shape (d,)

    Returns
    -------
    laplacian, degree : ndarray, shape (d, d)
        For dense data, entry (i, j) of either is accurate relative to
        sqrt(degree_ii degree_jj). Algebraic for sparse data.

    Raises
    ------
    DataError
        W has another shape, is not symmetric, or has values that are not finite.
    """
    W = _checked_graph(W, samples)
    degrees = np.asarray(W.sum(axis=1)).ravel()
    if samples.is_sparse:
        return _sparse_graph_scatter(samples, W, degrees, mean)
    laplacian, degree = _zeros(samples.d, samples.d), _zeros(samples.d, samples.d)
    for where in _graph_slices(W, samples):
        Z = samples.rows(where) - mean
        weighted = degrees[where, None] * Z
        degree = _add_product(degree, Z, weighted)
        weighted -= _neighbour_sums(samples, W[where], mean)
        laplacian = _add_product(laplacian, Z, weighted)
    return _symmetric(laplacian), _symmetric(degree)


def _checked_graph(W: Any, samples: Samples) -> Any:
    from scipy.sparse import csr_array

    n = samples.n
    if tuple(W.shape) != (n, n):
        raise DataError(f"W has shape {tuple(W.shape)}; ({n}, {n}) was expected, a row a sample")
    W = csr_array(W).astype(np.float64)
    if not np.all(np.isfinite(W.data)):
        raise DataError("W has weights that are NaN or infinite; finite weights were expected")
    skew = abs(W - W.T).max()
    if skew > 1e-10 * abs(W).max():
        raise DataError(
            f"W is not symmetric (its largest |w_ij - w_ji| is {skew:.2g}); "
            f"a symmetric graph was expected, for instance (W + W.T) / 2"
        )
    return W


def _graph_slices(W: Any, samples: Samples) -> Iterator[slice]:
    """Slices of rows of W, each touching no more rows of X than fit in a few blocks."""
    step = samples.block_rows
    entries = _GATHERED_BLOCKS * step
    start = 0
    while start < samples.n:
        fits = int(np.searchsorted(W.indptr, W.indptr[start] + entries, side="right")) - 1
        stop = min(max(fits, start + 1), start + step, samples.n)
        yield slice(start, stop)
        start = stop


def _neighbour_sums(samples: Samples, W: Any, mean: Array) -> Array:
    """Rows W of the graph times Xc, gathering only the rows of X that have weights there."""
    from scipy.sparse import csr_array

    touched, local = np.unique(W.indices, return_inverse=True)
    compact = csr_array((W.data, local, W.indptr), shape=(W.shape[0], len(touched)))
    Z = _sampled(samples, touched)
    Z -= mean
    return np.asarray(compact @ Z)


def _sparse_graph_scatter(
    samples: Samples, W: Any, degrees: Array, mean: Array
) -> tuple[Array, Array]:
    from scipy.sparse import diags_array

    X = _sparse_rows(samples)
    weighted = (diags_array(degrees) @ X).tocsr()
    degree = _dense(X.T @ weighted)
    laplacian = degree - _dense(X.T @ (W @ X))
    sums = np.asarray(X.T @ degrees)
    degree = degree - np.outer(sums, mean) - np.outer(mean, sums - degrees.sum() * mean)
    return _symmetric(laplacian), _symmetric(degree)


# --- fewer samples than features --------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RowSpace(ABC):
    """Orthonormal basis Q (d x k) of the span of the centred rows, and their coordinates in it.

    Any directions of interest lie in this span where n < d, so a method can work on `scores`, in
    k dimensions, and `lift` its answer: no d x d array.

    Attributes
    ----------
    mean : ndarray, shape (d,)
    scores : ndarray, shape (n, k)
        T = Xc Q, so that Xc = T Q'.
    """

    mean: Array
    scores: Array

    @property
    def k(self) -> int:
        """Dimension of the basis."""
        return int(self.scores.shape[1])

    @abstractmethod
    def lift(self, Z: Array) -> Array:
        """Q Z: from coordinates, shape (k, r), to features, shape (d, r)."""

    @abstractmethod
    def lower(self, M: Array) -> Array:
        """Q'M: from features, shape (d, r), to coordinates, shape (k, r)."""


@dataclass(frozen=True, eq=False)
class DenseRowSpace(RowSpace):
    """Row space with its basis at hand.

    Attributes
    ----------
    basis : ndarray, shape (d, k)
        Q, orthonormal to rounding.
    """

    basis: Array

    def lift(self, Z: Array) -> Array:
        return np.asarray(self.basis @ Z)

    def lower(self, M: Array) -> Array:
        return np.asarray(self.basis.T @ M)


@dataclass(frozen=True, eq=False)
class SparseRowSpace(RowSpace):
    """Row space whose basis Q = Xc'W is never formed (it would fill a d x k array).

    Attributes
    ----------
    samples : Samples, shape (n, d)
    weights : ndarray, shape (n, k)
        W.
    """

    samples: Samples
    weights: Array

    def lift(self, Z: Array) -> Array:
        return self.samples.centred_transpose_times(self.weights @ Z, self.mean)

    def lower(self, M: Array) -> Array:
        return np.asarray(self.weights.T @ self.samples.centred_times(M, self.mean))


def row_space(samples: Samples) -> RowSpace:
    """Orthonormal basis of the span of the centred rows, for data with n < d.

    Dense data: Householder QR of the centred rows, in O(n^2 d), with one copy of X in float64.
    Sparse data: the eigenvectors of the n x n Gram matrix of the centred rows, in O(n^3) and the
    cost of X X'.

    Parameters
    ----------
    samples : Samples, shape (n, d)

    Returns
    -------
    RowSpace
        Dense data: k = min(n - 1, d), with Q orthonormal to 1e-15 also where the rows are
        dependent (Q then has directions with zero scores). Sparse data: k is the number of
        Gram eigenvalues above 1e-10 of the largest, and Q is orthonormal to 1e-16 over the
        smallest kept share (1e-6 at worst).
    """
    if samples.is_sparse:
        return _sparse_row_space(samples)
    return _dense_row_space(samples)


def _dense_row_space(samples: Samples) -> DenseRowSpace:
    """QR of n - 1 combinations of the rows that are blind to the mean.

    The n centred rows span n - 1 dimensions at most. A Householder reflection H that takes 1 to a
    multiple of e_1 turns Xc into H Xc, whose first row is zero; the others, B, are
    the same span without the dependence. With B' = Q R, Xc = H [0; R'] Q'.
    """
    n, d = samples.shape
    centre = mean(samples)
    Z = np.empty((n, d))
    for where, block in samples.blocks():
        np.subtract(block, centre, out=Z[where])
    root = np.sqrt(n)
    first = Z[0] / root
    # H = I - v v' / (1 + 1/root) with v = 1/root + e_1; all entries of v but the first agree.
    Z[1:] -= (first + Z.sum(axis=0) / n) / (1 + 1 / root)
    basis, R = scipy.linalg.qr(Z[1:].T, mode="economic", overwrite_a=True, check_finite=False)
    scores = np.empty((n, basis.shape[1]))
    scores[0] = -R.sum(axis=1) / root
    scores[1:] = R.T - R.sum(axis=1) / (n * (1 + 1 / root))
    return DenseRowSpace(centre, scores, basis)


def _sparse_row_space(samples: Samples) -> SparseRowSpace:
    X, centre = _sparse_rows(samples), _sparse_mean(samples)
    along = np.asarray(X @ centre)
    gram = _dense(X @ X.T) - along[:, None] - along + centre @ centre
    values, vectors = scipy.linalg.eigh(_symmetric(gram), check_finite=False)
    kept = values > _GRAM_CUT * max(float(values[-1]), 0.0)
    lengths, vectors = np.sqrt(values[kept][::-1]), vectors[:, kept][:, ::-1]
    return SparseRowSpace(centre, vectors * lengths, samples, vectors / lengths)
