"""scikit-learn estimators: `Reducer` for any objective, and an estimator for every method.

The named estimators are generated from the fields of the objectives. `inspect.signature` shows the
parameters of an estimator.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from ldr.estimators.base import (
    Named,
    Projection,
    TwoViews,
    Views,
    from_sums,
    keeping,
    of_points,
    taking,
)
from ldr.estimators.kinds import (
    Classifies,
    Discriminates,
    Gaussian,
    Latent,
    Mixing,
    OfTrials,
    Principal,
    Regresses,
)
from ldr.inputs import as_objective
from ldr.objectives.docstrings import described
from ldr.objectives.lda import DiscriminantMethod
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need
from ldr.objectives.registry import REGISTRY
from ldr.trial_layout import FEATURES
from ldr.types import Dimension

# Estimators with other names than their objectives: SDR is the name of a family of methods.
NAMES = {"sdr": "KernelSDR"}

# Classes that add scikit-learn's attributes to the estimators of some methods.
MODELS: dict[str, type] = {
    "pca": Principal,
    "ppca": Gaussian,
    "fa": Gaussian,
    "ica": Mixing,
    "uica": Mixing,
    "pls-regression": Latent,
}

_PARAMETERS = """n_components : int, float, "auto" or None
    Number of components, or the share of the variance or the rule that determines the number: see
    r of `ldr.solve`. None keeps all dimensions in which the data vary.
{own}standardise, solver, start, starts, workers, tolerance, max_iterations, time_limit, certify
    As in `ldr.solve`.
observers, random_state, device
    As in `ldr.solve`.
verbose : bool
    True to show each run by `ldr.observers.Progress`, or `Log` without a terminal.
warm_start : bool
    True to start a further `fit` at the previous solution.
rotation : str, optional
    Rotation of M: "varimax", "quartimax", "promax" or "oblimin"; see `ldr.Result.rotate`."""

_DOCSTRING = """{summary}

A scikit-learn transformer for the objective {name!r}, {formula}, in the
symbols of `ldr.objectives.{objective}`.

Parameters
----------
{parameters}

See Also
--------
ldr.objectives.{objective} : the objective that the estimator optimises.

References
----------
{source}
"""


def estimator_name(method: type[Objective]) -> str:
    """Return the name of the estimator of an objective class."""
    return NAMES.get(method.name, method.__name__)


def estimator_of(method: type[Objective]) -> type[Named]:
    """Build the estimator of an objective class: (n_components=2, *, its fields, OPTIONS)."""
    name, bases = estimator_name(method), _bases(method)
    keyword = inspect.Parameter.KEYWORD_ONLY
    plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
    own = [
        inspect.Parameter("self", plain),
        inspect.Parameter("n_components", plain, default=2, annotation="Dimension"),
    ]
    for field in dataclasses.fields(method):  # type: ignore[arg-type]
        kept = {"default": field.default, "annotation": field.type}
        own.append(inspect.Parameter(field.name, keyword, **kept))
    for base in bases:
        for option in described(base.__doc__):
            default = FEATURES[method.name] if option == "features" else getattr(base, option)
            kept = {"default": default, "annotation": base.__annotations__[option]}
            own.append(inspect.Parameter(option, keyword, **kept))
    namespace: dict[str, Any] = {
        "__module__": "ldr.estimators",
        "__qualname__": name,
        "__doc__": _docstring(method, bases),
        "__init__": keeping(inspect.Signature(own), name),
        "_method": method,
        "fit": taking(Projection.fit, method),
        "partial_fit": available_if(from_sums)(taking(Projection.partial_fit, method)),
    }
    # Classifiers and regressors keep scikit-learn's `score`; other estimators return the objective.
    if not issubclass(bases[0], (ClassifierMixin, RegressorMixin)):
        namespace["score"] = available_if(of_points)(taking(Projection.score, method))
    if Need.DISTANCES in method.needs:
        namespace["metric"] = "precomputed"  # scikit-learn's name for matrices of distances
    return type(name, bases, namespace)


def _bases(method: type[Objective]) -> tuple[type, ...]:
    if method.views > 1:
        return (Named, TwoViews)
    if method.name in FEATURES:
        return (OfTrials, Named)
    if method.name in MODELS:
        return (MODELS[method.name], Named)
    if issubclass(method, DiscriminantMethod):
        return (Discriminates, Named)
    # In scikit-learn's classifiers -1 is a class; semi-supervised methods use -1 for no label.
    if method.traits.predicts == "classes" and not hasattr(method, "unlabelled"):
        return (Classifies, Named)
    return (Regresses, Named) if method.traits.predicts == "response" else (Named, Projection)


def _docstring(method: type[Objective], bases: tuple[type, ...]) -> str:
    entries = [entry for each in (method, *bases) for entry in described(each.__doc__).values()]
    return _DOCSTRING.format(
        summary=(inspect.getdoc(method) or method.name).split("\n\n")[0],
        formula=method.formula,
        name=method.name,
        parameters=_PARAMETERS.format(
            own="".join(f"{entry}\n" for entry in dict.fromkeys(entries))
        ),
        objective=method.__name__,
        source=method.source,
    )


ESTIMATORS: dict[str, type[Named]] = {
    name: estimator_of(method) for name, method in REGISTRY.items()
}


def _with_hint(given: Callable[..., None]) -> Callable[..., None]:
    """The `__init__` of a `Reducer`; its error states where an objective's parameters belong."""
    hint = (
        "; pass parameters of an objective to the objective, as in "
        "ldr.Reducer(ldr.objectives.OrthogonalMAF(lag=2))"
    )
    return keeping(inspect.signature(given), "Reducer", hint)


