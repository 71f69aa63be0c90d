"""`ldr.dimension`: estimates of the number of directions, by a rule that the method has."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldr.dimension_rule import parallel_analysis
from ldr.errors import in_words
from ldr.inference.hypothesis_tests import Null, PermutationTest, pairs_of, permutation_test
from ldr.inference.many import gathered, optima
from ldr.inputs import as_generator, as_objective
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need
from ldr.paths import Path, path
from ldr.solvers.checks import Pickled, choice, number, whole
from ldr.solvers.deadline import complete
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.solving import solve
from ldr.tables import beside, text
from ldr.types import Argument, Figure, Panels, PerRow, Rows, Splitter

RULES = ("permutation", "ladle", "bic", "folds", "parallel")
# Criteria for the number of components, each with the only methods to which it applies.
_ONLY = {"bic": ("ppca", "fa"), "parallel": ("pca",)}
# Methods of time series with an autocorrelation of each direction, which permutations test.
_SERIES = ("maf", "sfa", "tica")
# By default "bic" and "folds" fit models with up to this number of components.
_FEW = 10


@dataclass(frozen=True, eq=False)
class Dimension(Pickled):
    """Number of directions chosen by a rule, with the score of each candidate.

    Attributes
    ----------
    objective : Objective
    r : int
        The chosen number; 0 if no direction is significant.
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
        Warnings, for example if the best score is at the largest candidate.
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
        """Plot the scores, and the chosen number; see `ldr.plots.dimension`."""
        from ldr.plots import dimension

        return dimension(self, ax=ax)

    def __repr__(self) -> str:
        sequential = self.rule in ("permutation", "parallel")  # ends at the first failure
        shown = self.r + 2 if sequential else len(self.scores)
        columns = {
            "    r": [f"{r:5d}" for r in self.candidates[:shown]],
            self.criterion: [text(score) for score in self.scores[:shown]],
        }
        if self.threshold is not None:
            bars = np.broadcast_to(self.threshold, self.scores.shape)
            columns["threshold"] = [text(bar, ".4g") for bar in bars[:shown]]
        columns[""] = ["<" if r == self.r else "" for r in self.candidates[:shown]]
        head = f"{self.objective!r}: {self.r} direction{'s' * (self.r != 1)}, by {self.rule}"
        return "\n".join([head, *beside(columns), *(f"  {note}" for note in self.notes)])


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
    - "ladle", for methods that maximise a sum of eigenvalues (not pca): the number k with the least
      sum of two terms: the eigenvalue after the k-th, and the mean of 1 - |det(B'B*)| over
      bootstrap samples. B and B* are orthonormal bases of the first k directions, of the data and
      of a bootstrap sample. Each term is divided by 1 plus its sum over k. The eigenvalues of phd
      are divided by the standard deviation of y and squared.
    - "bic": the least Bayesian information criterion, for methods with a likelihood (ppca, fa);
      r = 0, the model of independent columns, is a candidate if no values are missing.
    - "folds": `ldr.path` scores each r on held-out samples, and `rule` selects r. If the method
      predicts, r = 0 (the mean or the largest class) is also a candidate.
    - "parallel": Horn's parallel analysis of the covariance matrix, or of the correlation matrix if
      `standardise` (pca), as for ``r="auto"`` of `ldr.solve`.

    The default is the first applicable one of: folds (if `rule` is given), bic, parallel,
    permutation (cca, lda, maf, sfa, tica), ladle, permutation (methods of a response that do not
    predict, such as save), folds. For maf, sfa and tica the null hypothesis is white noise.

    Source: Luo and Li 2016 (ladle).

    Parameters
    ----------
    objective, X, y
        As in `ldr.solve`.
    method : {"auto", "permutation", "ladle", "bic", "folds", "parallel"}
        Rule that chooses the number of directions.
    most : int, optional
        Largest candidate; by default the largest allowed r, for "bic" and "folds" at most ten.
    level : float
        Significance level for "permutation" and "parallel", between 0 and 1.
    permutations : int
        Number of permutations.
    folds : int or splitter of scikit-learn
        As in `ldr.path`.
    rule : {"best", "one-standard-error"}, optional
        For "folds", as in `ldr.path`.
    groups : array (n,), optional
        For "permutation", as in `ldr.permutation_test`; for "ladle", as in `ldr.bootstrap`; for
        "folds", as in `ldr.path`.
    standardise : bool
        Divide the columns by their standard deviations; "folds" uses those of the training samples.
    random_state : int or Generator, optional
    **parameters
        Parameters of the objective, if `objective` is a name.

    Returns
    -------
    Dimension
        It has `plot()`.

    Raises
    ------
    ldr.errors.ArgumentError
        The rule is not defined for the objective.

    Examples
    --------
    >>> import ldr
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> ldr.dimension("lda", X, y, random_state=0).r
    2
    """
    objective = as_objective(objective, parameters)
    choice("method", method, ("auto", *RULES))
    number("level", level, positive=True, below=1.0)
    rng = as_generator(random_state)
    null = Null.of(objective, X, y, "auto", groups, standardise)
    natural = "folds" if rule is not None else _natural(objective, null)
    used = natural if method == "auto" else method
    if groups is not None and used not in ("permutation", "ladle", "folds"):
        raise ArgumentError(
            f"groups= requires method='permutation', 'ladle' or 'folds', got method={used!r}"
        )
    if rule is not None and used != "folds":
        raise ArgumentError(f"rule= requires method='folds', got method={used!r}")
    if objective.name not in _ONLY.get(used, (objective.name,)):
        raise ArgumentError(
            f"method={used!r} is for {' and '.join(_ONLY[used])}, got {objective.name!r}"
        )
    limit = _largest(objective, null, used)
    if most is not None:
        limit = min(whole("most", most, 1), limit)
    elif used in ("bic", "folds"):
        limit = min(limit, _FEW)
    options: dict[str, Argument] = {"y": y, "groups": groups, "standardise": standardise}
    options |= {"certify": False, "random_state": rng}
    if used == "permutation":
        given, labels = null.own().problem(0)
        options = {"y": labels, "null": null.kind, "groups": null.sampled.groups}
        options |= {"permutations": permutations, "random_state": rng, "standardise": standardise}
        tested = permutation_test(objective, given, limit, **options)
        return _by_permutation(tested, level)
    if used == "ladle":
        return _by_ladle(objective, null, limit, rng)
    if used == "parallel":
        options = {"correlation": standardise, "quantile": 1.0 - level, "random_state": rng}
        options["draws"] = max(100, math.ceil(1.0 / level))  # fewer have no such quantile
        found = parallel_analysis(X, **options)
        numbers, bars = (each[:limit] for each in (found.eigenvalues, found.threshold))
        r, steps = min(found.r, len(numbers)), np.arange(1, len(numbers) + 1)
        criterion = f"eigenvalue of the {'correlation' if standardise else 'covariance'} matrix"
        return Dimension(objective, r, used, criterion, steps, numbers, bars)
    if used == "bic":
        first = int(np.isnan(null.views[0]).any())  # r = 0 needs complete samples
        solved = (solve(objective, X, r, **options) for r in range(first, limit + 1))
        models = [result.model for result in complete(solved, limit + 1 - first, "dimensions")]
        scores = np.array([model.bic for model in models if model is not None])
        steps = np.arange(first, first + len(scores))
        return Dimension(objective, int(steps[np.argmin(scores)]), used, "BIC", steps, scores)
    options |= {"folds": folds, "rule": rule, "random_state": random_state}
    return _by_folds(path(objective, X, range(limit + 1), **options))


def _natural(objective: Objective, null: Null) -> str:
    """Return the first rule that is available for the method."""
    for rule, names in _ONLY.items():
        if objective.name in names:
            return rule
    if pairs_of(objective, null) is not None and objective.name != "sir":
        return "permutation"
    if null.sampled.ordered:  # the held-out objective of these sums changes with r by itself
        tested = objective.name in _SERIES and getattr(objective, "derivatives", None) is None
        return "permutation" if tested else "folds"
    scored = objective.traits.predicts or Need.RESPONSE not in objective.needs
    return "ladle" if objective.traits.stacks else "folds" if scored else "permutation"


def _largest(objective: Objective, null: Null, rule: str) -> int:
    """Return the largest number of directions of the method; tested are canonical correlations."""
    free = rule == "folds" and objective.name == "orthogonal-lda"  # more directions than classes
    pair = None if free else pairs_of(objective, null)
    most = min(view.shape[1] for view in (pair[:2] if pair else null.views))
    if objective.name not in _ONLY["bic"]:
        return most
    return max(1, min(most, null.sampled.n - 1) - 1)  # a factor model needs noise in some direction


def _by_permutation(found: PermutationTest, level: float) -> Dimension:
    """Choose r as the number of directions with p-values up to the level."""
    if found.p_values is None:
        raise ArgumentError(
            "method='permutation' requires a score of each direction, but objective "
            f"{found.objective.name!r} has one score of all directions, which "
            "ldr.permutation_test tests"
        )
    count = len(found.null)
    if level * (1 + count) < 1.0 - 1e-9:  # rounding of 0.001
        raise ArgumentError(
            f"level = {level:g} is less than 1/{1 + count}, the smallest p-value of {count} "
            f"permutations: give permutations={math.ceil(1.0 / level) - 1} or more"
        )
    p = np.array(found.p_values)
    r, steps = int(np.sum(np.cumprod(p <= level))), np.arange(1, len(p) + 1)
    return Dimension(found.objective, r, "permutation", "p-value of the r-th", steps, p, level)


def _by_ladle(objective: Objective, null: Null, most: int, rng: np.random.Generator) -> Dimension:
    """Choose r by the ladle: the variation of the span plus the next eigenvalue."""
    X, d = null.views[0], null.views[0].shape[1]
    eigen = objective.traits.stacks and len(null.views) == 1 and objective.sense == "max"
    if not eigen or null.sampled.ordered:
        raise ArgumentError(
            "method='ladle' needs independent samples of one view and an objective that is a sum "
            f"of largest eigenvalues, got objective {objective.name!r}"
        )
    last = min(most, d - 1, d - 1 if d <= _FEW else math.floor(d / math.log(d)))
    # Resampled rows, for the ladle estimator of Luo and Li (2016)
    rows = (null.sampled.units.drawn(rng)[0] for _ in range(200))
    samples = (((X[k],), None if null.y is None else null.y[k]) for k in rows)
    own = optima(objective, [null.own()], last + 1, certify=False)
    drawn = optima(objective, gathered(samples, null.y is None), last + 1, certify=False)
    if own.sizes is None or drawn.numbers is None:
        raise ArgumentError(f"objective {objective.name!r} has no eigenvalues for method='ladle'")
    scaled = ((each.P * X.std(axis=0)).transpose(0, 2, 1) for each in (own, drawn))
    (basis,), bases = (np.linalg.qr(maps)[0] for maps in scaled)
    overlaps = basis.T @ bases
    candidates, (values,) = np.arange(last + 1), own.sizes
    if objective.name == "phd":  # the ladle needs a matrix without negative eigenvalues or units
        values = (values / np.std(np.asarray(null.y, dtype=np.float64))) ** 2
    spans = [np.abs(np.linalg.det(overlaps[:, :k, :k])) for k in candidates[1:]]
    spread = np.array([0.0, *(np.mean(1.0 - same) for same in spans)])
    scores = spread / (1.0 + np.sum(spread)) + values / (1.0 + np.sum(values))
    criterion = "variation of the span and next eigenvalue"
    return Dimension(objective, int(np.argmin(scores)), "ladle", criterion, candidates, scores)


def _by_folds(found: Path) -> Dimension:
    """Choose r by the held-out scores of a path."""
    if found.pooled is None:
        raise KeyboardInterrupt
    objective = found.results[0].objective
    if found.chosen is None:
        raise ArgumentError(
            f"cross-validation cannot choose r for objective {objective.name!r}: its held-out "
            "score does not measure prediction. Use method='permutation', or a method that predicts"
        )
    if found.rule == "best":
        how, threshold = "the best score", None
    else:
        how, threshold = "the smallest r within one standard error of the best", found.threshold
    notes = (f"score: {found.scored_by}", f"r: {how} (r = {found.best})", *found.notes)
    steps, scores = np.array(found.dimensions), found.pooled
    return Dimension(
        objective, found.chosen, "folds", "held-out score", steps, scores, threshold, notes
    )
