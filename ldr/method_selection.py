"""`ldr.choose`: methods that fit the given data, and the questions that these methods answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from textwrap import TextWrapper

import numpy as np

from ldr.errors import in_words
from ldr.inputs import as_objective
from ldr.objectives.data.opening import as_samples, with_columns
from ldr.objectives.data.sample_metadata import as_array
from ldr.objectives.kernel import is_categorical
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need
from ldr.objectives.registry import REGISTRY
from ldr.solvers.checks import flag
from ldr.solvers.errors import ArgumentError
from ldr.trial_layout import known_trials
from ldr.types import PerRow, Rows

# Methods by name, each with the reason why it was chosen.
Chosen = dict[str, tuple[Objective, str]]


def asked_for(methods: Sequence[str | Objective]) -> Chosen:
    """Return the given methods by name, or by repr if a name occurs twice."""
    if isinstance(methods, (str, Objective)) or not len(methods):
        raise ArgumentError(f"methods must be a list of names or objectives, got {methods!r}")
    objectives = [as_objective(method, {}) for method in methods]
    names = [objective.name for objective in objectives]
    labels = [repr(o) if names.count(o.name) > 1 else o.name for o in objectives]
    twice = [label for label in labels if labels.count(label) > 1]
    if twice:
        raise ArgumentError(f"methods has {twice[0]} twice, expected distinct methods")
    return {label: (o, "asked for") for label, o in zip(labels, objectives, strict=True)}


def beyond(chosen: Chosen, n: int) -> dict[str, str]:
    """Return methods that take minutes for n rows, with the reason, unless the user named them."""
    why = f"all pairs of {n} samples take long: name the method in methods= to include it"
    return {name: why for name, (o, _) in chosen.items() if o.traits.by_pairs and n > 1000}


class Beside(StrEnum):
    """Kinds of data: the reasons for which methods are selected."""

    VIEWS = "X is a pair of views of the same samples"
    BACKGROUND = "X is a pair of samples and a background"
    GAPS = "X has missing values"
    LABELS = "y holds labels"
    RESPONSE = "y holds a response"
    TIME = "the samples are a time series"
    TRIAL_LABELS = "y holds a label for each trial"
    TRIAL_RESPONSE = "y holds a quantity for each trial"
    NOTHING = "X has samples alone"


_NEEDED = {
    Beside.VIEWS: (Need.SECOND_VIEW,),
    Beside.BACKGROUND: (Need.BACKGROUND,),
    Beside.LABELS: (Need.LABELS,),
    Beside.RESPONSE: (Need.RESPONSE,),
    Beside.TIME: (Need.TIME_ORDER,),
    Beside.TRIAL_LABELS: (Need.LABELS, Need.TIME_ORDER),
    Beside.TRIAL_RESPONSE: (Need.RESPONSE, Need.TIME_ORDER),
}


def beside(X: Rows, y: PerRow = None, time_order: bool = False) -> Beside:
    """Return the kind of the data: labels, a response, views, time order, trials or none."""
    if (trials := known_trials(X, "X")) is not None:
        if y is not None and len(as_array(y)) == len(trials):
            return Beside.TRIAL_LABELS if is_categorical(y) else Beside.TRIAL_RESPONSE
        X, time_order = trials.rows, True
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
    """Return the methods of the registry that fit the data, and the reason for each."""
    found = beside(X, y, time_order)
    if found is Beside.GAPS:
        fitting = [name for name, method in REGISTRY.items() if method.traits.imputes]
    else:  # otherwise list the methods that need exactly the given inputs
        needs = _NEEDED.get(found, ())
        fitting = [name for name, method in REGISTRY.items() if method.needs == needs]
    chosen = {name: (REGISTRY[name](), str(found)) for name in fitting}
    trials = Beside.TRIAL_LABELS, Beside.TRIAL_RESPONSE
    if found in (Beside.LABELS, Beside.RESPONSE, Beside.TIME, *trials):
        chosen["pca"] = REGISTRY["pca"](), "pca, which ignores it, for comparison"
    return chosen


def has_gaps(X: Rows) -> bool:
    samples = as_samples(X, "X", allow_nan=True)
    return samples.has_nan or (samples.stored and bool(np.isnan(samples.dense()).any()))


@dataclass(frozen=True)
class Advice:
    """A row of the table of methods by question.

    - has, wants: the available data, and the question
    - use: methods of the registry, the recommended one first
    - instead_of: common practice without these methods
    - fits: kinds of data that the methods accept
    """

    has: str
    wants: str
    use: tuple[str, ...]
    instead_of: str
    fits: tuple[Beside, ...]


# Each entry has two lines: "kind of data: available data | question" and "recommended methods |
# common practice". ANY stands for samples of one view, with or without y, time order and trials.
_TEXT = """
ANY: samples | directions of largest variance
    pca
