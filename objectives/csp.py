"""Filters of trials: common spatial patterns, source power comodulation, evoked responses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ldr.objectives.certificate import Certificate
from ldr.objectives.coordinates import Axes, Whitening
from ldr.objectives.data.cells import Cells
from ldr.objectives.data.change import Change
from ldr.objectives.data.data import Data, UnknownError
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.joint_diagonal import joint_diagonaliser
from ldr.objectives.families.matrices import DataForms, DataSums, PencilMatrices, SpectralMatrices
from ldr.objectives.families.pencil import Pencil, RowPencil, SumOfSquares
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.unwhitened import Unwhitened
from ldr.objectives.families.whitened import whiten
from ldr.objectives.families.whitened_trace import whitened_trace
from ldr.objectives.kernels import as_response, deviations
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, number, word
from ldr.objectives.statistics import Codes, class_moments, second_moments
from ldr.objectives.statistics.covariance import Variation
from ldr.objectives.statistics.products import Squares
from ldr.objectives.statistics.sums import membership
from ldr.objectives.view import Compact
from ldr.solvers.errors import ArgumentError, DataError, SingularError
from ldr.solvers.linalg.eigen import rank_tolerance
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass, field, replace

_FILTERS = "the filters of the joint diagonalisation"


@dataclass(frozen=True)
class PowerMethod(Objective):
    """Base of the methods of second moments about zero, the power of band-passed signals.

    X is not centred. y has an entry for each row, or for each trial; without trials each row is
    one. `ldr.log_power` gives the features that these filters are made for.

    Parameters
    ----------
    ridge : float
        Added to the diagonal of B, in units of its mean diagonal.
    """

    sense = "max"
    weighted = True
    transposed = False
    scale_free = True
    arrays = Footprint(squares=19.0, span=16.5)

    ridge: float = number(0.0)


@dataclass(frozen=True)
class CSP(PowerMethod):
    """Tell classes by their power: max tr(M'|B^{-1/2}(C_1 - C_2)B^{-1/2}|M), B = C_1 + C_2.

    C_c is the second moment about zero of the rows of class c. With lambda the share of a filter's
    power in class 1, an eigenvalue is 2 lambda - 1, and counts by its size; P = M'B^{-1/2}. Exact
    by the generalised eigenvectors of (C_1, C_1 + C_2), those farthest from lambda = 1/2 first.

    More than two classes have no such matrix: theirs are jointly diagonalised as well as it goes,
    and of the filters, each of unit mean power, those are taken whose power says most of the class,
    in nats I = -sum_c p_c log sqrt(m'C_cm) - 3/16 (sum_c p_c ((m'C_cm)^2 - 1))^2: the best of the
    filters of a local minimum of Pham's criterion.

    Parameters
    ----------
    average : {"rows", "trials"}
        Whether each row of a class counts alike, or each trial.
    """

    name = "csp"
    formula = "max tr(M'|B^{-1/2}(C_1 - C_2)B^{-1/2}|M), B = C_1 + C_2"
    source = (
        "Koles 1991; Blankertz et al. 2008; more classes: Pham 2001, Grosse-Wentrup & Buss 2008"
    )
    needs = (Need.LABELS, Need.TIME_ORDER)
    baseline = "generalised eigenvectors of (C_1, C_1 + C_2), or joint diagonalisation"
    stacks = True
    by_size = True
    exact = "two classes"

    average: str = word("rows", ("rows", "trials"))

    def bind(self, data: Data, r: int) -> Trace:
        codes, classes = data.labels
        share, probabilities = self.shares(data.samples, codes, len(classes))
        compact, (samples,) = Compact.about_zero(data.samples)
        counts = share[:, None] * (codes[:, None] == np.arange(len(classes)))

        def pencil(change: Change) -> ClassPencil:
            C = second_moments(change.about_zero(samples), counts)
            B = SumOfSquares(C.sum(axis=0), np.zeros(C.shape[1]), 0.0)
            return ClassPencil(C[0] - C[1], B, 1.0, parts=C)

        what = "the sum of the classes' second moments"
        rows = RowPencil(compact, pencil, what, classes=classes)
        if len(classes) == 2:
            return whitened_trace(self, rows, r, ridge=self.ridge, absolute=True)
        return joint_filters(self, rows, r, self.ridge, probabilities)

    def matrices(self, data: DataSums) -> SpectralMatrices:
        codes, classes = data.labels()
        if len(classes) > 2 or data.rows.trials is not None:
            raise UnknownError
        members = (codes == code for code in (0, 1))
        one, two = (own / own.sum(axis=-1, keepdims=True) for own in members)
        zero = np.zeros(data.rows.count)
        rows = data.rows.about(zero)
        return SpectralMatrices(
            rows.form(one - two), rows.form(one + two), ridge=self.ridge, shares=zero
        )

    def shares(self, samples: Samples, codes: Codes, classes: int) -> tuple[Array, Array]:
        """How much each row counts in its class; the shares of the classes."""
        if self.average == "rows":
            weights = np.ones(samples.n) if samples.weights is None else samples.weights
            return weights / np.bincount(codes, weights)[codes], np.full(classes, 1.0 / classes)
        _, share = trial_shares(samples)
        members = np.bincount(codes, share)
        return share / members[codes], members / members.sum()


@dataclass(frozen=True)
class SPoC(PowerMethod):
    """Find the power that goes with a quantity: max tr(M'|B^{-1/2} A B^{-1/2}|M), source power.

    B = mean C_t, A = mean z_t C_t of the second moments C_t of the trials about zero, z the
    quantity of each trial (its mean, of rows) less its mean and in units of its standard deviation.
    P = M'B^{-1/2}. An eigenvalue is the covariance of z and of a filter's power, and counts by its
    size; exact by the generalised eigenvectors of (A, B).
    """

    name = "spoc"
    formula = "max tr(M'|B^{-1/2} A B^{-1/2}|M), A = mean z_t C_t, B = mean C_t"
    source = "Daehne et al. 2014"
    needs = (Need.RESPONSE, Need.TIME_ORDER)
    baseline = "generalised eigenvectors of (A, B), by the size of their eigenvalues"
    stacks = True
    by_size = True
    exact = "yes"

    def bind(self, data: Data, r: int) -> Trace:
        trials, share = trial_shares(data.samples)
        y = as_response(data.y, data.samples.n)
        if y.shape[1] > 1:
            raise DataError(f"y has {y.shape[1]} columns, expected one: a quantity for each trial")
        weights = np.bincount(trials, share)
        sums = np.bincount(trials, share * deviations(y[:, 0], share))
        z = np.divide(sums, weights, out=np.zeros(len(sums)), where=weights > 0)
        z = deviations(z, weights)
        size = np.sqrt(np.average(z**2, weights=weights))
        if not size > 0:
            raise DataError("y is the same in all trials, expected a quantity that varies")
        z = np.where(weights > 0, z / size, 0.0)[trials]
        counts = share[:, None] * np.stack([z, np.ones(len(z))], axis=1) / share.sum()
        compact, (samples,) = Compact.about_zero(data.samples)

        def pencil(change: Change) -> Pencil:
            A, B = second_moments(change.about_zero(samples), counts)
            squares = SumOfSquares(B, np.zeros(len(B)), 0.0)
            return Pencil(A, squares, float(np.abs(z).max()))

        rows = RowPencil(compact, pencil, "the mean second moment of the trials")
        return whitened_trace(self, rows, r, ridge=self.ridge, absolute=True)

    def matrices(self, data: DataSums) -> SpectralMatrices:
        e, n = data.deviations(), data.rows.count
        if data.rows.trials is not None:
            raise UnknownError
        zero = np.zeros(n)
        rows = data.rows.about(zero)
        A = rows.form(e / (n * (e**2).mean(axis=-1, keepdims=True) ** 0.5))
        return SpectralMatrices(A, rows.form(np.full(n, 1.0 / n)), ridge=self.ridge, shares=zero)


def trial_shares(samples: Samples) -> tuple[Codes, Array]:
    """The trial of each row, and how much it counts, so that trials count alike, however long.

    A trial counts as much as its rows do on average; without trials each row is one.
    """
    weights = np.ones(samples.n) if samples.weights is None else samples.weights
    codes = None if samples.marks is None else samples.marks.codes
    trials = np.arange(samples.n) if codes is None else codes
    return trials, weights / np.maximum(np.bincount(trials, weights > 0), 1.0)[trials]


@dataclass(frozen=True)
class ClassPencil(Pencil):
    """With the second moment of each class, which add up to B."""

    parts: Array = field(kw_only=True)


@dataclass(frozen=True)
class JointFilters(Trace):
    """The trace of a diagonal A in coordinates that belong to the filters of joint diagonalisation:
    its optimum takes the best of them.
    """

    plain = False

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        return {"mutual_information": super().numbers(M, axes, seen)["eigenvalue"]}

    def certificate(self, M: Array) -> Certificate | None:
        found = super().certificate(M)
        return None if found is None else found.restricted_to(_FILTERS)


def check_definite(C: Array, classes: Cells | None, error: float) -> None:
    """Refuse classes in which some direction has no power beyond an error of the C_c."""
    assert classes is not None
    for label, least in zip(classes, np.linalg.eigvalsh(C)[:, 0], strict=True):
        if not least > max(rank_tolerance(C.shape[1]), error):
            raise SingularError(
                f"the second moment of class {label} is singular, and more than two classes are "
                "jointly diagonalised: give ridge= a positive value, or fewer columns"
            )


def joint_filters(
    objective: CSP, rows: RowPencil[ClassPencil], r: int, ridge: float, probabilities: Array
) -> JointFilters:
    """The filters that make the classes' second moments diagonal, by what they say of the class."""
    given = Unwhitened.of(rows.compact, rows.what, ridge)
    found, (whitened,) = whiten(rows.of, lambda found: (found.B,), given)
    C = np.array([whitened(part) for part in found.parts])
    C = C * len(C) + (np.eye(C.shape[1]) - C.sum(axis=0))  # the ridge's share in each
    error = len(C) * whitened.error
    check_definite(C, rows.classes, error)
    V = joint_diagonaliser(C)
    V = V / np.sqrt(np.einsum("ij,cik,kj,c->j", V, C, V, probabilities))
    powers = np.einsum("ij,cik,kj->cj", V, C, V)
    fourth = probabilities @ (powers**2 - 1)
    told = -probabilities @ (0.5 * np.log(powers)) - 3 / 16 * fourth**2
    slopes = probabilities @ (0.5 / powers) + 0.75 * np.abs(fourth) * (probabilities @ powers)
    doubt = r * error * float(np.max(slopes * np.sum(V**2, axis=0)))
    inner = whitened.coordinates
    coordinates = Whitening(inner.W @ V, np.linalg.solve(V, inner.inverse), inner.outer)
    view = rows.compact.view(whitened.mean, whitened.scatter).within(whitened)
    views = (replace(view, coordinates=coordinates),)
    return JointFilters(objective, views, np.diag(told), r, doubt=doubt)


@dataclass(frozen=True)
class Xdawn(Objective):
    """Find what a class evokes in every trial: max tr((M'RM)^{-1} M'EM).

    E is the second moment over time of the mean of the trials of a class, R that of all rows, both
    about zero. In the whitened variable max tr(M'R^{-1/2} E R^{-1/2} M), P = M'R^{-1/2}; exact by
    the top generalised eigenvectors: an eigenvalue is the power of the response in units of that of
    all rows. Trials are of one length, and aligned: without trials each row is one.

    Parameters
    ----------
    target : label, optional
        The class whose response is wanted; by default the mean of E over all classes.
    ridge : float
        Added to the diagonal of R, in units of its mean diagonal.
    """

    name = "xdawn"
    formula = "max tr(M'R^{-1/2} E R^{-1/2} M), E of the mean trial, R of all rows"
    source = "Rivet, Souloumiac, Attina & Gibert 2009"
    sense = "max"
    needs = (Need.LABELS, Need.TIME_ORDER)
    baseline = "top generalised eigenvectors of (E, R)"
    weighted = True
    transposed = False
    exact = "yes"
    scale_free = True
    arrays = Footprint(squares=19.0, span=16.5)

    target: Any = None
    ridge: float = number(0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if np.ndim(self.target) != 0:
            raise ArgumentError(f"target must be one label, got {self.target!r}")

    def bind(self, data: Data, r: int) -> Trace:
        codes, classes = data.labels
        compact, (samples,) = Compact.about_zero(data.samples)
        times = places(data.samples)
        if (codes != codes[np.arange(len(times)) - times]).any():
            raise DataError("y has several classes within a trial, expected one a trial")
        length = int(times.max()) + 1
        wanted = np.arange(len(classes)) if self.target is None else self._wanted(classes)

        def pencil(change: Change) -> Pencil:
            cells = codes * length + times
            stats = class_moments(change.about_zero(samples), cells, len(classes) * length)
            responses = stats.means.reshape(len(classes), length, -1)[wanted]
            evoked = responses.reshape(-1, responses.shape[2])
            R = stats.total / stats.n + np.outer(stats.mean, stats.mean)
            return Pencil(evoked.T @ evoked / len(evoked), SumOfSquares(R, np.zeros(len(R)), 0.0))

        rows = RowPencil(compact, pencil, "the second moment of the rows")
        return whitened_trace(self, rows, r, ridge=self.ridge)

    def forms(self, data: DataForms) -> PencilMatrices:
        """Of rows that are trials by themselves."""
        codes, classes = data.labels()
        counts = np.bincount(codes)
        means = (membership(codes, len(classes)) / counts[:, None]).tocsr()
        if self.target is not None:
            means = means[self._wanted(classes)]
        n, zero = len(codes), np.zeros(len(codes))
        rows = data.rows.about(zero)
        E = rows.form(Squares(means)) / means.shape[0]
        R = rows.form(np.full(n, 1.0 / n))
        return PencilMatrices(E, R, ridge=self.ridge, shares=zero)

    def _wanted(self, classes: Cells) -> Codes:
        found = np.flatnonzero([label == self.target for label in classes])
        if len(found) == 0:
            shown = ", ".join(map(repr, classes.tolist()[:9]))
            raise ArgumentError(
                f"target = {self.target!r} is no label of y: expected one of {shown}"
            )
        return found


def places(samples: Samples) -> Codes:
    """The place of each row in its trial."""
    codes = None if samples.marks is None else samples.marks.codes
    if codes is None:
        return np.zeros(samples.n, dtype=np.intp)
    lengths = np.bincount(codes)
    if len(set(lengths)) > 1:
        raise DataError(
            f"trials have from {lengths.min()} to {lengths.max()} rows, expected the same number "
            "in each, aligned at the event"
        )
    return np.arange(samples.n) % lengths[0]
