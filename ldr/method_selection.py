"""`ldr.choose`: the methods that fit the data at hand, and the questions that they answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from textwrap import TextWrapper

import numpy as np

from ldr.inputs import as_objective
from ldr.objectives.data.opening import as_samples, with_columns
from ldr.objectives.kernel import is_categorical
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need
from ldr.objectives.registry import REGISTRY
from ldr.solvers.checks import flag
from ldr.solvers.errors import ArgumentError
from ldr.types import PerRow, Rows
from ldr.validation import in_words

# Methods by their names, each with why it was taken.
Chosen = dict[str, tuple[Objective, str]]


def asked_for(methods: Sequence[str | Objective]) -> Chosen:
    """Return the given methods by name, or by their representation where a name stands twice."""
    if isinstance(methods, (str, Objective)) or not len(methods):
        raise ArgumentError(f"methods must be a list of names or objectives, got {methods!r}")
    objectives = [as_objective(method, {}) for method in methods]
    names = [objective.name for objective in objectives]
    labels = [repr(o) if names.count(o.name) > 1 else o.name for o in objectives]
    twice = [label for label in labels if labels.count(label) > 1]
    if twice:
        raise ArgumentError(f"methods has {twice[0]} twice, expected different ones")
    return {label: (o, "asked for") for label, o in zip(labels, objectives, strict=True)}


def beyond(chosen: Chosen, n: int) -> dict[str, str]:
    """Return the methods that take minutes for n rows, which nobody named, and why."""
    why = f"it looks at all pairs of {n} rows, which takes long: name it to have it"
    return {name: why for name, (o, _) in chosen.items() if o.traits.by_pairs and n > 1000}


class Beside(StrEnum):
    """Kinds of data, in the words of why a method was taken."""

    VIEWS = "X is a pair of views of the same rows"
    BACKGROUND = "X is a pair with other rows, a background"
    GAPS = "X has missing values"
    LABELS = "y holds labels"
    RESPONSE = "y holds a response"
    TIME = "the rows are a time series"
    NOTHING = "there are rows alone"


_NEEDED = {
    Beside.VIEWS: Need.SECOND_VIEW,
    Beside.BACKGROUND: Need.BACKGROUND,
    Beside.LABELS: Need.LABELS,
    Beside.RESPONSE: Need.RESPONSE,
    Beside.TIME: Need.TIME_ORDER,
}


def beside(X: Rows, y: PerRow = None, time_order: bool = False) -> Beside:
    """Name the kind of data."""
    if isinstance(X, (tuple, dict)):
        views = tuple(X.values()) if isinstance(X, dict) else X
        rows = {as_samples(view, "X").n for view in views}
        return Beside.BACKGROUND if len(views) == 2 and len(rows) == 2 else Beside.VIEWS
    if has_gaps(X):
        return Beside.GAPS
    if y is not None:
        return Beside.LABELS if is_categorical(y) else Beside.RESPONSE
    return Beside.TIME if time_order else Beside.NOTHING


def suited(X: Rows, y: PerRow = None, time_order: bool = False) -> Chosen:
    """Return the methods of the registry that fit the data, and why each was taken."""
    found = beside(X, y, time_order)
    if found is Beside.GAPS:
        fitting = [name for name, method in REGISTRY.items() if method.traits.imputes]
    else:  # what needs that and nothing else
        needs = (_NEEDED[found],) if found in _NEEDED else ()
        fitting = [name for name, method in REGISTRY.items() if method.needs == needs]
    chosen = {name: (REGISTRY[name](), str(found)) for name in fitting}
    if found in (Beside.LABELS, Beside.RESPONSE, Beside.TIME):
        chosen["pca"] = REGISTRY["pca"](), "pca, which does not look at it, as a yardstick"
    return chosen


def has_gaps(X: Rows) -> bool:
    samples = as_samples(X, "X", allow_nan=True)
    return samples.has_nan or (samples.stored and bool(np.isnan(samples.dense()).any()))


@dataclass(frozen=True)
class Advice:
    """A row of the table of methods by question.

    - has, wants: what is there, and what is to be found
    - use: methods of the registry, the first to be tried first
    - instead_of: what is done without them
    - fits: the data that it is for
    """

    has: str
    wants: str
    use: tuple[str, ...]
    instead_of: str
    fits: tuple[Beside, ...]


# Two lines a row: the data that it is for, what is there, what is to be found; the methods, the
# first to be tried first, and what is done without them. ANY: samples, with y or in time order.
_TEXT = """
ANY: rows | the most variance
    pca
