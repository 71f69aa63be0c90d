"""An estimator for every method of the registry, made from the objective's own parameters."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from ldr.estimators.background import WithBackground
from ldr.estimators.base import Projection
from ldr.estimators.doors import doors
from ldr.estimators.predicting import Classifies, Latent, Regresses
from ldr.estimators.signatures import initialiser, with_options
from ldr.estimators.two_views import TwoViews
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, described
from ldr.objectives.registry import REGISTRY
from ldr.solvers.errors import ArgumentError

# An estimator has the name of its objective, but where a reader would expect another method of it:
# `LDA` and `CCA` mean the classical ones to most, and SDR is one of many.
NAMES = {"lda": "OrthogonalLDA", "cca": "OrthogonalCCA", "sdr": "KernelSDR", "fa": "FactorAnalysis"}

_PARAMETERS = """n_components : int, float or "auto"
    Dimension to reduce to, a share of the variance, or left to a rule: r of `ldr.solve`.
{own}standardise, solver, start, starts, workers, tolerance, max_iterations, time_limit, certify
    As in `ldr.solve`.
random_state, device
    As in `ldr.solve`.
verbose : bool
    Whether to follow each run on the terminal; see `ldr.observers.Progress`.
rotation : str, optional
    "varimax", "quartimax", "promax" or "oblimin": see `ldr.Result.rotate`."""

_VIEWS = """views : sequence of column groups, or a dict of them by name, optional
    Lists of column numbers or names, or slices, one a view: X then holds all views in one array, as
    in a Pipeline, y is left alone, and `transform` gives the coordinates of all side by side.
"""

_DOCSTRING = """{summary}

The registry's {name!r} as a scikit-learn transformer: {formula}.

Parameters
----------
{parameters}

See Also
--------
ldr.objectives.{objective} : the objective, with its notes.

References
----------
{source}
"""


class Named(Projection):
    """An estimator whose parameters are n_components, the objective's fields and OPTIONS."""

    _method: type[Objective]

    def _objective(self) -> Objective:
        fields = dataclasses.fields(self._method)  # type: ignore[arg-type]
        return self._method(**{field.name: getattr(self, field.name) for field in fields})

    def _traits(self) -> Objective:
        try:
            return self._objective()
        except ArgumentError:  # a parameter that `fit` will refuse
            return self._method()


def estimator_name(method: type[Objective]) -> str:
    """Of the estimator class of an objective class."""
    return NAMES.get(method.name, method.__name__)


def estimator_of(method: type[Objective]) -> type[Named]:
    """The estimator class of an objective class."""
    name = estimator_name(method)
    namespace: dict[str, Any] = {
        "__module__": "ldr.estimators",
        "__qualname__": name,
        "__doc__": _docstring(method),
        "__init__": initialiser(signature_of(method), name),
        "_method": method,
    }
    if Need.DISTANCES in method.needs:
        namespace["metric"] = "precomputed"  # as scikit-learn's own estimators of distances say
    bases = _bases(method)
    namespace.update(doors(bases[-1], method))
    if bases[0] is not Named:  # scikit-learn's own score, of predictions
        namespace.pop("score", None)
    return type(name, bases, namespace)


def _bases(method: type[Objective]) -> tuple[type, ...]:
    if method.views > 1:
        return (Named, TwoViews)
    if Need.BACKGROUND in method.needs:
        return (Named, WithBackground)
    # Of scikit-learn's classifiers every label is a class.
    if method.predicts == "classes" and not hasattr(method, "unlabelled"):
        return (Classifies, Named)
    if method.predicts != "response":
        return (Named,)
    return (Latent if method.latent else Regresses, Named)


def signature_of(method: type[Objective]) -> inspect.Signature:
    """(self, n_components=2, *, the objective's fields, OPTIONS)."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
    own = [
        inspect.Parameter("self", plain),
        inspect.Parameter("n_components", plain, default=2, annotation="Dimension"),
    ]
    for field in dataclasses.fields(method):  # type: ignore[arg-type]
        kept = {"default": field.default, "annotation": field.type}
        own.append(inspect.Parameter(field.name, keyword, **kept))
    if method.views > 1:
        own.append(inspect.Parameter("views", keyword, default=None, annotation="Views | None"))
    return with_options(own)


def _docstring(method: type[Objective]) -> str:
    own = dict.fromkeys(described(method.__doc__).values())
    return _DOCSTRING.format(
        summary=(inspect.getdoc(method) or method.name).split("\n\n")[0],
        formula=method.formula,
        name=method.name,
        parameters=_PARAMETERS.format(
            own="".join(f"{entry}\n" for entry in own) + (_VIEWS if method.views > 1 else "")
        ),
        objective=method.__name__,
        source=method.source,
    )


ESTIMATORS: dict[str, type[Named]] = {
    name: estimator_of(method) for name, method in REGISTRY.items()
}
