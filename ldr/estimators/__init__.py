"""scikit-learn estimators: `Reducer` for any objective, and an estimator for every method.

The named estimators are generated from the fields of the objectives. `inspect.signature` shows the
parameters of an estimator.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from inspect import Parameter, Signature
from itertools import chain
from typing import TYPE_CHECKING, Any

from sklearn.base import ClassifierMixin, RegressorMixin

from ldr.estimators import kinds
from ldr.estimators.base import OPTIONS, Projection, TwoViews, from_sums, of_points
from ldr.inputs import as_objective
from ldr.objectives.docstrings import described
from ldr.objectives.lda import DiscriminantMethod
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need
from ldr.objectives.registry import REGISTRY
from ldr.solvers.errors import ArgumentError
from ldr.trial_layout import FEATURES

# Estimators with other names than their objectives: SDR is the name of a family of methods.
NAMES = {"sdr": "KernelSDR"}

# Classes that add scikit-learn's attributes to the estimators of some methods.
MODELS: dict[str, type[Projection]] = {
    "pca": kinds.Principal,
    "ppca": kinds.Gaussian,
    "fa": kinds.Gaussian,
    "ica": kinds.Mixing,
    "uica": kinds.Mixing,
    "pls-regression": kinds.Latent,
    **dict.fromkeys(FEATURES, kinds.OfTrials),
}

# scikit-learn's names of some parameters, with the corresponding names in ldr.
ELSEWHERE = {"max_iter": "max_iterations", "tol": "tolerance", "scale": "standardise"}

_DOCSTRING = """{summary}

A scikit-learn transformer for the objective {name!r}, {formula}, in the
symbols of `ldr.objectives.{objective}`.

Parameters
----------
n_components : int, float, "auto" or None
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
    Rotation of M: "varimax", "quartimax", "promax" or "oblimin"; see `ldr.Result.rotate`.

Attributes
----------
{attributes}
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


def estimator_of(method: type[Objective]) -> type[Projection]:
    """Build the estimator of an objective class: (n_components=2, *, its fields, OPTIONS)."""
    name, base = estimator_name(method), _base(method)
    own: dict[str, tuple[Any, Any]] = {"n_components": (2, "Dimension")}
    for field in fields(method):  # type: ignore[arg-type]
        own[field.name] = field.default, field.type
    for option in described(base.__doc__):
        default = FEATURES[method.name] if option == "features" else getattr(base, option)
        own[option] = default, base.__annotations__[option]
    namespace: dict[str, Any] = {
        "__module__": "ldr.estimators",
        "__qualname__": name,
        "__doc__": _docstring(method, base),
        "__init__": keeping(name, own),
        "_method": method,
        "fit": taking(Projection.fit, method),
        "partial_fit": from_sums(taking(Projection.partial_fit, method)),
    }
    # Classifiers and regressors keep scikit-learn's `score`; other estimators return the objective.
    if not issubclass(base, (ClassifierMixin, RegressorMixin)):
        namespace["score"] = of_points(taking(Projection.score, method))
    if Need.DISTANCES in method.needs:
        namespace["metric"] = "precomputed"  # scikit-learn's name for matrices of distances
    return type(name, (base,), namespace)


def keeping(name: str, own: dict[str, tuple[Any, Any]], hint: str = "") -> Callable[..., None]:
    """Return the `__init__` of an estimator, which stores its arguments.

    - own: default and annotation of each parameter besides OPTIONS; keywords after n_components
    - hint: last sentence of the error for any other argument
    """
    kind: Any = Parameter.POSITIONAL_OR_KEYWORD
    parameters = [Parameter("self", kind)]
    for each, (default, annotation) in own.items():
        parameters.append(Parameter(each, kind, default=default, annotation=annotation))
        kind = Parameter.KEYWORD_ONLY if each == "n_components" else kind
    for each, default in OPTIONS.items():
        parameters.append(Parameter(each, kind, default=default))
    signature = Signature(parameters)

    def __init__(self: object, *args: object, **kwargs: object) -> None:
        for unknown in kwargs.keys() - signature.parameters.keys():
            called = f"; {unknown} is called {ELSEWHERE[unknown]}" if unknown in ELSEWHERE else ""
            raise ArgumentError(
                f"{name} has no parameter {unknown!r}, expected one of "
                f"{', '.join([*signature.parameters][1:])}{called}{hint}"
            )
        try:
            given = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None
        given.apply_defaults()
        vars(self).update(list(given.arguments.items())[1:])

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{name}.__init__"
    return __init__


