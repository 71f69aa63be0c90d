"""Objectives, such as PCA() + 0.5 * OrthogonalLDA() + ldr.l1(0.1): methods, sums and penalties."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from ldr.objectives import docstrings
from ldr.objectives.data import memory
from ldr.objectives.data.data import Data, UnknownError
from ldr.objectives.data.sample_metadata import shown
from ldr.objectives.parameters import CHECK, TRAITS, Need, Traits, check_traits, need_named
from ldr.objectives.problem import BoundObjective
from ldr.solvers.checks import Brief, Pickled, number, real
from ldr.solvers.errors import ArgumentError

if TYPE_CHECKING:
    from ldr.objectives.families.matrices import DataSums, Matrices


# With fewer samples than features some projection fits any of these inputs perfectly.
_EXPLAINED = {"labels", "response", "second view", "time order"}
# Number of square matrices in memory during a solve: matrices, factors and eigenvectors.
_ARRAYS = 8
_FEWER_COLUMNS = (
    "leave out columns, or use a method that needs only products with sparse rows ({}): alone, "
    "not in a sum, penalised or normalised"
)
# Map from a required input to the methods with this input that need only products with X.
_BY_PRODUCTS = {
    Need.LABELS: "lda, orthogonal-lda",
    Need.RESPONSE: "ridge-regression, lasso, pls-regression",
    Need.SECOND_VIEW: "pls, cca",
    Need.TIME_ORDER: "maf, orthogonal-maf",
}
_FEWER_ROWS = "use fewer rows, or landmarks= or components= if the method has them"


class Objective(Brief, Pickled, ABC):
    """Base class of the objectives of all methods; subclasses are frozen dataclasses.

    Attributes
    ----------
    name : str
        Name in the registry.
    formula, source : str
        Formula and source, by default from the docstring.
    sense : {"min", "max"}
        Sense of the optimisation of the reported value; solvers always minimise.
    views : int
        Number of data matrices.
    needs : tuple of Need
        Required data beside X; names as strings are accepted.
    baseline : str
        Name of the baseline, the solution commonly used in practice.
    domain : str
        Name of the manifold, such as Gr, St x St or R.
    exact : str
        "yes" if the baseline is optimal, "no" if not, or the condition for an optimal baseline.
    traits : Traits
        Supported kinds of data, given as class arguments: ``class PCA(Objective, weighted=True)``.
    """

    name: ClassVar[str]
    formula: ClassVar[str] = ""
    source: ClassVar[str] = ""
    sense: ClassVar[str]
    baseline: ClassVar[str]
    views: ClassVar[int] = 1
    needs: ClassVar[tuple[Need, ...]] = ()
    domain: ClassVar[str] = "Gr"
    exact: ClassVar[str] = "no"
    traits: ClassVar[Traits] = Traits()
    _own_traits: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls, **traits: bool | str | None) -> None:
        super().__init_subclass__()
        check_traits(cls, traits)
        cls._own_traits = traits
        inherited: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            inherited |= vars(base).get("_own_traits", {})
        cls.traits = Traits(**inherited)
        if isinstance(needs := vars(cls).get("needs"), tuple):
            cls.needs = tuple(need_named(name) for name in needs)
        docstrings.complete(cls)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            way_out = f"; it is objective.traits.{name}" if name in TRAITS else ""
            message = f"{type(self).__name__!r} object has no attribute {name!r}{way_out}"
            raise AttributeError(message, name=name, obj=self)

    def _set_traits(self, **changed: Any) -> None:
        """Change traits of this object, which depend on its parameters."""
        object.__setattr__(self, "traits", replace(self.traits, **changed))

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]
            if CHECK in each.metadata and getattr(self, each.name) is not each.default:
                each.metadata[CHECK](self, each.name)

    def largest_r(self, data: Data) -> int:
        """Return the largest allowed r, the smallest number of columns of a view."""
        return min([view.d for view in data.views])

    def cautions(self, value: float, data: Data, d: int, r: int) -> list[str]:
        """Return messages on the reliability of a value, if the number of rows is known."""
        notes = chance_notes(self, data, d) if _EXPLAINED & set(self.needs) else []
        labelled = Need.LABELS in self.needs and not hasattr(self, "unlabelled")
        return notes + single_samples(data) if labelled else notes

    def order(self, data: Data) -> int:
        """Return the order of the largest square arrays for the data; 0 if there are none."""
        order = 0
        for view in data.views:
            if self.traits.products and view.wide:
                return 0
            order += min(view.n, view.d) if view.n_known else view.d
        return order

    def check_memory(self, data: Data) -> None:
        """Refuse data whose square arrays would not fit into memory."""
        order = self.order(data)
        if (size := _ARRAYS * 8.0 * order**2) <= memory.SMALL:
            return
        of_rows = any(view.n_known and order == view.n and order != view.d for view in data.views)
        what = f"{self.name}, with {_ARRAYS} arrays of {order} x {order} numbers,"
        others = [_BY_PRODUCTS[need] for need in self.needs if need in _BY_PRODUCTS]
        fewer_columns = _FEWER_COLUMNS.format(", ".join(others) or "pca, ppca, fa")
        memory.check_memory(size, what, _FEWER_ROWS if of_rows else fewer_columns)

    @abstractmethod
    def bind(self, data: Data, r: int) -> BoundObjective:
        """Return the problem of the data in r dimensions."""

    def matrices(self, data: DataSums) -> Matrices:
        """Return the method's matrices, computed from sums over the rows, in any coordinates.

        UnknownError is raised if the matrices cannot be computed from sums over the rows.
        """
        raise UnknownError

    @property
    def sign(self) -> float:
        """Factor of the minimised value that gives the reported value."""
        return 1.0 if self.sense == "min" else -1.0

    __array_ufunc__ = None  # makes `NumPy scalar * objective` call __rmul__

    def __add__(self, other: object) -> Objective:
        """Return the sum with an objective or a penalty; 0, the start of `sum`, is ignored."""
        if type(other) is int and other == 0:
            return self
        own = penalty_of(self)
        if isinstance(other, L1):
            return Sum(terms_of(self), other if own is None else own + other)
        if not isinstance(other, Objective):
            return NotImplemented
        penalties = [p for p in (own, penalty_of(other)) if p is not None]
        together = None if not penalties else L1(sum(p.weight for p in penalties))
        return _sum(terms_of(self) + terms_of(other), together)

    __radd__ = __add__

    def __sub__(self, other: object) -> Objective:
        return self + -1.0 * other if isinstance(other, (Objective, L1)) else NotImplemented

    def __neg__(self) -> Objective:
        return -1.0 * self

    def __mul__(self, weight: object) -> Objective:
        """Return the objective, including its penalty, multiplied by a weight."""
        factor = coefficient(weight)
        if factor is None:
            return NotImplemented
        if factor == 1:
            return self
        terms = tuple((factor * w, part) for w, part in terms_of(self))
        penalty = penalty_of(self)
        return _sum(terms, None if penalty is None else factor * penalty)

    __rmul__ = __mul__

    def __truediv__(self, divisor: object) -> Objective:
        number = coefficient(divisor)
        if number is None:
            return NotImplemented
        if number == 0:
            raise ArgumentError("an objective cannot be divided by 0")
        return self * (1.0 / number)


def chance_notes(objective: Objective, data: Data, d: int) -> list[str]:
    """Return a message if samples are so few that noise can give as good a value."""
    n = data.samples.n
    if n > d:
        return []
    ridge = "; ridge= reduces the influence of single rows" if hasattr(objective, "ridge") else ""
    return [
        f"{n} rows of {d} columns: noise alone can reach as good a value, so that even a "
        "perfect value is no evidence. ldr.permutation_test compares it with the null "
        f"distribution, ldr.path(..., folds=5) scores held-out rows{ridge}"
    ]


def single_samples(data: Data) -> list[str]:
    """Return a message on classes with a single sample, which have no variation within."""
    codes, classes = data.labels
    alone = np.flatnonzero(np.bincount(codes, minlength=len(classes)) == 1)
    if len(alone) == 0:
        return []
    more = f" (as have {len(alone) - 1} more)" if len(alone) > 1 else ""
    return [
        f"class {shown(classes[alone[0]])} has one sample{more}, which has no neighbour in its "
        "class and adds nothing to the scatter within classes"
    ]


def known_everywhere(objective: Objective, data: Data) -> Data:
    """Return data with dense d x d arrays if the method has products for the optimum only."""
    return data.everywhere() if objective.traits.products == "optimum" else data


def in_memory(objective: Objective, data: Data) -> Data:
    """Return the data with all rows in memory, after a check of the memory."""
    data = data.in_memory()
    objective.check_memory(data)
    return data


Term = tuple[float, Objective]


@dataclass(frozen=True, repr=False)
class Sum(Objective):
    """Weighted sum of objectives and penalties, created by ``+``, ``-``, ``*`` and ``/``.

    An objective f_k with a positive weight w_k is minimised or maximised as it is alone: ``0.7 *
    PCA() + 0.3 * OrthogonalLDA()`` prefers a small reconstruction error and a large class ratio. If
    all terms are minimised, or all are maximised, so is the sum sum_k w_k f_k. Otherwise the sum is
    minimised, and the value is sum_k w_k f_k over minimised terms minus the same sum over maximised
    terms. With a negative weight a minimised objective is maximised, and vice versa. A penalty is
    added to a minimised sum and subtracted from a maximised sum. Terms are not rescaled:
    `ldr.normalised` makes weights comparable.

    All terms are functions of the same M, which is orthonormal, or unconstrained if M is
    unconstrained in all terms. The manifold is Stiefel if one term depends on more than M's span.
    Methods with a whitened variable, or with another map than P = M', cannot be terms of a sum.

    Parameters
    ----------
    terms : tuple of (float, Objective)
        Weights and objectives.
    penalty : L1 or None
    """

    terms: tuple[Term, ...]
    penalty: L1 | None = None

    def __post_init__(self) -> None:
        parts = [part for _, part in self.terms]
        first, alone = parts[0], len(parts) == 1
        _check_data_agree(parts)
        _check_maps_agree(parts)
        senses = {part.sense for part in parts}
        sense = first.sense if len(senses) == 1 else "min"
        baselines = dict.fromkeys(part.baseline for part in parts)
        smooth_exact = alone and self.penalty is None and self.terms[0][0] > 0
        traits = [part.traits for part in parts]
        attributes = {
            "sense": sense,
            "views": first.views,
            "needs": tuple(dict.fromkeys(need for part in parts for need in part.needs)),
            "name": self._combined("name", sense),
            "formula": f"{sense} {self._combined('value', sense)}",
            "source": "; ".join(dict.fromkeys(part.source for part in parts)),
            "baseline": first.baseline if alone else f"the best of: {', '.join(baselines)}",
            "domain": _common_domain(parts, self.penalty is not None),
            "exact": first.exact if smooth_exact else "no",
            "traits": Traits(
                any_views=all(own.any_views for own in traits),
                transposed=first.traits.transposed,
                relative_improvement=first.traits.relative_improvement if alone else True,
                predicts=next((own.predicts for own in traits if own.predicts), ""),
                missing=alone and first.traits.missing,
                sparse=all(own.sparse for own in traits),
                weighted=all(own.weighted for own in traits),
                products=max((own.products for own in traits), key="optimum".__eq__),
            ),
        }
        for attribute, value in attributes.items():
            object.__setattr__(self, attribute, value)

    def _combined(self, what: str, sense: str) -> str:
        """Return the sum as text, from names, values or code of its terms."""
        signs = [1.0 if what != "value" or part.sense == sense else -1.0 for _, part in self.terms]
        names = [repr(part) if what == "code" else part.name for _, part in self.terms]
        times = " * " if what == "code" else " "
        text = ""
        for sign, (weight, _), name in zip(signs, self.terms, names, strict=True):
            signed = sign * weight
            size = "" if abs(weight) == 1 else f"{abs(weight):.12g}{times}"
            minus = signed < 0 or (signed == 0 and math.copysign(1.0, signed) < 0)
            joint = (" - " if minus else " + ") if text else ("-" if minus else "")
            text += f"{joint}{size}{name}"
        if self.penalty is None:
            return text
        against = " - " if what == "value" and sense == "max" else " + "
        return f"{text}{against}{self.penalty!r}"

    def __repr__(self) -> str:
        return self._combined("code", self.sense)

    def largest_r(self, data: Data) -> int:
        return min(part.largest_r(data) for _, part in self.terms)

    def _seen(self, data: Data) -> Data:
        alone = len(self.terms) == 1 and self.penalty is None
        return data if alone else known_everywhere(self, data)

    def order(self, data: Data) -> int:
        return max(part.order(self._seen(data)) for _, part in self.terms)

    def bind(self, data: Data, r: int) -> BoundObjective:
        """Return the problem on the common manifold and in common coordinates of the terms."""
        from ldr.objectives.families.composite import weighted_sum

        bounds = [part.bind(self._seen(data), r) for _, part in self.terms]
        weights = [weight for weight, _ in self.terms]
        penalty = 0.0 if self.penalty is None else self.penalty.weight
        return weighted_sum(self, weights, bounds, penalty=penalty)


def _check_data_agree(parts: Sequence[Objective]) -> None:
    """Refuse objectives of different kinds of data."""
    first = parts[0]
    for part in parts[1:]:
        if part.views != first.views:
            raise ArgumentError(
                f"objectives {first.name!r} and {part.name!r} cannot be added: the first takes "
                f"{first.views} view(s) of the data, the second {part.views}"
            )
        if (Need.DISTANCES in part.needs) != (Need.DISTANCES in first.needs):
            raise ArgumentError(
                f"objectives {first.name!r} and {part.name!r} cannot be added: one takes "
                "distances, the other samples"
            )


def _check_maps_agree(parts: Sequence[Objective]) -> None:
    """Refuse objectives with M of different meaning."""
    for part in parts if len(parts) > 1 else ():
        if not part.traits.transposed:
            raise ArgumentError(
                f"objective {part.name!r} cannot be a term of a sum: all terms must project the "
                "samples by the transpose of M, but this objective has another map"
            )


def _common_domain(parts: Sequence[Objective], penalised: bool) -> str:
    """Return the manifold as text; "St" if a term requires it or there is a penalty."""
    domains = dict.fromkeys(part.domain for part in parts)
    if set(domains) <= {"Gr", "St"}:
        return "St" if penalised or "St" in domains else "Gr"
    return " and ".join(domains)


class Shorthand(Objective):
    """Base of objectives that abbreviate a sum."""

    @abstractmethod
    def expanded(self) -> Objective:
        """Return the abbreviated sum."""


class OfFeatures(Objective):
    """Base of linear objectives applied to features of the rows."""

    @abstractmethod
    def of_features(self) -> Objective:
        """Return the linear objective that is applied to the features."""


def of_features(objective: Objective) -> Objective:
    """Return the linear objective of an `OfFeatures`; other objectives unchanged."""
    return objective.of_features() if isinstance(objective, OfFeatures) else objective


def _expanded(objective: Objective) -> Objective:
    return objective.expanded() if isinstance(objective, Shorthand) else objective


def terms_of(objective: Objective) -> tuple[Term, ...]:
    """Return the weighted terms of an objective: several terms for a sum, else a single term."""
    expanded = _expanded(objective)
    return expanded.terms if isinstance(expanded, Sum) else ((1.0, expanded),)


def penalty_of(objective: Objective) -> L1 | None:
    """Return the penalty of an objective, if any."""
    expanded = _expanded(objective)
    return expanded.penalty if isinstance(expanded, Sum) else None


def without_penalty(objective: Objective) -> Objective:
    """Return the smooth part, or the objective itself without a penalty."""
    expanded = _expanded(objective)
    if isinstance(expanded, Sum) and expanded.penalty is not None:
        return _sum(expanded.terms, None)
    return objective


def _sum(terms: tuple[Term, ...], penalty: L1 | None) -> Objective:
    """Return the sum; a single term with weight 1 is returned itself."""
    (weight, only), *others = terms
    return only if weight == 1 and not others and penalty is None else Sum(terms, penalty)


def coefficient(value: object) -> float | None:
    """Return a finite number as a float, or None if the value is not a number."""
    weight = real(value)
    if weight is not None and not math.isfinite(weight):
        raise ArgumentError(f"the weight of an objective must be a finite number, got {value!r}")
    return weight


@dataclass(frozen=True, repr=False)
class L1:
    """Penalty weight * sum_ij |m_ij| for a sum with an objective, created by `ldr.l1`.

    Parameters
    ----------
    weight : float
        At least 0.
    """

    weight: float

    __array_ufunc__ = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", number("the weight of an l1 penalty", self.weight))

    def __add__(self, other: object) -> L1:
        return L1(self.weight + other.weight) if isinstance(other, L1) else NotImplemented

    def __mul__(self, factor: object) -> L1:
        factor = coefficient(factor)
        if factor is None:
            return NotImplemented
        if factor < 0:
            raise ArgumentError(
                f"the weight of a penalty must be >= 0, got {factor:g}, because the penalty would "
                "not be convex"
            )
        return L1(self.weight * factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: object) -> L1:
        divisor = coefficient(divisor)
        if divisor is None:
            return NotImplemented
        if divisor == 0:
            raise ArgumentError("a penalty cannot be divided by 0")
        return self * (1.0 / divisor)

    def __repr__(self) -> str:
        return f"l1({self.weight:g})"


def l1(weight: float) -> L1:
    """Return a penalty that makes entries of M exactly zero: weight * sum_ij |m_ij|.

    The penalty is added to a minimised f, min f + weight ||M||_1, and subtracted from a maximised
    f, max f - weight ||M||_1. As ||M||_1 depends on the basis M and not only on the span of M, the
    problem is on the Stiefel manifold even if the objective's manifold is Grassmann.

    Parameters
    ----------
    weight : float
        At least 0, in the objective's units.

    Returns
    -------
    L1
        A penalty to add to an objective: ``ldr.objectives.PCA() + ldr.l1(10.0)``.

    Raises
    ------
    ldr.errors.ArgumentError
        The weight is negative, infinite or not a number.

    Examples
    --------
    >>> import numpy as np, ldr
    >>> X = np.random.default_rng(0).standard_normal((100, 6)) * [3, 3, 3, 1, 1, 1]
    >>> result = ldr.solve(ldr.objectives.PCA() + ldr.l1(200.0), X, r=2)
    >>> bool(result.parameters["sparsity"] > 0.5)
    True
    """
    return L1(weight)
