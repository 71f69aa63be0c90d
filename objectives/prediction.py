"""Predictions for new rows from the projection: classes, responses, the other view."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.array_types import Cells, Given
from ldr.objectives.data.data import Data, Samples
from ldr.objectives.data.sample_metadata import as_array, as_labels, is_text
from ldr.objectives.statistics import ClassMoments, ViewMoments, class_moments
from ldr.objectives.view import Coordinates, inverse_root
from ldr.solvers.manifolds import Array


@dataclass(frozen=True, eq=False)
class LinearPredictor:
    """Linear predictor mean + (y - y's mean) B from the components y = Px of a row x.

    - P (k, d), B (k, q): the map to components, and the coefficients
    - mean (q,): the prediction for the mean row
    - flat: True if the prediction is a scalar per row
    - classes (q,): classes whose indicators the outputs predict; the largest output gives the class
    """

    P: Array
    B: Array
    mean: Array
    flat: bool = False
    classes: Cells | None = None

    def in_units(self, scale: Array, outputs: Array) -> LinearPredictor:
        """Return the predictor for columns and outputs divided by scales."""
        return replace(self, P=self.P / scale, B=self.B * outputs, mean=self.mean * outputs)

    def predict(self, Y: Array) -> Array:
        """Predict the response, (m, q) or (m,), from the centred components Y (m, k)."""
        predicted = self.decision(Y)
        if self.classes is not None:
            return np.asarray(self.classes[np.argmax(predicted, axis=1)])
        return predicted[:, 0] if self.flat else predicted

    def decision(self, Y: Array) -> Array:
        """Return the predicted outputs (m, q)."""
        return np.asarray(Y @ self.B + self.mean)


@dataclass(frozen=True, eq=False)
class ClassPredictor:
    """Predictor of classes by a Gaussian model with a common covariance.

    The log-probability is log prior_k + y'C^{-1}m_k - m_k'C^{-1}m_k / 2 + a term common to all
    classes, with class means m_k and pooled covariance C = S_W/n in the components y = Px. In the
    c - 1 directions of lda the prediction is that of linear discriminant analysis in all columns.

    - P (r, d), classes (c,): the map to components, and the labels of the classes
    - priors (c,): prior probabilities, the shares of the classes
    - means (c, r): class means minus the mean of all rows
    - W (r, r): factor with WW' = C^{-1}
    """

    P: Array
    classes: Cells
    priors: Array
    means: Array
    W: Array

    @classmethod
    def of(cls, P: Array, classes: Cells, groups: ClassMoments) -> ClassPredictor:
        """Return the predictor from class moments of the projected rows.

        Directions without variance within classes are given the variance of rounding errors. If all
        components are zero, the probabilities are the priors.
        """
        n = groups.counts.sum()
        total = np.diag(np.maximum(np.diag(groups.total), 0.0))
        within = (groups.within + np.finfo(float).eps * total) / n
        W = inverse_root(within)[0] if total.any() else np.zeros((len(total), 1))
        return cls(P, classes, groups.counts / n, groups.apart, W)

    def in_units(self, scale: Array, outputs: Array) -> ClassPredictor:
        """Return the predictor for rows whose columns are divided by a scale."""
        return replace(self, P=self.P / scale)

    def decision(self, Y: Array) -> Array:
        """Return log p(k | y) up to a constant, (m, c), for centred components."""
        centres = self.means @ self.W
        offsets = np.log(self.priors) - 0.5 * np.einsum("ij,ij->i", centres, centres)
        return (Y @ self.W) @ centres.T + offsets

    def probabilities(self, Y: Array) -> Array:
        """Return the class probabilities p(k | y), (m, c)."""
        decision = self.decision(Y)
        weights = np.exp(decision - decision.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def predict(self, Y: Array) -> Cells:
        """Return the most probable class of each row, (m,)."""
        return np.asarray(self.classes[np.argmax(self.decision(Y), axis=1)])


Predictor = LinearPredictor | ClassPredictor


class Answers(Protocol):
    """Data from which predictors for given maps are computed."""

    def predictors(
        self, maps: tuple[Array, ...], means: tuple[Array, ...]
    ) -> tuple[Predictor, ...]:
        """Return each view's predictor, for maps P that are applied to the rows minus `means`."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Predictors of classes from class moments.

    - classes (c,)
    - moments: class moments of the rows
    - W: map from the rows of the moments to the solver's coordinates; None for the identity
    - within: within-class scatter in the solver's coordinates, instead of that of the moments
    - ridge: constant added to the diagonal of the within-class scatter, in all columns
    """

    classes: Cells
    moments: ClassMoments
    coordinates: Coordinates
    W: Array | None
    within: Array | None
    ridge: float

    def predictors(
        self, maps: tuple[Array, ...], means: tuple[Array, ...]
    ) -> tuple[Predictor, ...]:
        (P,) = maps
        Z = self.coordinates.carried(P.T, P)
        moments = self.moments.through(Z if self.W is None else self.W @ Z)
        within = moments.within if self.within is None else Z.T @ self.within @ Z
        moments = replace(moments, within=within + self.ridge * (P @ P.T))
        return (ClassPredictor.of(P, self.classes, moments),)


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Predictors of classes from labelled rows."""

    classes: Cells
    codes: npt.NDArray[np.intp]
    samples: Samples

    @classmethod
    def of(cls, data: Data) -> GroupedRows:
        codes, classes = data.labels
        return cls(classes, codes, data.samples)

    def predictors(
        self, maps: tuple[Array, ...], means: tuple[Array, ...]
    ) -> tuple[Predictor, ...]:
        (P,), (mean,) = maps, means
        rows = self.samples.centred_times(np.ascontiguousarray(P.T), mean)
        Y = Samples(rows, marks=self.samples.marks)
        moments = class_moments(Y, self.codes, len(self.classes))
        return (ClassPredictor.of(P, self.classes, replace(moments, apart=moments.means)),)


@dataclass(frozen=True, eq=False)
class PairedViews:
    """Least-squares predictors of each of two views from the other, by the views' joint moments.

    View b is predicted by mean_b + Pa(a - mean_a) B with B = (Ya'Ya)^{-1} Ya'Xb, where Ya contains
    the projected rows of view a; view a is predicted likewise.

    - scatters: scatters of the rows
    - roots: maps from rows to coordinates; 1 if the scatters are given in these coordinates
    """

    scatters: ViewMoments
    coordinates: tuple[Coordinates, Coordinates]
    roots: tuple[Array | float, Array | float] = (1.0, 1.0)

    def predictors(
        self, maps: tuple[Array, ...], means: tuple[Array, ...]
    ) -> tuple[Predictor, ...]:
        S = self.scatters.block
        (in_a, in_b), (A, B), (Pa, Pb), (mean_a, mean_b) = self.coordinates, self.roots, maps, means
        from_a = fitted(S(0, 0), S(0, 1), np.dot(A, in_a.carried(Pa.T, Pa)))
        from_b = fitted(S(1, 1), S(1, 0), np.dot(B, in_b.carried(Pb.T, Pb)))
        return (
            LinearPredictor(Pa, in_b.rows(np.dot(from_a, B)), mean_b),
            LinearPredictor(Pb, in_a.rows(np.dot(from_b, A)), mean_a),
        )


@dataclass(frozen=True, eq=False)
class Outputs:
    """Shape and mean of a response.

    - mean (q,)
    - flat: True if the response is a vector, not a matrix
    - classes (q,): classes of a text response, which has an indicator column per class
    """

    mean: Array
    flat: bool
    classes: Cells | None = None

    @classmethod
    def of(cls, y: Given, mean: Array) -> Outputs:
        if is_text(y):
            return cls(mean, flat=False, classes=as_labels(y, len(as_array(y)))[1])
        return cls(mean, as_array(y).ndim == 1)

    def predictor(self, P: Array, B: Array) -> LinearPredictor:
        return LinearPredictor(P, B, self.mean, self.flat, self.classes)


@dataclass(frozen=True, eq=False)
class Regressed:
    """Least-squares predictor of a response from projected rows, by their joint moments.

    - scatters: joint scatters of the rows and the response
    """

    scatters: ViewMoments
    coordinates: Coordinates
    outputs: Outputs

    def predictors(
        self, maps: tuple[Array, ...], means: tuple[Array, ...]
    ) -> tuple[Predictor, ...]:
        (P,), S = maps, self.scatters.block
        Z = self.coordinates.carried(P.T, P)
        return (self.outputs.predictor(P, fitted(S(0, 0), S(0, 1), Z)),)


def fitted(scatter: Array, cross: Array, Z: Array) -> Array:
    """Fit outputs Y to the components XZ by least squares: (Z'X'XZ)^{-1} Z'X'Y, (r, q).

    If the components are collinear, the coefficients have least norm.
    """
    return np.asarray(np.linalg.lstsq(Z.T @ scatter @ Z, Z.T @ cross, rcond=None)[0])