def refused_by(method: type[Objective]) -> dict[str, str]:
    """Return the arguments that a method's estimator refuses, each with the reason.

    scikit-learn assumes that a weight repeats rows, and that weighted rows may be shuffled. Only
    `ldr.solve` and `Reducer` accept weights that do not repeat rows, and weights of time series.
    """
    found = {} if Need.BACKGROUND in method.needs else {"background": "it has no background"}
    if Need.TIME_ORDER in method.needs:
        why = "scikit-learn may shuffle weighted rows, but these rows are in the order of time"
        return found | {"sample_weight": why}
    if not method().traits.repeats:
        why = "a weight of scikit-learn repeats a row, but no row may be its own neighbour"
        found["sample_weight"] = why
    return found | {"groups": "the method ignores the order of rows, and therefore trials"}


def taking(function: Callable[..., Any], method: type[Objective]) -> Callable[..., Any]:
    """Return a method of `Projection` without the arguments that an objective refuses."""
    signature, refused = inspect.signature(function), refused_by(method)
    text = inspect.cleandoc(function.__doc__ or "")
    for name in refused:
        entry = rf"^{name} : .*\n(?:    .*\n)+|^{name}, |, {name}$|(?<=, ){name}, "
        text = re.sub(entry, "", text, flags=re.MULTILINE)

    @wraps(function)
    def called(self: Projection, *args: Any, **kwargs: Any) -> Any:
        for name in sorted(refused.keys() & kwargs.keys()):
            all_names = [each for each, one in REGISTRY.items() if name not in refused_by(one)]
            names, owner = ", ".join(all_names), f"{type(self).__name__}.{function.__name__}"
            if name == "background":
                raise ArgumentError(f"{owner} takes no {name}=: only the estimators of {names} do")
            raise ArgumentError(
                f"{owner} takes no {name}=: {refused[name]}. Use ldr.solve({method.name!r}, X, "
                f"{name}=) or ldr.Reducer({method.name!r}). The estimators that take {name}= are "
                f"those of {names}"
            )
        return function(self, *args, **kwargs)

    kept = [each for each in signature.parameters.values() if each.name not in refused]
    called.__doc__ = text
    called.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    return called


def _base(method: type[Objective]) -> type[Projection]:
    if method.views > 1:
        return TwoViews
    if method.name in MODELS:
        return MODELS[method.name]
    if issubclass(method, DiscriminantMethod):
        return kinds.Discriminates
    # In scikit-learn's classifiers -1 is a class; semi-supervised methods use -1 for no label.
    if method.traits.predicts == "classes" and not hasattr(method, "unlabelled"):
        return kinds.Classifies
    return kinds.Regresses if method.traits.predicts == "response" else Projection


def _docstring(method: type[Objective], base: type[Projection]) -> str:
    return _DOCSTRING.format(
        summary=(inspect.getdoc(method) or method.name).split("\n\n")[0],
        formula=method.formula,
        name=method.name,
        own=_entries("Parameters", method, base),
        attributes=_entries("Attributes", *reversed(base.__mro__)),
        objective=method.__name__,
        source=method.source,
    )


def _entries(section: str, *documented: type) -> str:
    """Return the entries of a section in the docstrings of classes, each entry once."""
    entries = [described(cls.__doc__, section).values() for cls in documented]
    return "".join(f"{entry}\n" for entry in dict.fromkeys(chain(*entries)))


ESTIMATORS: dict[str, type[Projection]] = {
    name: estimator_of(method) for name, method in REGISTRY.items()
}


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
    verbose, warm_start, rotation
        As in `ldr.PCA`.

    Attributes
    ----------
    result_, components_, mean_, n_iter_, n_components_, n_features_in_, feature_names_in_
        As in `ldr.PCA`. The other attributes of the estimator of a method exist too, where they
        apply: `explained_variance_` and `coef_`, for example.

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

    __init__ = keeping(
        "Reducer",
        {
            "objective": ("orthogonal-lda", "str | Objective"),
            "n_components": (2, "Dimension"),
            "views": (None, "Views | None"),
        },
        hint="; pass parameters of an objective to the objective, as in "
        "ldr.Reducer(ldr.objectives.OrthogonalMAF(lag=2))",
    )

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
