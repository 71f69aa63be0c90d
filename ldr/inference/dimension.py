"""`ldr.dimension`: how many directions there are, by the rule that fits the method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ldr.choosing import path
from ldr.doors import in_words
from ldr.horn import parallel_analysis
from ldr.inference.chunks import Chunk, chunk_size
from ldr.inference.engine import optima
from ldr.inference.nulls import Null
from ldr.inference.permutation import PermutationTest, permutation_test
from ldr.inference.stepwise import pairs_of
from ldr.inputs import as_generator, as_objective
from ldr.objectives.objective import Objective
from ldr.solvers.checks import choice, number, whole
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.solvers.pickles import Pickled
from ldr.solvers.records import dataclass
from ldr.types import Argument, PerRow, Rows, Splitter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ldr.plots.canvas import Panels

RULES = ("permutation", "ladle", "bic", "folds", "parallel")
_LIKELIHOODS = ("ppca", "fa")
# Bootstrap samples of the ladle, and the most directions that it looks at without being asked.
_DRAWS = 200
_FEW = 10


@dataclass(frozen=True, eq=False)
class Dimension(Pickled):
    """How many directions a rule takes, and what it looked at.

    Attributes
    ----------
    objective : Objective
    r : int
        How many; 0 where not one stands out.
    rule : str
        "permutation", "ladle", "bic", "folds" or "parallel".
    criterion : str
        What the rule looks at, in words.
    candidates : ndarray of int (m,)
    scores : ndarray (m,)
        Of each candidate.
    threshold : float or ndarray (m,) or None
        Beside which a score is judged, where it is not simply the best.
    """

    question: ClassVar[str] = "How many directions are there?"

    objective: Objective
    r: int
    rule: str
    criterion: str
    candidates: np.ndarray
    scores: Array
    threshold: float | Array | None = None

    def plot(self, *, ax: Panels = None) -> Figure:
        """The scores, and the dimension that they say; see `ldr.plots.dimension`."""
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
        return "\n".join(lines)


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
    groups: PerRow = None,
    standardise: bool = False,
    random_state: int | np.random.Generator | None = None,
    **parameters: object,
) -> Dimension:
    """How many directions there are.

    - "permutation": directions are added while their p-value is at most `level`
      (`ldr.permutation_test`).
    - "ladle": where the eigenvalues fall and the span of the directions begins to vary over
      bootstrap samples, both at once: the least of f(k)/(1 + sum f) + phi(k)/(1 + sum lambda),
      f(k) the mean of 1 - |det(B_k'B*_k)| over the samples, phi(k) the next eigenvalue. For methods
      with an eigen-solution.
    - "bic": the least BIC of a likelihood (ppca, fa).
    - "folds": the best mean score of held-out rows (`ldr.path`).
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
        Of "permutation"; of "parallel" it is the share of null eigenvalues above the threshold.
    permutations : int
    folds : int or splitter of scikit-learn
    groups : array (n,), optional
        Of "permutation", as in `ldr.permutation_test`; of "folds", as in `ldr.path`.
    standardise : bool
        Divide the columns by their standard deviations first; of folds, by those of the rows that
        are solved for.
    random_state : int or Generator, optional
    **parameters
        Of the objective, where it is given by name.

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
    rule = _natural(objective, null) if method == "auto" else method
    split = rule == "folds" and (null.timed or hasattr(folds, "split"))
    if groups is not None and rule != "permutation" and not split:
        raise ArgumentError(
            "groups= goes with method='permutation', and with 'folds' for methods of time order or "
            f"a splitter; got method={rule!r}"
        )
    largest = _largest(objective, null)
    limit = largest if most is None else min(whole("most", most, 1), largest)
    if rule == "permutation":
        given, labels = null.own().problem(0)
        found = permutation_test(
            objective,
            given,
            limit,
            y=labels,
            permutations=permutations,
            groups=null.groups,
            random_state=rng,
        )
        return _by_permutation(found, level)
    if rule == "ladle":
        return _by_ladle(objective, null, limit, rng)
    if rule == "parallel":
        return _by_parallel(objective, X, level, rng)
    limit = limit if most is not None else min(limit, _FEW)
    options = {
        "y": y,
        "groups": groups,
        "standardise": standardise,
        "certify": False,
        "random_state": rng,
    }
    return _by_path(objective, X, rule, limit, folds, options)


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
    most = min(view.shape[1] for view in (pair or null.views))
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
    """The least of how far spans vary and how large the next eigenvalue is."""
    d = null.views[0].shape[1]
    eigen = objective.stacks and len(null.views) == 1 and objective.sense == "max"
    if not eigen or null.timed:
        raise ArgumentError(
            f"objective {objective.name!r} is no symmetric eigenproblem of one view, largest "
            "first, whose rows can be drawn one by one: method='ladle' does not know it"
        )
    last = min(most, d - 1, d - 1 if d <= _FEW else math.floor(d / math.log(d)))
    own = optima(objective, [null.own()], last + 1, certify=False)
    drawn = optima(objective, _resampled(null, _DRAWS, rng), last + 1, certify=False)
    values = own.sizes(objective)
    if values is None or drawn.numbers is None:
        raise ArgumentError(f"objective {objective.name!r} has no eigenvalues for method='ladle'")
    scale = null.views[0].std(axis=0)
    bases = _bases(own.maps[0] * scale)[0]
    overlaps = bases.T @ _bases(drawn.maps[0] * scale)
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


def _resampled(null: Null, draws: int, rng: np.random.Generator) -> list[Chunk]:
    """Bootstrap samples of the rows, within classes where y has classes of a few values."""
    size, chunks = chunk_size(null.views), []
    X, y = null.views[0], null.y
    for first in range(0, draws, size):
        rows = rng.integers(null.n, size=(min(size, draws - first), null.n))
        own = None if y is None else y[rows]
        chunks.append(Chunk((X[rows],), own, len(rows), own_y=y is not None))
    return chunks


def _bases(maps: Array) -> Array:
    """Orthonormal bases (b, d, k) of the spans of the first rows of each P."""
    return np.asarray(np.linalg.qr(maps.transpose(0, 2, 1))[0])


def _by_parallel(
    objective: Objective, X: Rows, level: float, rng: np.random.Generator
) -> Dimension:
    if objective.name != "pca":
        raise ArgumentError(
            f"method='parallel' is of the correlation matrix, for pca; got {objective.name!r}"
        )
    found = parallel_analysis(X, quantile=1.0 - level, random_state=rng)
    steps = np.arange(1, len(found.eigenvalues) + 1)
    words = "eigenvalue of the correlation matrix"
    return Dimension(
        objective, found.r, "parallel", words, steps, found.eigenvalues, found.threshold
    )


def _by_path(
    objective: Objective,
    X: Rows,
    rule: str,
    most: int,
    folds: int | Splitter,
    options: dict[str, Argument],
) -> Dimension:
    if rule == "bic" and objective.name not in _LIKELIHOODS:
        raise ArgumentError(f"method='bic' is of likelihoods, ppca and fa; got {objective.name!r}")
    steps = np.arange(1, most + 1)
    if rule == "bic":
        results = path(objective, X, list(steps), **options).results
        models = [result.model for result in results]
        scores = np.array([model.bic for model in models if model is not None])
        return Dimension(objective, int(steps[np.argmin(scores)]), rule, "BIC", steps, scores)
    found = path(objective, X, list(steps), folds=folds, **options)
    if found.scores is None:
        raise KeyboardInterrupt
    scores, words = found.scores.mean(axis=1), "mean score of held-out rows"
    return Dimension(objective, int(steps[np.argmax(scores)]), rule, words, steps, scores)