ANY: rows, some of them broken | the most variance, outliers aside
    robust-pca | pca after outliers were deleted by eye
ANY: rows | axes that few columns make up
    sparse-pca | loadings of pca, small ones not printed
ANY: rows whose columns have noise of their own | common factors of noisy columns, and how many
    fa, ppca | pca
ANY: answers (yes/no), or counts | what varies in yes/no answers and counts
    exponential-family-pca | pca of zeros and ones
GAPS: rows with gaps | common factors, and the gaps filled
    fa, ppca | means in the gaps, then pca
ANY: rows of mixed signals | independent sources of mixed signals
    ica, uica | pca
ANY: rows, or distances | distances kept
    mds-stress, mds-distances | the first two axes of pca
LABELS: labels | classes apart, and to predict them
    lda, nca | pca, coloured by class
LABELS: labels | orthonormal directions, more than classes
    orthogonal-lda | lda's directions made orthonormal
RESPONSE: a response | what it depends on, whatever the shape
    sdr, sir, save | columns by their correlation
RESPONSE: a response | to predict it from few directions
    pls-regression, ridge-regression, lasso | pca, then a regression
VIEWS: two views of the same rows | what the two share
    cca, pls, orthogonal-cca | pca of both beside one another
VIEWS: three views or more | what three or more share
    mcca, maxdiff, orthogonal-mcca, maxbet | cca of every pair
BACKGROUND: a background, or noise | what the rows have and it has not
    contrastive-pca, opca | pca of the rows
TIME: time | what changes slowly
    sfa, orthogonal-maf, tica | pca, which does not know of time
LABELS: trials of classes (EEG) | whose power differs, or what is evoked
    csp, xdawn | channels picked by hand
TIME: time | the dynamics: rotations, decay
    dynamics | pca, then a fit
ANY: rows near a curved sheet | neighbours kept as neighbours
    orthogonal-lpp, orthogonal-npe | pca
"""


def _read(text: str) -> Iterator[Advice]:
    lines = text.strip().splitlines()
    for question, answer in zip(lines[::2], lines[1::2], strict=True):
        fits, _, rest = question.partition(": ")
        has, wants = rest.split(" | ")
        use, _, instead = answer.strip().partition(" | ")
        whole = (Beside.NOTHING, Beside.LABELS, Beside.RESPONSE, Beside.TIME)
        of = whole if fits == "ANY" else (Beside[fits],)
        yield Advice(has, wants, tuple(use.split(", ")), instead, of)


TABLE = tuple(_read(_TEXT))


class Choice(tuple[Advice, ...]):
    """Rows of the table, printed in lines of at most 80 columns."""

    def __repr__(self) -> str:
        question = TextWrapper(80, subsequent_indent="  ")
        answer = TextWrapper(80, " " * 4, " " * 6, break_on_hyphens=False)
        lines = []
        for advice in self:
            instead = f" (instead of {advice.instead_of})" if advice.instead_of else ""
            lines.append(question.fill(f"{advice.has}: {advice.wants}"))
            lines.append(answer.fill(f"{', '.join(advice.use)}{instead}"))
        return "\n".join(lines)


@in_words
def choose(X: Rows = None, y: PerRow = None, *, time_order: bool = False) -> Choice:
    """Return the questions that suit the data, and the methods that answer them.

    Nothing is solved; `ldr.compare` judges methods on held-out rows.

    Parameters
    ----------
    X : array (n, d), or what else `ldr.solve` takes; several views or a background as a tuple
        By default the whole table.
    y : array (n,), optional
        Labels or a response.
    time_order : bool
        Whether the rows follow one another in time.

    Returns
    -------
    Choice
        A tuple of `Advice`, printed in lines that fit a terminal.

    Raises
    ------
    ldr.errors.DataError
        X is no data.

    Examples
    --------
    >>> import ldr
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> ldr.choose(X, y)[0].use
    ('lda', 'nca')
    """
    flag("time_order", time_order)
    if X is None:
        return Choice(TABLE)
    X, y = with_columns(X, y=y)
    found = beside(X, y, time_order)
    fitting = [advice for advice in TABLE if found in advice.fits]
    return Choice(sorted(fitting, key=lambda advice: len(advice.fits)))  # the narrowest first
