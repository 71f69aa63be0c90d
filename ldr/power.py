"""Power of projected trials, the features of spatial filters."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ldr.inputs import of_array
from ldr.objectives.data.sample_metadata import as_array, as_trials
from ldr.result import Result
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.manifolds import Array
from ldr.types import PerRow, Rows
from ldr.validation import in_words


def mean_power(Y: Array, starts: npt.NDArray[np.intp]) -> Array:
    """Return the mean square of each coordinate in each trial, which begin at some samples."""
    lengths = np.diff(starts, append=len(Y))
    return np.asarray(np.add.reduceat(Y**2, starts) / lengths[:, None])


@in_words
def log_power(result: Result, X: Rows, groups: PerRow = None) -> Array:
    """Compute the logarithm of mean squares in each trial: the features of csp and spoc.

    Parameters
    ----------
    result : Result
        Of one view.
    X : Trials of `ldr.trials`, or Epochs of mne
        Or samples in rows, with `groups`.
    groups : array (n,), optional
        The trial of each row; rows of a trial stand next to one another.

    Returns
    -------
    ndarray (trials, r)

    Raises
    ------
    ldr.errors.ArgumentError
        A result of several views.
    ldr.errors.DataError
        No trials, or a trial in which a coordinate is zero throughout.

    Examples
    --------
    >>> import numpy as np, ldr
    >>> trials = ldr.trials(np.random.default_rng(0).standard_normal((20, 4, 50)))
    >>> result = ldr.solve("csp", trials, r=2, y=np.arange(20) % 2)
    >>> ldr.log_power(result, trials).shape
    (20, 2)
    """
    if isinstance(result.P, tuple):
        raise ArgumentError("result must be of one view, got one of several")
    rows, trials = of_array(X)
    trials = trials if groups is None else groups
    if trials is None:
        raise DataError(
            "X has no trials: pass ldr.trials(X) of an array (trials, channels, times), or the "
            "trial of each row, groups="
        )
    Y = np.asarray(result.transform(rows))
    ids = as_trials(as_array(trials), len(Y))
    power = mean_power(Y, np.flatnonzero(np.append(True, ids[1:] != ids[:-1])))
    if not power.all():
        raise DataError("X has a trial in which a coordinate is zero throughout: no logarithm")
    return np.log(power)
