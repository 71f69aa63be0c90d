"""Trials of several channels: order of axes, objects of MNE, and power."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import numpy.typing as npt

from ldr.errors import in_words
from ldr.objectives.data.array_types import is_labelled
from ldr.objectives.data.sample_metadata import as_array, begins
from ldr.objectives.data.sample_metadata import as_trials as as_ids
from ldr.solvers.checks import choice
from ldr.solvers.errors import ArgumentError, DataError, DataWarning, warn
from ldr.solvers.manifolds import Array
from ldr.types import PerRow, Rows, XandY

if TYPE_CHECKING:
    from ldr.result import Result

LAYOUTS = ("channels, times", "times, channels")
# Features of a trial by method: powers of components, or their concatenated time courses.
FEATURES = {"csp": "power", "spoc": "power", "ssd": "power", "xdawn": "flat"}


@dataclass(frozen=True, eq=False)
class Trials:
    """Samples of all trials, stacked; made by `ldr.trials`.

    - rows (n, channels): the samples of all trials, one trial after another
    - ids (n,): the trial of each row
    - names: names of the channels, if known
    """

    rows: np.ndarray
    ids: npt.NDArray[np.intp]
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.ids[-1]) + 1

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples of all trials, and number of channels."""
        return self.rows.shape[0], self.rows.shape[1]

    def __repr__(self) -> str:
        n, channels = self.shape
        return f"{len(self)} trials of {channels} channels, {n} samples in all"


def trials(X: Rows, layout: str | None = None) -> Trials | tuple[Trials, ...]:
    """Declare the order of the axes of trials, for every function of ldr that takes X.

    Parameters
    ----------
    X : array (trials, channels, times), list of arrays (channels, times), Epochs or Raw of mne
        For arrays (times, channels) set `layout`. Trials in a list may differ in length. Epochs and
        Raw need no `layout`. A tuple holds the same trials in several views.
    layout : {"channels, times", "times, channels"}, optional
        Order of the axes of a trial; by default "channels, times".

    Returns
    -------
    Trials, or a tuple of them

    Raises
    ------
    ldr.errors.ArgumentError
        The layout is unknown.
    ldr.errors.DataError
        X holds no trials, or its trials have different channels.

    Warns
    -----
    ldr.errors.DataWarning
        No layout is given, and trials have more channels than times: the axes may be exchanged.

    Examples
    --------
    >>> import numpy as np, ldr
    >>> X, y = np.random.default_rng(0).standard_normal((20, 4, 50)), np.arange(20) % 2
    >>> ldr.solve("csp", ldr.trials(X), 2, y=y).P.shape
    (2, 4)
    """
    if layout is not None:
        choice("layout", layout, LAYOUTS)
    if isinstance(X, tuple):
        return tuple(_trials(view, layout, f"X[{i}]") for i, view in enumerate(X))
    return _trials(X, layout, "X")


def _trials(X: Rows, given: str | None, name: str) -> Trials:
    names: tuple[str, ...] = ()
    if is_of_mne(X):
        names, X, given = tuple(map(str, X.ch_names)), X.get_data(), LAYOUTS[0]
        X = X if X.ndim == 3 else X[None]
    if isinstance(X, Trials):
        return X
    layout = given or LAYOUTS[0]
    if is_labelled(X) and X.ndim == 3:
        axis = X.dims[1 if layout == LAYOUTS[0] else 2]
        names = tuple(map(str, X[axis].to_numpy())) if axis in X.coords else ()
        X = X.to_numpy()
    parts = [np.asarray(part) for part in X] if np.iterable(X) else []
    if not parts or any(part.ndim != 2 for part in parts):
        got = f"shape {np.shape(X)}" if isinstance(X, np.ndarray) else f"a {type(X).__name__}"
        raise DataError(
            f"{name} has {got}: expected an array (trials, {layout}) or a list of arrays ({layout})"
        )
    if layout == LAYOUTS[0]:
        parts = [part.T for part in parts]
    columns = [part.shape[1] for part in parts]
    if len(set(columns)) > 1:
        shown = ", ".join(map(str, columns[:9]))
        raise DataError(f"{name} has trials of {shown} channels, expected equal numbers")
    lengths = [len(part) for part in parts]
    if given is None and columns[0] > max(lengths):
        warn(
            f"{name} is read as trials of ({layout}): {columns[0]} channels and {max(lengths)} "
            f"times. If these are {max(lengths)} channels and {columns[0]} times, pass "
            f"ldr.trials(X, {LAYOUTS[1]!r})",
            DataWarning,
        )
    return Trials(np.concatenate(parts), np.repeat(np.arange(len(parts)), lengths), names)