ANY: samples with outliers | largest variance, outliers aside
    robust-pca | pca after deleting outliers by eye
ANY: samples | components with few nonzero loadings
    sparse-pca | pca with small loadings hidden
ANY: samples whose features have separate noise | common factors and their number
    fa | pca
ANY: yes/no answers, or counts | principal components of answers or counts
    exponential-family-pca | pca of zeros and ones
GAPS: samples with missing values | common factors, missing values imputed
    fa, ppca | imputed means, then pca
ANY: mixed signals | independent sources
    ica, uica | pca
ANY: samples, or distances | distances preserved
    mds-stress, mds-distances | first two components of pca
LABELS: labels | separate and predict classes
    lda, nca | pca, coloured by class
LABELS: labels | orthonormal directions, more than classes
    orthogonal-lda | lda's directions, orthonormalised
RESPONSE: a response | directions it depends on, also nonlinearly
    sdr, sir, save | features by their correlation
RESPONSE: a response | predict it from few directions
    pls-regression, ridge-regression, lasso | pca, then a regression
VIEWS: two views of the same samples | variation shared by both
    cca, pls, orthogonal-cca | pca of the joined features
VIEWS: three or more views | variation shared by all
    mcca, maxdiff, orthogonal-mcca, maxbet | cca of every pair
BACKGROUND: a background, or noise | variation that the background lacks
    contrastive-pca, opca | pca of the samples
TIME: a time order | slow signals
    maf, tica, sfa | pca, which ignores time
TRIAL_LABELS: trials of classes (EEG) | differences of power, or evoked responses
    csp, xdawn | channels selected by hand
TRIAL_RESPONSE: trials with a quantity (EEG) | power that follows the quantity
    spoc | channels selected by hand
TIME: a time order | dynamics: rotations, decay
    dynamics | pca, then a fit
ANY: samples near a curved sheet | neighbours preserved
    orthogonal-lpp, orthogonal-npe | pca
"""


def _read(text: str) -> Iterator[Advice]:
    lines = text.strip().splitlines()
    for question, answer in zip(lines[::2], lines[1::2], strict=True):
        fits, _, rest = question.partition(": ")
        has, wants = rest.split(" | ")
        use, _, instead = answer.strip().partition(" | ")
        special = (Beside.VIEWS, Beside.BACKGROUND, Beside.GAPS)
        whole = tuple(each for each in Beside if each not in special)
        of = whole if fits == "ANY" else (Beside[fits],)
        yield Advice(has, wants, tuple(use.split(", ")), instead, of)


TABLE = tuple(_read(_TEXT))


class Choice(tuple[Advice, ...]):
    """Rows of the table of methods by question, printed in lines of at most 80 columns."""

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
    """Return the research questions that the data can answer, and methods for each question.

    No method is run. To score methods on held-out samples, use `ldr.compare`.

    Parameters
    ----------
    X : array (n, d), or other data of `ldr.solve`; several views or a background as a tuple
        Data to choose methods for; without X all questions and all methods are returned.
    y : array (n,), optional
        Labels or a response.
    time_order : bool
        True if the samples are a time series.

    Returns
    -------
    Choice
        A tuple with an `Advice` for each question, which is printed as a table.

    Raises
    ------
    ldr.errors.DataError
        X is not a data matrix.

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
    return Choice(sorted(fitting, key=lambda advice: len(advice.fits)))  # most specific entry first
