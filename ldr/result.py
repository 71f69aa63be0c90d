"""The result of `ldr.solve`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, overload

import numpy as np

from ldr.errors import in_words
from ldr.multistart import Starts
from ldr.objectives.data.data import as_tuple, single
from ldr.objectives.data.opening import without_header
from ldr.objectives.objective import Objective
from ldr.objectives.prediction import Predictor
from ldr.objectives.problem import Certificate
from ldr.projecting import in_kind, predicted, project_rows, views_of
from ldr.rotation import rotated
from ldr.solvers.checks import Pickled, flag
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.solvers.solver import Run
from ldr.solvers.status import Status
from ldr.tables import Directions, plain, shown, view_letters
from ldr.types import Argument, Figure, Frame, Panels, PerRow, PerView, Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import TypeVar  # typing's TypeVar has no default before 3.13

    from ldr.objectives.factor_model import FactorModel
    from ldr.sensitivity.sensitivity import Sensitivity

    Matrices = TypeVar("Matrices", default=Any)
else:
    from typing import TypeVar

    Matrices = TypeVar("Matrices")


@dataclass(frozen=True)
class Result(Pickled, Generic[Matrices]):
    """Optimal projection, its value, certificate and history.

    For objectives of two views, M, P, mean, baseline_M and feature_names are pairs. Type checkers
    treat M, P and mean of the result of `ldr.solve` as arrays, and those of a variable with the
    annotation ``ldr.Result`` as `Any`.

    Attributes
    ----------
    M : ndarray (d, r)
        The optimised matrix: orthonormal columns, or the loadings of a model.
    P : ndarray (r, d)
        The linear map; the components are Y = (X - mean) P'.
    mean : ndarray (d,)
        Mean that is subtracted before the map.
    run : Run
        Record of the solver, with values of the objective, not of the minimised function; `run.M`
        is the point in the solver's own coordinates. `value`, `status`, `iterations`,
        `evaluations`, `gradient_norm` and `history` of the result are attributes of the run.
    baseline : float or None
        The value of the objective at the baseline; None without a baseline.
    directions : Directions
        Statistics of each component, such as its eigenvalue; `components` has them as a table.
    baseline_M : ndarray or None
        The baseline's matrix.
    baseline_P : ndarray or None
        The baseline's map.
    improvement : float or None
        -(f(M) - f(baseline_M)) / |f(baseline_M)| for the minimised f (Cunningham and Ghahramani,
        Eq. 28). For orthogonal-cca and `ldr.normalised` objectives, which are normalised already,
        the improvement is -(f(M) - f(baseline_M)).
    certificate : Certificate or None
        Claim about optimality; None if no certificate was requested.
    solver : str
    objective : Objective
    r : int
    seconds : float
        Seconds for statistics, baseline and solution together, excluding the certificate.
    notes : tuple of str
        Messages about the problem as solved: a restriction to a subspace, a ridge, the choice of r.
    parameters : dict
        Other fitted numbers or arrays by name, such as "noise_variance" for ppca. Objectives with a
        penalty have "sparsity", the share of zeros in M, and "stationarity", equal to
        `gradient_norm`.
    model : FactorModel or None
        Probabilistic model of ppca or fa, which scores samples, imputes missing entries and returns
        the BIC. For a kernel version it is a model of the features that approximate the kernel.
    predictors : tuple of LinearPredictor or ClassPredictor
        Predictors used by `predict`, one for each predicting view.
    feature_names : tuple of str or None
    view_names : tuple of str
        Names of the views, if X was a dict.
    features : Features or None
        Feature map before the projection (kernels, expansions); mean and P then act on features.
    starts : Starts or None
        Summary of several starts, if any; iterations, evaluations and history are of the best run.
    scale : ndarray (d,) or None
        Standard deviations of the columns, with ``standardise=True``. M and the value refer to the
        standardised columns; P, mean and model refer to the original columns.
    """

    M: Matrices
    P: Matrices
    mean: Matrices
    run: Run
    baseline: float | None
    baseline_M: PerView
    improvement: float | None
    certificate: Certificate | None
    solver: str
    objective: Objective
    r: int
    seconds: float
    notes: tuple[str, ...] = ()
    parameters: dict[str, float | Array] = field(default_factory=dict)
    feature_names: PerView = None
    features: PerView = None
    starts: Starts | None = None
    model: FactorModel | None = None
    scale: PerView = None
    predictors: tuple[Predictor, ...] = ()
    baseline_P: PerView = None
    directions: Directions = field(default_factory=Directions)
    view_names: tuple[str, ...] = ()

    @property
    def components(self) -> Frame:
        """A table of the components, as a DataFrame, or without pandas as a dict of arrays.

        The method's scores come first, then the variance (over n). For orthonormal M the share of
        X's variance follows (explained_variance_ratio). The last columns are the share of X's
        variance that components 1 to k predict together (r2), and the increase of r2 (r2_share).
        """
        return self.directions.table([f"{self.objective.name}{k}" for k in range(self.r)])

    @property
    def correlations(self) -> PerView:
        """Correlation matrix of the components (r, r); a pair for two views.

        The value is None for matrices of distances, and if the samples cannot be read again.
        """
        found = [seen and seen.correlations for seen in self.directions.variations]
        return single(found or [None])

    @property
    def value(self) -> float:
        """Value of the objective at M (not of the minimised function)."""
        return self.run.value

    @property
    def status(self) -> Status:
        """Reason why the solver stopped; `converged` and `message` follow from the status."""
        return self.run.status

    @property
    def iterations(self) -> int:
        """Number of iterations of the solver."""
        return self.run.iterations

    @property
    def evaluations(self) -> dict[str, int]:
        """Numbers of evaluations of the value, the gradient and Hessian products.

        svrg also counts gradients of parts of the sum. Objectives of your own in jax count compiled
        functions ("compilation"), and data in chunks count passes over the data ("passes").
        """
        return self.run.evaluations

    @property
    def gradient_norm(self) -> float:
        """The norm of the Riemannian gradient at M, in the solver's variable.

        With a penalty this is instead the stationarity measure |V|/t, where V is the proximal step
        of step size t. With a penalty `history` contains the stationarity measure as well.
        """
        return self.run.gradient_norm

    @property
    def history(self) -> dict[str, list[float]]:
        """Lists "iteration", "value", "gradient_norm" and "seconds", including the start."""
        return self.run.history

    @property
    def converged(self) -> bool:
        """True if the solver reached its tolerance, or the level of rounding errors."""
        return self.status.converged

    @property
    def message(self) -> str:
        """Reason why the solver stopped, with advice."""
        return self.status.advice

    @property
    def columns(self) -> PerView:
        """Names of the components: "pca0", "pca1" and so on; for two views a pair of tuples.

        The names of two views are "cca_a0" and "cca_b0", or contain the names of the views.
        """
        name = self.objective.name
        if not isinstance(self.P, tuple):
            return tuple(f"{name}{k}" for k in range(self.r))
        return tuple(
            tuple(f"{name}_{v}{k}" for k in range(self.r))
            for v in self.view_names or view_letters(len(self.P))
        )

    @overload
    def transform(self, X: Array, *, header: bool = True) -> Array: ...

    @overload
    def transform(self, X: Rows, *, header: bool = True) -> Rows: ...

    @in_words
    def transform(self: Result, X: Rows, *, header: bool = True) -> Rows:
        """Project samples, or their features if the method computes features: Y = (X - mean) P'.

        For models with a likelihood (ppca, fa) the projection is the posterior mean, also for
        samples with missing entries.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (m, d)
            For several views a tuple of arrays, or a dict by name. Dask arrays and DataFrames are
            accepted, and data larger than memory as in `ldr.solve`, which are read in chunks. A
            table may have further columns, which are ignored.
        header : bool
            True if the first line of a .csv or .tsv file contains the names of the columns.

        Returns
        -------
        ndarray (m, r)
            A DataFrame of pandas or polars, or a DataArray of xarray, gives an object of the same
            kind; several views give a tuple. The columns of a DataFrame have the names in
            `Result.columns`. A Dask array or DataFrame gives a lazy object with the same chunks.
        """
        X = X if flag("header", header) else without_header(X)
        if not isinstance(self.P, tuple):
            project = partial(
                project_rows,
                features=self.features,
                mean=self.mean,
                P=self.P,
                columns=self.feature_names,
                model=self.model,
            )
            return in_kind(X, project, "X", self.columns)
        X = views_of(X, len(self.P), self.view_names)
        features = self.features or (None,) * len(self.P)
        parts = zip(X, features, self.mean, self.P, self.feature_names, strict=True)
        return tuple(
            in_kind(
                x,
                partial(project_rows, features=f, mean=m, P=P, columns=columns),
                f"X[{i}]",
                self.columns[i],
            )
            for i, (x, f, m, P, columns) in enumerate(parts)
        )

    def predict(self, X: Rows, *, view: int = 0) -> Rows:
        """Predict the response, the class or the second view of new samples.

        - Regressions predict the response in its own units, mean_y + (x - mean) B. least-squares,
          ridge-regression and lasso use all coefficients B, whatever r;
          principal-components-regression and pls-regression use their r components.
        - Methods of labels predict the most probable class. Classes are assumed Gaussian in the
          projection, with their own means, the common covariance S_W/n, and class shares as priors.
        - Methods of two views predict the second view by its least-squares regression on the
          components of the first view in the training samples. In reduced-rank-regression the map
          of the second view contains the coefficients of this regression.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame or path of a file (m, d)
        view : int
            For two views, index of the view given as X: 1 predicts the first view from the second.

        Returns
        -------
        ndarray (m,) or (m, q)

        Raises
        ------
        ldr.errors.ArgumentError
            The method does not predict, or does not predict from this view.
        """
        return predicted(self, X, view, "predict")

    def predict_proba(self, X: Rows) -> Array:
        """Return the probability of each class, (m, c), in order of ``predictors[0].classes``."""
        return np.asarray(predicted(self, X, 0, "probabilities"))

    @in_words
    def rotate(self, method: str) -> Result:
        """Rotate a solution so that every column of M has few large entries.

        The rotation T applies to loadings M of components y, where x = mean + My. A rotation T
        replaces the loadings M by M T^{-T} and the components y by T'y. The `model` of fa and ppca
        is rotated as well. Two views have one common rotation T, computed from the M of both views.

        Parameters
        ----------
        method : {"varimax", "quartimax", "promax", "oblimin"}
            varimax and quartimax are orthogonal and keep the value. promax and oblimin are oblique:
            components become correlated (`correlations`), and M is no longer orthonormal.

        Returns
        -------
        Result
            The rotated result. The columns of M are in descending order of their components'
            variances, or for ppca and fa of their own sums of squares.

        Raises
        ------
        ldr.errors.ArgumentError
            A rotation of the columns of M would change the value, or the method is unknown.
        """
        return rotated(self, method)

    def sensitivity(
        self, X: Rows, y: PerRow = None, *, sample_weight: PerRow = None, groups: PerRow = None
    ) -> Sensitivity:
        """Return the optimum as a differentiable function of the data.

        Parameters
        ----------
        X, y, sample_weight, groups
            The data that the result was solved for.

        Returns
        -------
        Sensitivity
            The method `along` returns the derivative of M, P, the subspace, the value and the
            statistics of the components, along a direction of the data, weights or parameters.

        Raises
        ------
        ldr.errors.SingularError
            The optimum is not isolated: eigenvalues tie at the boundary of the subspace. Or M is
            not stationary, because the solver stopped early or the objective is not smooth.
        ldr.errors.ArgumentError
            The result has a non-smooth penalty, a feature map or standardised columns.
        ldr.errors.DataError
            The data differ from those that the result was solved for.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> X, y = load_wine(return_X_y=True)
        >>> import ldr
        >>> result = ldr.solve("orthogonal-lda", X / X.std(axis=0), r=2, y=y, ridge=0.1)
        >>> derivative = result.sensitivity(X / X.std(axis=0), y).along(ridge=1.0)
        >>> derivative.value < 0  # a larger ridge on S_W makes the ratio smaller
        True
        >>> derivative.projector.shape
        (13, 13)
        """
        from ldr.sensitivity.sensitivity import sensitivity

        return sensitivity(self, X, y, sample_weight, groups)

    def plot_projection(self, X: Rows, y: PerRow = None, *, ax: Axes | None = None) -> Figure:
        """Plot the projected samples, coloured by y; see `ldr.plots.projection`."""
        from ldr.plots import projection

        return projection(self, X, y, ax=ax)

    def plot_convergence(self, *, ax: Panels = None) -> Figure:
        """Plot value and gradient norm against iterations; see `ldr.plots.convergence`."""
        from ldr.plots import convergence

        return convergence(self, ax=ax)

    def save(self, path: str | Path) -> None:
        """Save the result to an .npz file for `ldr.load`, atomically and without pickle.

        Parameters
        ----------
        path : str or pathlib.Path

        Raises
        ------
        ldr.errors.ArgumentError
            The ending is not .npz, or the objective is your own, whose code is not saved.
        OSError
            The file cannot be written.
        """
        from ldr.models import write_model

        write_model(path, self)

    def write_report(
        self, path: str | Path, X: Rows, y: PerRow = None, **options: Argument
    ) -> None:
        """Write an HTML report with all numbers and plots; see `ldr.report.write_report`."""
        from ldr.report import write_report

        write_report(path, self, X, y, **options)

    def summary(self) -> dict[str, Any]:
        """Return a summary of the result for JSON, without matrices and history.

        An infinite optimality gap becomes None in the summary.

        Examples
        --------
        >>> import numpy as np, ldr
        >>> X = np.random.default_rng(0).standard_normal((100, 5))
        >>> ldr.solve("pca", X, r=2).summary()["certificate"]["kind"]
        'global'
        """
        known = self.certificate
        found = {
            "objective": self.objective.name,
            "parameters": repr(self.objective),
            "formula": self.objective.formula,
            "source": self.objective.source,
            "sense": self.objective.sense,
            "columns": [len(M) for M in as_tuple(self.M)],
            "r": self.r,
            "value": self.value,
            "baseline": self.baseline,
            "heuristic": self.objective.baseline,
            "improvement": self.improvement,
            "certificate": None if known is None else vars(known),
            "converged": self.converged,
            "status": self.status.name.lower(),
            "message": self.message,
            "solver": self.solver,
            "iterations": self.iterations,
            "evaluations": self.evaluations,
            "gradient_norm": self.gradient_norm,
            "seconds": self.seconds,
            "fitted": self.parameters,
            "components": self.directions.columns(),
            "starts": None
            if self.starts is None
            else dict(zip(self.starts.names, self.starts.values, strict=True)),
            "merged_starts": self.starts.merged if self.starts else [],
            "notes": self.notes,
        }
        return dict(plain(found))

    def __repr__(self) -> str:
        shapes = " x ".join(str(len(M)) for M in as_tuple(self.M))
        lines = [
            f"{self.objective!r}: {shapes} -> {self.r} dimensions",
            f"  value        {self.value:.12g}   ({self.objective.formula})",
        ]
        return "\n".join([*lines, *(f"  {name:<12} {text}" for name, text in self._figures())])

    def _figures(self) -> Iterator[tuple[str, str]]:
        """Yield further numbers of the result as text, each with its name."""
        if self.baseline is not None:
            yield "baseline", f"{self.baseline:.12g}   ({self.objective.baseline})"
        if self.improvement is not None:
            yield "improvement", f"{self.improvement:+.3g}"
        if self.certificate is not None:
            yield "certificate", str(self.certificate)
        steps = f"{self.solver}, {self.iterations} iterations, {self.seconds:.3g} s"
        yield (
            "solver",
            f"{steps}; {'converged' if self.converged else 'NOT CONVERGED'}: {self.message}",
        )
        if self.starts is not None:
            yield "starts", str(self.starts)
        if brief := self.directions.brief():
            yield "components", brief
        yield from ((name, shown(value)) for name, value in self.parameters.items())
        yield from (("note", note) for note in self.notes)


def check_result(result: object) -> None:
    """Refuse any object but a `Result`."""
    if not isinstance(result, Result):
        raise ArgumentError(f"result must be a Result of ldr.solve, got {type(result).__name__}")
