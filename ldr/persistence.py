"""`ldr.load`: a result from a file that `Result.save` wrote."""

from __future__ import annotations

from pathlib import Path

from ldr.models import read_model
from ldr.multistart import Starts
from ldr.objectives.data.data import Samples
from ldr.objectives.factor_model import FactorModel
from ldr.objectives.kernel import Kernel, KernelFeatures
from ldr.objectives.normalised import Normalised
from ldr.objectives.objective import L1, Sum
from ldr.objectives.prediction import ClassPredictor, LinearPredictor
from ldr.objectives.problem import Certificate
from ldr.objectives.statistics.scatters import Variation
from ldr.objectives.view import Composed, HalfSquaredDistances, LogCounts, Quadratic
from ldr.result import Result
from ldr.scaling import Divided
from ldr.solvers.errors import DataError
from ldr.solvers.solver import Run
from ldr.tables import Directions

_KINDS = (
    *(Result, Run, Starts, Certificate, FactorModel, ClassPredictor, LinearPredictor),
    *(Directions, Variation),
    *(Composed, Divided, HalfSquaredDistances, KernelFeatures, LogCounts, Quadratic, Samples),
    *(Kernel, L1, Normalised, Sum),
)


def load(path: str | Path) -> Result:
    """Load a saved result, which transforms, predicts and imputes as before.

    Parameters
    ----------
    path : str or pathlib.Path
        Path of an .npz file written by `Result.save`. Reading executes no code.

    Returns
    -------
    Result
        The result, with bitwise the same numbers as when it was saved. Its objective has the saved
        parameters, and its class is that of the installed version of ldr.

    Raises
    ------
    FileNotFoundError
    ldr.errors.DataError
        The file is not a saved result, is damaged, or was written by a later version of ldr.

    Examples
    --------
    >>> import ldr, tempfile, os
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> result = ldr.solve("orthogonal-lda", X, 2, y=y)
    >>> path = os.path.join(tempfile.mkdtemp(), "model.npz")
    >>> result.save(path)
    >>> bool((ldr.load(path).transform(X) == result.transform(X)).all())
    True
    """
    found = read_model(path, {kind.__name__: kind for kind in _KINDS})
    if not isinstance(found, Result):
        raise DataError(f"{path} holds a {type(found).__name__}, expected a Result")
    return found
