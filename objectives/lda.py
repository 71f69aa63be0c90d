"""Linear discriminant analysis (LDA): orthogonal, classical, and semi-supervised."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ldr.objectives import statistics
from ldr.objectives.data.array_types import Cells
from ldr.objectives.data.data import Data
from ldr.objectives.data.sample_metadata import as_array, as_labels
from ldr.objectives.data.stored import Change
from ldr.objectives.families.matrices import DataSums, PencilMatrices, RatioMatrices
from ldr.objectives.families.stated import Opened, StatedMethod
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.trace_ratio import NestedMethod, TraceRatio
from ldr.objectives.families.whitened import Pencil, RowPencil, Shrinking
from ldr.objectives.graphs import LaplacianMethod
from ldr.objectives.parameters import Need, declared, number
from ldr.objectives.prediction import GroupedRows
from ldr.objectives.problem import restated
from ldr.objectives.statistics import Codes
from ldr.objectives.statistics.products import Squares, scaled_rows
from ldr.objectives.statistics.sums import class_averages
from ldr.objectives.view import Compact
from ldr.solvers.checks import real
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.manifolds import Array


def _check_shrinkage(owner: DiscriminantMethod, name: str, allowed: tuple[str, ...]) -> None:
    given = owner.shrinkage
    if given is None or (isinstance(given, str) and given in allowed):
        return
    share = real(given)
    if share is None or not 0 <= share <= 1:
        raise ArgumentError(f"{name} must be 'auto', a number from 0 to 1 or None, got {given!r}")
    object.__setattr__(owner, name, share)


@dataclass(frozen=True)
class DiscriminantMethod(
    Shrinking,
    StatedMethod,
    predicts="classes",
    weighted=True,
    from_sums=True,
    stacks=True,
    products="optimum",
):
    """Base of the methods of the pair (S_B, S_W), the scatters between and within classes.

    Parameters
    ----------
    shrinkage : "auto", float or None
        "auto" shrinks the covariance of each class and of all rows towards its diagonal by Ledoit
        and Wolf's rule, as scikit-learn's LinearDiscriminantAnalysis does. S_B is then the total
        minus the within-class scatter. The result's parameters contain the shrinkage intensities. A
        number s from 0 to 1 replaces each covariance C by (1 - s) C + s tr(C)/d I.
    ridge : float
        Constant added to the diagonal of S_W, relative to the mean eigenvalue in the span of the
        samples, or with shrinkage in all columns. If S_W is singular, orthogonal LDA needs a ridge,
        and LDA without one is restricted to S_W's range.
    covariance_estimator : object, optional
        Estimator of the covariance of each class and of all rows, instead of shrinkage: an
        estimator of `sklearn.covariance`, or any object with `fit(X)` and `covariance_`. Rows are
        loaded into memory.
    """

    sense = "max"
    needs = (Need.LABELS,)
    divisor = "S_W"

    shrinkage: float | str | None = declared(
        None, partial(_check_shrinkage, allowed=("auto",)), kw_only=True
    )
    covariance_estimator: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.covariance_estimator
        if given is not None and not hasattr(given, "fit"):
            raise ArgumentError(
                f"covariance_estimator needs a method fit, as in sklearn.covariance, got {given!r}"
            )
        if given is not None and self.shrinkage is not None:
            raise ArgumentError(
                "covariance_estimator and shrinkage parameters are not None. Only one of the two "
                "can be set."
            )

    @property
    def shrinks(self) -> bool:
        return self.shrinkage is not None or self.covariance_estimator is not None

    def classes(self, data: Data) -> Cells:
        return data.labels[1]

    def within(self, data: Data) -> Array:
        """Return S_W in all columns, after shrinkage."""
        opened = Opened(self.name, data, Compact.of_columns(data.samples), [data.samples])
        return self.shrunken(self._pencil(opened), data).plain.B

    def shrunken(self, rows: RowPencil, data: Data) -> RowPencil:
        if not self.shrinks:
            return rows
        of_within, of_total, chosen = self._added(rows, data)

        def how(found: Pencil, change: Change) -> Pencil:
            assert found.total is not None and found.groups is not None
            S_W, S_T = found.B + change.of_matrix(of_within), found.total
            S_T = S_T + change.of_matrix(of_total)
            groups = replace(found.groups, within=S_W, between=S_T - S_W)
            return replace(found, A=S_T - S_W, B=S_W, total=S_T, groups=groups)

        return rows.changed(how, **chosen)

    def _added(self, rows: RowPencil, data: Data) -> tuple[Array, Array, dict[str, float | Array]]:
        """Return the matrices that shrinkage adds to S_W and S_T, and the intensities."""
        samples, (codes, classes) = rows.compact.rows, data.labels
        S_W, S_T = rows.plain.B, rows.plain.total
        assert S_T is not None
        if self.covariance_estimator is not None:
            X, estimator = samples.dense(), deepcopy(self.covariance_estimator)

            def scatter(Z: Array) -> Array:
                estimator.fit(Z)
                return len(Z) * np.atleast_2d(estimator.covariance_)

            of_classes = [scatter(X[codes == k]) for k in range(len(classes))]
            return np.sum(of_classes, axis=0) - S_W, scatter(X) - S_T, {}
        if isinstance(self.shrinkage, float):
            s, d = self.shrinkage, samples.d
            moved = [s * (np.trace(S) / d * np.eye(d) - S) for S in (S_W, S_T)]
            return moved[0], moved[1], {}
        within = statistics.ledoit_wolf(samples, codes, len(classes))
        total = statistics.ledoit_wolf(samples)
        shares: dict[str, float | Array] = {
            "shrinkage": within.coefficients,
            "of_total": float(total.coefficients[0]),
        }
        return within.added, total.added, shares


@dataclass(frozen=True)
class OrthogonalLDA(NestedMethod, DiscriminantMethod):
    r"""Orthogonal linear discriminant analysis (LDA): the trace ratio.

    .. math:: \max_{M'M=I} \frac{\operatorname{tr}(M'S_B M)}{\operatorname{tr}(M'S_W M)}

    The scatters are S_W = sum_i (x_i - mu_c)(x_i - mu_c)', S_B = sum_i (mu_c - mu)(mu_c - mu)'. P =
    M'. The baseline consists of the orthonormalised generalised eigenvectors of (S_B, S_W), which
    maximise tr((M'S_W M)^{-1} M'S_B M) and are optimal for r = 1 only.

    Use it to separate classes in an orthogonal projection. If the variance of some features is
    small, replace X by leading principal components. Do not use it to classify: take lda. The trace
    ratio weights directions by their scatter and can include directions with hardly any variance;
    standardise the features first.

    Source: Fisher 1936; Cunningham & Ghahramani 2015, 3.1.3.
    """

    name = "orthogonal-lda"
    baseline = "orthonormalised generalised eigenvectors of (S_B, S_W)"
    exact = "r = 1"
    sibling = "lda"

    def notes_on(self, data: Data, r: int) -> list[str]:
        """Return a message if the baseline has fewer than r directions."""
        rank = len(data.labels[1]) - 1
        if self.shrinks or r <= rank:
            return []
        return [
            f"S_B has rank {rank}, the number of classes minus one: further directions of the "
            "baseline are arbitrary"
        ]

    def matrices(self, data: DataSums) -> RatioMatrices:
        return RatioMatrices(
            *data.scatters_of_classes(), 1.0, self.column_weights, ridge=self.ridge
        )


@dataclass(frozen=True)
class LDA(DiscriminantMethod, products="optimum", transposed=False, scale_free=True):
    r"""Linear discriminant analysis (LDA).

    .. math:: \max_M \operatorname{tr}\left((M'S_W M)^{-1} M'S_B M\right)

    For scatters S_W within and S_B between classes the whitened problem is max tr(M'S_W^{-1/2} S_B
    S_W^{-1/2} M), with P = M'S_W^{-1/2}. The top generalised eigenvectors of (S_B, S_W) are the
    exact solution; for c classes at most c - 1 have nonzero eigenvalues.

    Use it before a classifier or to predict classes; components are uncorrelated within classes. Do
    not use it for orthonormal directions or for more than c - 1 directions: take orthogonal-lda.
    With fewer samples than features, set `shrinkage`.

    Source: Fisher 1936; Rao 1948; Burges 2010, 4.3.
    """

    name = "lda"
    baseline = "top generalised eigenvectors of (S_B, S_W)"
    exact = "yes"

    def notes_on(self, data: Data, r: int) -> list[str]:
        if self.shrinks:
            return []
        return few_directions(r, len(data.labels[1]), "classes")

    def matrices(self, data: DataSums) -> PencilMatrices:
        return PencilMatrices(*data.scatters_of_classes(), ridge=self.ridge)

    def derived_numbers(self, eigenvalues: Array, trace: float) -> dict[str, Array]:
        """Return the eigenvalues' shares in tr(S_W^{-1} S_B)."""
        return {"explained_share": eigenvalues / (trace or 1.0)}


def few_directions(r: int, groups: int, what: str) -> list[str]:
    """Return a message if r exceeds the number of groups minus 1."""
    if r < groups:
        return []
    return [
        f"{groups} {what} have at most {groups - 1} informative directions: the other "
        f"{r - groups + 1} have eigenvalue 0 and are arbitrary"
    ]


@dataclass(frozen=True)
class SemiSupervisedDA(
    Shrinking, LaplacianMethod, predicts="classes", products="", transposed=False
):
    r"""Semi-supervised discriminant analysis (SDA).

    .. math:: \max_M \operatorname{tr}\left((M'(S_T + \mu X'LX)M)^{-1} M'S_B M\right)

    S_B and S_T are the between-class and the total scatter of labelled samples, L is the Laplacian
    of a graph of all samples. With B = S_T + mu X'LX and P = M'B^{-1/2} the problem is max
    tr(M'B^{-1/2} S_B B^{-1/2} M). Top generalised eigenvectors of (S_B, S_T + mu X'LX) are optimal.

    Use it when few samples have labels; the label of the other samples is -1 (see `unlabelled`). Do
    not use it if all labels are known: take lda.

    Source: Cai, He & Han 2007.

    Parameters
    ----------
    mu : float
        Weight of the graph term, mu >= 0.
    unlabelled : label
        Value of y that marks samples without a label.
    shrinkage : "auto" or None
        "auto" shrinks S_T towards its diagonal by Ledoit and Wolf's rule.
    """

    name = "semi-supervised-da"
    sense = "max"
    needs = (Need.LABELS, Need.GRAPH)
    baseline = "top generalised eigenvectors of (S_B, S_T + mu X'LX)"
    exact = "yes"

    mu: float = number(0.1)
    unlabelled: Any = -1

    def __post_init__(self) -> None:
        super().__post_init__()
        if np.ndim(self.unlabelled) != 0:
            raise ArgumentError(f"unlabelled must be a single label, got {self.unlabelled!r}")
        if "class" in self.kind:
            raise ArgumentError(
                f"graph={self.graph!r} needs a label for every row; expected 'neighbours', "
                "'epsilon' or a matrix"
            )

    def bind(self, data: Data, r: int) -> Trace | TraceRatio:
        labelled, codes, classes = self._labelled(as_array(data.y), data.samples.n)
        known = data.samples.take(np.flatnonzero(labelled))
        return restated(super().bind(data, r), answers=GroupedRows(classes, codes, known))

    def notes_on(self, data: Data, r: int) -> list[str]:
        classes = self._labelled(as_array(data.y), data.samples.n)[2]
        return [*super().notes_on(data, r), *few_directions(r, len(classes), "classes")]

    def shrunken(self, rows: RowPencil, data: Data) -> RowPencil:
        if self.shrinkage is None:
            return rows
        labelled = self._labelled(as_array(data.y), data.samples.n)[0]
        by = statistics.ledoit_wolf(rows.compact.rows.take(labelled))

        def how(found: Pencil, change: Change) -> Pencil:
            return replace(found, B=found.B + change.of_matrix(by.added), total=None)

        return rows.changed(how, shrinkage=float(by.coefficients[0]))

    def matrices(self, data: DataSums) -> PencilMatrices:
        rows, codes = data.rows, data.groups(self._codes)
        counts = np.ones(rows.count) if rows.weights is None else rows.weights
        labelled = np.where(codes >= 0, counts, 0.0)
        means, sizes = class_averages(codes, int(codes.max()) + 1, counts)
        known = rows.about(labelled / labelled.sum())
        between = known.form(Squares(scaled_rows(means, np.sqrt(sizes))))
        B = known.form(labelled) + self.mu * self.against(data, PencilMatrices).A
        return PencilMatrices(between, B, ridge=self.ridge, total=rows.scatter())

    def _codes(self, y: Cells) -> Codes:
        """Return the class codes of the rows, -1 without a label."""
        labelled, codes, _ = self._labelled(y, len(y))
        found = np.full(len(y), -1)
        found[labelled] = codes
        return found

    def has_label(self, y: Cells) -> Codes:
        """Return True for the rows that have a label; objectives without this need all labels."""
        return np.array([label != self.unlabelled for label in y], dtype=bool)

    def _labelled(self, y: Cells, n: int) -> tuple[Codes, Codes, Cells]:
        """Return True for labelled rows, their codes, and the classes."""
        if y.shape != (n,) or y.dtype.kind in "cV":
            raise DataError(f"y has shape {y.shape} and type {y.dtype}, expected {n} labels")
        labelled = self.has_label(y)
        if not labelled.any():
            raise DataError(f"y has no label: every entry equals unlabelled = {self.unlabelled!r}")
        if (y[labelled] == y[labelled][0]).all():
            raise DataError(
                f"y has a single class besides unlabelled = {self.unlabelled!r}, expected at least "
                "two: give another unlabelled= if every sample has a label"
            )
        return labelled, *as_labels(y[labelled], int(labelled.sum()))
