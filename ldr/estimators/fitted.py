"""What scikit-learn's users know by other names: numbers and loadings of a result."""

from __future__ import annotations

import numpy as np

from ldr.objectives.data.data import as_tuple
from ldr.objectives.prediction import LinearPredictor
from ldr.result import Result
from ldr.solvers.manifolds import Array

# Loadings of the response below this share of the largest are rounding.
_NOTHING = 1e-13


def named(result: Result) -> dict[str, float | Array]:
    """Attributes by scikit-learn's names, those that have a meaning here.

    Variances are over n - 1, as scikit-learn's PCA has them, those of orthonormal maps alone.
    Weights are those of the columns in a coordinate, (X - mean) weights; loadings those of the
    coordinates in a column, by least squares.
    """
    seen = result.directions.variations
    found: dict[str, float | Array | None] = {}
    if len(seen) == 1 and seen[0] is not None and result.directions.orthonormal:
        variances, n = seen[0].variances, seen[0].n
        found["explained_variance_"] = variances * (n / (n - 1))
        if seen[0].shares is not None:
            found["explained_variance_ratio_"] = seen[0].shares
        found["singular_values_"] = np.sqrt(n * variances)
    for name in ("noise_variance", "noise_variances"):
        if name in result.parameters:
            found["noise_variance_"] = result.parameters[name]
    scales = (1.0,) * len(seen) if result.scale is None else as_tuple(result.scale)
    loadings = [
        None if one is None else (one.loadings.T * scale).T
        for one, scale in zip(seen, scales, strict=True)
    ]
    if result.objective.latent:
        (predictor,) = result.predictors
        assert isinstance(predictor, LinearPredictor)
        found["x_rotations_"], found["x_loadings_"] = result.P.T, loadings[0]
        found["y_rotations_"] = np.asarray(np.linalg.pinv(predictor.B, rcond=_NOTHING))
        found["y_loadings_"] = predictor.B.T
    if isinstance(result.P, tuple) and len(result.P) == 2:  # of more there are no such names
        for view, P, loading in zip("xy", result.P, loadings, strict=True):
            found[f"{view}_weights_"], found[f"{view}_loadings_"] = P.T, loading
    return {name: value for name, value in found.items() if value is not None}