def is_of_mne(X: Rows) -> bool:
    """Return True for Epochs and Raw of mne, which need not be installed."""
    return hasattr(X, "get_data") and isinstance(getattr(X, "ch_names", None), (list, tuple))


def as_trials(X: Rows) -> Rows:
    """Return an array of three axes, a list of arrays or Epochs as `Trials`; else X itself."""
    if are_arrays(X) or is_of_mne(X) or (isinstance(X, np.ndarray) and X.ndim == 3):
        return trials(X)
    return X


def are_arrays(X: Rows) -> bool:
    """Return True for a list of arrays of two axes, which may be trials."""
    return isinstance(X, list) and len(X) > 0 and all(np.ndim(part) == 2 for part in X)


def refuse_layout(X: Rows, name: str) -> NoReturn:
    """Refuse an array or a list of trials whose order of axes is unknown."""
    if isinstance(X, list):
        got, shape = f"is a list of {len(X)} arrays", ""
    else:
        got, shape = f"has shape {X.shape}", "trials, "
    raise DataError(
        f"{name} {got}, and the order of axes is unknown: pass ldr.trials(X) if the order is "
        f"({shape}channels, times), or ldr.trials(X, 'times, channels') if the order is "
        f"({shape}times, channels), as in version 0.9"
    )


def of_array(X: Rows, name: str = "X") -> XandY:
    """Return the stacked rows of trials, and the trial of each row.

    Any X that does not consist of trials is returned unchanged, with None.
    """
    found = known_trials(X, name)
    return (X, None) if found is None else (found.rows, found.ids)


def known_trials(X: Rows, name: str) -> Trials | None:
    """Return the trials in X if the order of axes is known; None if X has no trials."""
    if isinstance(X, np.ndarray) and X.ndim == 3:
        refuse_layout(X, name)
    return _trials(X, None, name) if isinstance(X, Trials) or is_of_mne(X) else None


def mean_power(Y: Array, trials: np.ndarray) -> Array:
    """Return the mean square of each component in each trial of contiguous samples."""
    starts = np.flatnonzero(begins(trials))
    lengths = np.diff(starts, append=len(Y))
    return np.asarray(np.add.reduceat(Y**2, starts) / lengths[:, None])


def log_mean_power(Y: Array, trials: np.ndarray) -> Array:
    """Return the logarithm of `mean_power`.

    - raises DataError: a component is zero throughout a trial.
    """
    power = mean_power(Y, trials)
    if not power.all():
        raise DataError("a component is zero throughout a trial of X: its power has no logarithm")
    return np.asarray(np.log(power))


@in_words
def log_power(result: Result, X: Rows, groups: PerRow = None) -> Array:
    """Compute log mean squares of the components in each trial: the features of csp and spoc.

    Parameters
    ----------
    result : Result
        Result of a single view.
    X : Trials, Epochs or array (n, d)
        Trials of `ldr.trials`, Epochs of mne, or samples in rows if `groups` is given.
    groups : array (n,), optional
        The trial of each row; the rows of a trial must be contiguous.

    Returns
    -------
    ndarray (trials, r)

    Raises
    ------
    ldr.errors.ArgumentError
        The result has several views.
    ldr.errors.DataError
        X has no trials, or a component is zero in a whole trial.

    Examples
    --------
    >>> import numpy as np, ldr
    >>> trials = ldr.trials(np.random.default_rng(0).standard_normal((20, 4, 50)))
    >>> result = ldr.solve("csp", trials, r=2, y=np.arange(20) % 2)
    >>> ldr.log_power(result, trials).shape
    (20, 2)
    """
    if isinstance(result.P, tuple):
        raise ArgumentError("result must have a single view, got several")
    rows, numbers = of_array(X)
    numbers = numbers if groups is None else groups
    if numbers is None:
        raise DataError(
            "X has no trials: pass ldr.trials(X) of an array (trials, channels, times), or give "
            "the trial of each row as groups="
        )
    Y = np.asarray(result.transform(rows))
    return log_mean_power(Y, as_ids(as_array(numbers), len(Y)))
