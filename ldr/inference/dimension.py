"""`ldr.dimension`: the number of directions, by the rule that fits the method."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ldr.inference.many import Chunk, optima
from ldr.inference.parallel_analysis import parallel_analysis
from ldr.inference.permutation import Null, PermutationTest, pairs_of, permutation_test
from ldr.inputs import as_generator, as_objective
from ldr.objectives.data.sample_metadata import as_labels
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need
from ldr.paths import path
from ldr.resampling import Resampling
from ldr.solvers.checks import Pickled, choice, number, whole
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.types import Argument, PerRow, Rows, Splitter
from ldr.validation import in_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ldr.plots.canvas import Panels

RULES = ("permutation", "ladle", "bic", "folds", "parallel")
_LIKELIHOODS = ("ppca", "fa")
# Bootstrap samples of the ladle, as in Luo and Li; most directions that are tried by default.
_DRAWS = 200
_FEW = 10


@dataclass(frozen=True, eq=False)
class Dimension(Pickled):
    """Number of directions chosen by a rule, with the score of each candidate.

    Attributes
    ----------
    objective : Objective
    r : int
        The number chosen; 0 where no direction is significant.
    rule : str
        "permutation", "ladle", "bic", "folds" or "parallel".
    criterion : str
        Name of the scores.
    candidates : ndarray of int (m,)
    scores : ndarray (m,)
        Score of each candidate.
    threshold : float or ndarray (m,) or None
        Thresholds of the scores, for rules that have them.
    notes : tuple of str
        Warnings, such as a best score at the largest r that was tried.
    """

    question: ClassVar[str] = "How many directions are there?"

    objective: Objective
    r: int
    rule: str
    criterion: str
    candidates: np.ndarray
    scores: Array
    threshold: float | Array | None = None
    notes: tuple[str, ...] = ()

    def plot(self, *, ax: Panels = None) -> Figure:
        """Plot the scores, and the number chosen; see `ldr.plots.dimension`."""
        from ldr.plots import dimension

        return dimension(self, ax=ax)

    def __repr__(self) -> str:
        lines = [
            f"{self.objective!r}: {self.r} directions, by {self.rule}",
            f"      r  {self.criterion}",
        ]
        bars: Sequence[float | None] = [None] * len(self.scores)
        if self.threshold is not None:
            bars = np.broadcast_to(self.threshold, self.scores.shape).tolist()
        for k, score, bar in zip(self.candidates, self.scores, bars, strict=True):
            beside = "" if bar is None else f"   against {bar:.4g}"
            lines.append(f"  {k:5d}  {score:.6g}{beside}{'   <' if k == self.r else ''}")
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])


@in_words
def dimension(
    objective: str | Objective,
    X: Rows,
    y: PerRow = None,
    *,
    method: str = "auto",
    most: int | None = None,
    level: float = 0.05,
    permutations: int = 999,
    folds: int | Splitter = 5,
    rule: str | None = None,
    groups: PerRow = None,
    standardise: bool = False,
    random_state: int | np.random.Generator | None = None,
    **parameters: object,
) -> Dimension:
    """Choose the number of directions.

    - "permutation": directions are added while their p-value is at most `level`
      (`ldr.permutation_test`).
    - "ladle": where the eigenvalues fall and the span of the directions begins to vary over
      bootstrap samples, both at once: the least of f(k)/(1 + sum f) + phi(k)/(1 + sum lambda),
      f(k) the mean of 1 - |det(B_k'B*_k)| over the samples, phi(k) the next eigenvalue. For methods
      with an eigen-solution.
    - "bic": the least BIC of a likelihood (ppca, fa).
    - "folds": the score of held-out samples, by the rule (`ldr.path`); r = 0, the mean or the
      largest class, is a candidate where it is defined.
    - "parallel": Horn's parallel analysis of the correlation matrix (pca).

    By default the first of these that the method has: bic, parallel, permutation (cca and lda),
    ladle, folds.

    Source: Luo and Li 2016 (ladle).

    Parameters
    ----------
    objective, X, y
        As in `ldr.solve`.
    method : {"auto", "permutation", "ladle", "bic", "folds", "parallel"}
    most : int, optional
        The largest dimension to look at. By default all that the method has, of likelihoods and
        folds ten at most.
    level : float
        Level of "permutation"; for "parallel" the share of null eigenvalues above the threshold.
    permutations : int
    folds : int or splitter of scikit-learn
        As in `ldr.path`.
    rule : {"best", "one-standard-error"}, optional
        For "folds", as in `ldr.path`.
    groups : array (n,), optional
        For "permutation", as in `ldr.permutation_test`; for "ladle", as in `ldr.bootstrap`; for
        "folds", as in `ldr.path`.
    standardise : bool
        Divide the columns by their standard deviations first; of folds, by those of the rows that
        are solved for.
    random_state : int or Generator, optional
    **parameters
        Parameters of an objective that is given by name.

    Returns
    -------
    Dimension
        With `plot()`.

    Raises
    ------
    ldr.errors.ArgumentError
        A rule that the method does not have.

    Examples
    --------
    >>> import ldr
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> ldr.dimension("classical-lda", X, y, random_state=0).r
    2
    """
    objective = as_objective(objective, parameters)
    choice("method", method, ("auto", *RULES))
    number("level", level, positive=True, below=1.0)
    rng = as_generator(random_state)
    null = Null.of(objective, X, y, "auto", groups, standardise)
    used = _natural(objective, null) if method == "auto" else method
    if groups is not None and used not in ("permutation", "ladle", "folds"):
        raise ArgumentError(
            f"groups= goes with method='permutation', 'ladle' and 'folds', got method={used!r}"
        )
    if rule is not None and used != "folds":
        raise ArgumentError(f"rule= goes with method='folds', got method={used!r}")
    largest = _largest(objective, null)
    limit = largest if most is None else min(whole("most", most, 1), largest)
    if used == "permutation":
        given, labels = null.own().problem(0)
        found = permutation_test(
            objective,
            given,
            limit,
            y=labels,
            permutations=permutations,
            null=null.kind,
            groups=null.groups,
            random_state=rng,
        )
        return _by_permutation(found, level)
    if used == "ladle":
        return _by_ladle(objective, null, limit, rng)
    if used == "parallel":
        return _by_parallel(objective, X, level, limit, rng)
    limit = limit if most is not None else min(limit, _FEW)
    options = {
        "y": y,
        "groups": groups,
        "standardise": standardise,
        "certify": False,
        "random_state": rng,
    }
    if used == "bic":
        return _by_bic(objective, X, limit, options)
    options |= {"folds": folds, "rule": rule, "random_state": random_state}
    return _by_folds(objective, X, limit, options)


def _natural(objective: Objective, null: Null) -> str:
    if objective.name in _LIKELIHOODS:
        return "bic"
    if objective.name == "pca":
        return "parallel"
    if pairs_of(objective, null) is not None and objective.name != "sir":
        return "permutation"
    return "ladle" if objective.stacks and not null.timed else "folds"


def _largest(objective: Objective, null: Null) -> int:
    pair = pairs_of(objective, null)
    most = min(view.shape[1] for view in (pair[:2] if pair else null.views))
    if objective.name not in _LIKELIHOODS:
        return most
    return max(1, min(most, null.n - 1) - 1)  # factors that leave some noise


def _by_permutation(found: PermutationTest, level: float) -> Dimension:
    if found.p_values is None:
        raise ArgumentError(
            f"objective {found.objective.name!r} has no number for every direction, which "
            "method='permutation' tests; expected 'folds'"
        )
    p_values = np.array(found.p_values)
    r = int(np.sum(np.cumprod(p_values <= level)))
    steps = np.arange(1, len(p_values) + 1)
    return Dimension(
        found.objective, r, "permutation", "p-value of the r-th", steps, p_values, level
    )


def _by_ladle(objective: Objective, null: Null, most: int, rng: np.random.Generator) -> Dimension:
    """Choose r by the ladle: the variation of the span plus the next eigenvalue."""
    d = null.views[0].shape[1]
    eigen = objective.stacks and len(null.views) == 1 and objective.sense == "max"
    if not eigen or null.timed:
        raise ArgumentError(
            f"objective {objective.name!r} is no symmetric eigenproblem of one view, largest "
            "first, whose rows can be drawn one by one: method='ladle' does not know it"
        )
    last = min(most, d - 1, d - 1 if d <= _FEW else math.floor(d / math.log(d)))
    labelled = Need.LABELS in objective.needs
    own = optima(objective, [null.own()], last + 1, certify=False)
    drawn = optima(objective, _resampled(null, labelled, rng), last + 1, certify=False)
    values = own.sizes
    if values is None or drawn.numbers is None:
        raise ArgumentError(f"objective {objective.name!r} has no eigenvalues for method='ladle'")
    scale = null.views[0].std(axis=0)
    bases = _bases(own.P * scale)[0]
    overlaps = bases.T @ _bases(drawn.P * scale)
    spread = [0.0]
    spread += [
        float(np.mean(1.0 - np.abs(np.linalg.det(overlaps[:, :k, :k])))) for k in range(1, last + 1)
    ]
    (values,) = values
    f = np.array(spread) / (1.0 + sum(spread))
    scores = f + values / (1.0 + float(np.sum(values)))
    candidates = np.arange(last + 1)
    return Dimension(
        objective,
        int(np.argmin(scores)),
        "ladle",
        "variation of the span and next eigenvalue",
        candidates,
        scores,
    )


def _resampled(null: Null, labelled: bool, rng: np.random.Generator) -> Iterator[Chunk]:
    """Yield bootstrap samples, of whole groups where there are groups, within classes."""
    units = Resampling(np.arange(null.n) if null.groups is None else null.groups)
    X, y = null.views[0], null.y
    classes = np.zeros(null.n, dtype=np.intp)
    if labelled and y is not None:
        classes = as_labels(y, null.n)[0]
    for _ in range(_DRAWS):
        rows, _ = units.drawn(classes, rng)
        yield Chunk((X[rows],), None if y is None else y[rows], 1)


def _bases(maps: Array) -> Array:
    """Return orthonormal bases (b, d, k) of the row spaces of the maps."""
    return np.asarray(np.linalg.qr(maps.transpose(0, 2, 1))[0])


def _by_parallel(
    objective: Objective, X: Rows, level: float, most: int, rng: np.random.Generator
) -> Dimension:
    if objective.name != "pca":
        raise ArgumentError(
            f"method='parallel' is of the correlation matrix, for pca; got {objective.name!r}"
        )
    found = parallel_analysis(X, quantile=1.0 - level, random_state=rng)
    most = min(most, len(found.eigenvalues))
    return Dimension(
        objective,
        min(found.r, most),
        "parallel",
        "eigenvalue of the correlation matrix",
        np.arange(1, most + 1),
        found.eigenvalues[:most],
        found.threshold[:most],
    )


def _by_bic(objective: Objective, X: Rows, most: int, options: dict[str, Argument]) -> Dimension:
    if objective.name not in _LIKELIHOODS:
        raise ArgumentError(f"method='bic' is of likelihoods, ppca and fa; got {objective.name!r}")
    steps = np.arange(1, most + 1)
    models = [result.model for result in path(objective, X, list(steps), **options).results]
    scores = np.array([model.bic for model in models if model is not None])
    return Dimension(objective, int(steps[np.argmin(scores)]), "bic", "BIC", steps, scores)


def _by_folds(objective: Objective, X: Rows, most: int, options: dict[str, Argument]) -> Dimension:
    found = path(objective, X, range(most + 1), **options)
    if found.pooled is None:
        raise KeyboardInterrupt
    if found.chosen is None:
        raise ArgumentError(
            f"objective {objective.name!r} has no rule for the number of directions: its held-out "
            "score describes each r (`ldr.path`) and chooses none; expected a method that predicts"
        )
    return Dimension(
        objective,
        found.chosen,
        "folds",
        f"held-out score ({found.scored_by})",
        np.array(found.dimensions),
        found.pooled,
        None,
        (f"chosen by rule={found.rule!r}; the best score is at {found.best}", *found.notes),
    )
