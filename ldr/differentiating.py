"""Derivatives of a result; see `ldr.sensitivity`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldr.objectives.objective import Objective
from ldr.solvers.run import Run
from ldr.types import PerRow, PerView, Rows

if TYPE_CHECKING:
    from ldr.sensitivity.sensitivity import Sensitivity


class Differentiates:
    """A result whose optimum is a function of what it was found for."""

    objective: Objective
    r: int
    run: Run
    scale: PerView
    features: PerView

    def sensitivity(
        self, X: Rows, y: PerRow = None, *, sample_weight: PerRow = None, groups: PerRow = None
    ) -> Sensitivity:
        """The optimum as a function of its data, to be differentiated.

        Parameters
        ----------
        X, y, sample_weight, groups
            What the result was solved for.

        Returns
        -------
        Sensitivity
            Whose `along` is the derivative of M, P, the subspace, the value and the numbers of the
            coordinates along a direction of the data, of the weights of their rows or of the
            objective's parameters.

        Raises
        ------
        ldr.errors.SingularError
            The optimum is not alone: numbers tie at the boundary of the subspace.
        ldr.errors.ArgumentError
            An objective with a penalty that has corners, a map of features, standardised columns.
        ldr.errors.DataError
            Other data than the result was solved for.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> X, y = load_wine(return_X_y=True)
        >>> import ldr
        >>> result = ldr.solve("lda", X / X.std(axis=0), r=2, y=y, ridge=0.1)
        >>> derivative = result.sensitivity(X / X.std(axis=0), y).along(ridge=1.0)
        >>> derivative.value < 0  # the more is added to S_W, the smaller is the ratio
        True
        >>> derivative.projector.shape
        (13, 13)
        """
        from ldr.sensitivity.sensitivity import sensitivity

        return sensitivity(self, X, y, sample_weight, groups)