class Reducer(TwoViews):
    """Linear dimensionality reduction by any objective, as a scikit-learn transformer.

    A named estimator, such as `ldr.OrthogonalLDA`, has the parameters of its objective: a grid
    search can vary them. `Reducer` accepts any objective: a name, a kernel version (`ldr.kernel`)
    or your own (`ldr.objective`).

    Parameters
    ----------
    objective : str or Objective
        A name in the registry, an objective with parameters
        (``ldr.objectives.OrthogonalMAF(lag=2)``), a kernel version (`ldr.kernel`), or an objective
        of your own (`ldr.objective`).
    n_components : int
        Number of components.
    views : sequence of column groups, or a dict of them by name, optional
        Columns of each view, if one array X holds several views; see `ldr.OrthogonalCCA`.
    standardise, solver, start, starts, workers, tolerance, max_iterations, time_limit, certify
        As in `ldr.solve`.
    observers, random_state, device
        As in `ldr.solve`.
    verbose : bool
        True to show each run by `ldr.observers.Progress`, or `Log` without a terminal.
    warm_start : bool
        True to start a further `fit` at the previous solution.
    rotation : str, optional
        Name of a rotation of the loadings; see `ldr.Result.rotate`.

    Examples
    --------
    >>> import ldr
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_wine(return_X_y=True)
    >>> view = make_pipeline(StandardScaler(), ldr.Reducer("orthogonal-lda", n_components=2))
    >>> view.fit_transform(X, y).shape
    (178, 2)
    """

    @_with_hint
    def __init__(
        self,
        objective: str | Objective = "orthogonal-lda",
        n_components: Dimension = 2,
        *,
        views: Views | None = None,
    ) -> None: ...

    def _objective(self) -> Objective:
        return as_objective(self.objective, {})

    def _known_objective(self) -> Objective:
        """The objective; PCA in place of an unknown name, which `fit` refuses."""
        if isinstance(self.objective, Objective):
            return self.objective
        return REGISTRY.get(str(self.objective).lower(), REGISTRY["pca"])()


globals().update({estimator.__name__: estimator for estimator in ESTIMATORS.values()})

__all__ = [
    "ESTIMATORS",
    "Projection",
    "Reducer",
    *(estimator.__name__ for estimator in ESTIMATORS.values()),
]

if TYPE_CHECKING:  # type checkers cannot see the estimators, which are generated

    def __getattr__(name: str) -> Any: ...
