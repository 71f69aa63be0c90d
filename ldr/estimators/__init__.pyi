# Written by python -m ldr.estimators.stub; not by hand.
from typing import Any, Self, Unpack

from ldr.objectives.data.cells import Matrix
from ldr.types import Dimension, Labels, PerRow, Rows

from .background import WithBackground
from .base import Projection as Projection
from .named import Named
from .predicting import Classifies, Latent, Regresses
from .reducer import Reducer as Reducer
from .signatures import Options
from .two_views import TwoViews, Views

ESTIMATORS: dict[str, type[Named]]

class _Weighted(Named):
    def fit(self, X: Rows, y: PerRow = None, *, sample_weight: PerRow = None) -> Self: ...
    def partial_fit(
        self, X: Rows, y: PerRow = None, *, classes: Labels = None, sample_weight: PerRow = None
    ) -> Self: ...
    def score(self, X: Rows, y: PerRow = None, *, sample_weight: PerRow = None) -> float: ...

class _ClassifiesWeighted(Classifies, Named):
    def fit(self, X: Rows, y: PerRow = None, *, sample_weight: PerRow = None) -> Self: ...
    def partial_fit(
        self, X: Rows, y: PerRow = None, *, classes: Labels = None, sample_weight: PerRow = None
    ) -> Self: ...

class _TwoViewsWeighted(Named, TwoViews):
    def fit(self, X: Rows, y: PerRow = None, *, sample_weight: PerRow = None) -> Self: ...
    def partial_fit(
        self, X: Rows, y: PerRow = None, *, classes: Labels = None, sample_weight: PerRow = None
    ) -> Self: ...
    def score(self, X: Rows, y: PerRow = None, *, sample_weight: PerRow = None) -> float: ...

class _RegressesWeighted(Regresses, Named):
    def fit(self, X: Rows, y: PerRow = None, *, sample_weight: PerRow = None) -> Self: ...
    def partial_fit(
        self, X: Rows, y: PerRow = None, *, classes: Labels = None, sample_weight: PerRow = None
    ) -> Self: ...

class _LatentWeighted(Latent, Named):
    def fit(self, X: Rows, y: PerRow = None, *, sample_weight: PerRow = None) -> Self: ...
    def partial_fit(
        self, X: Rows, y: PerRow = None, *, classes: Labels = None, sample_weight: PerRow = None
    ) -> Self: ...

class _InTrials(Named):
    def fit(self, X: Rows, y: PerRow = None, *, groups: PerRow = None) -> Self: ...
    def partial_fit(
        self, X: Rows, y: PerRow = None, *, classes: Labels = None, groups: PerRow = None
    ) -> Self: ...
    def score(self, X: Rows, y: PerRow = None, *, groups: PerRow = None) -> float: ...

class _WithBackgroundWeighted(Named, WithBackground):
    def fit(
        self, X: Rows, y: PerRow = None, *, background: Rows = None, sample_weight: PerRow = None
    ) -> Self: ...
    def partial_fit(
        self,
        X: Rows,
        y: PerRow = None,
        *,
        classes: Labels = None,
        background: Rows = None,
        sample_weight: PerRow = None,
    ) -> Self: ...
    def score(
        self, X: Rows, y: PerRow = None, *, background: Rows = None, sample_weight: PerRow = None
    ) -> float: ...

class PCA(_Weighted):
    def __init__(self, n_components: Dimension = 2, **options: Unpack[Options]) -> None: ...

class LogDetPCA(_Weighted):
    def __init__(self, n_components: Dimension = 2, **options: Unpack[Options]) -> None: ...

class RobustPCA(_Weighted):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        loss: str = "l1",
        epsilon: float = 0.001,
        threshold: float | None = None,
        **options: Unpack[Options],
    ) -> None: ...

class SparsePCA(_Weighted):
    def __init__(
        self, n_components: Dimension = 2, *, penalty: float = 1.0, **options: Unpack[Options]
    ) -> None: ...

class ExponentialFamilyPCA(_Weighted):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        family: str = "bernoulli",
        saturation: float = 4.0,
        **options: Unpack[Options],
    ) -> None: ...

class PPCA(_Weighted):
    def __init__(self, n_components: Dimension = 2, **options: Unpack[Options]) -> None: ...

class FactorAnalysis(_Weighted):
    def __init__(
        self, n_components: Dimension = 2, *, least_noise: float = 1e-06, **options: Unpack[Options]
    ) -> None: ...

class MDS(_Weighted):
    def __init__(self, n_components: Dimension = 2, **options: Unpack[Options]) -> None: ...

class DistanceMDS(_Weighted):
    def __init__(self, n_components: Dimension = 2, **options: Unpack[Options]) -> None: ...

class MDSStress(_Weighted):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        weights: str = "none",
        epsilon: float = 0.001,
        **options: Unpack[Options],
    ) -> None: ...

class OrthogonalLDA(_ClassifiesWeighted):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        nested: Any = False,
        **options: Unpack[Options],
    ) -> None: ...

class ClassicalLDA(_ClassifiesWeighted):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        **options: Unpack[Options],
    ) -> None: ...

class SemiSupervisedDA(Named):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        graph: str | Matrix = "neighbours",
        neighbours: int = 10,
        heat: float | str | None = None,
        epsilon: float | None = None,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        mu: float = 0.1,
        unlabelled: Any = -1,
        **options: Unpack[Options],
    ) -> None: ...

class SparseLDA(_ClassifiesWeighted):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        penalty: float = 0.3,
        ridge: float = 0.0,
        **options: Unpack[Options],
    ) -> None: ...

class SparseCCA(_TwoViewsWeighted):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        penalty: float = 0.01,
        ridge: float = 0.0,
        views: Views | None = None,
        **options: Unpack[Options],
    ) -> None: ...

class LMNN(Classifies, Named):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        neighbours: int = 3,
        penalty: float = 1.0,
        hinge: str = "squared",
        width: float = 0.1,
        **options: Unpack[Options],
    ) -> None: ...

class NCA(Classifies, Named):
    def __init__(self, n_components: Dimension = 2, **options: Unpack[Options]) -> None: ...

class WDA(_ClassifiesWeighted):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        reg: float = 1.0,
        iterations: int = 10,
        **options: Unpack[Options],
    ) -> None: ...

class OrthogonalCCA(_TwoViewsWeighted):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        orthonormalise: str = "polar",
        views: Views | None = None,
        **options: Unpack[Options],
    ) -> None: ...

class ClassicalCCA(_TwoViewsWeighted):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        views: Views | None = None,
        **options: Unpack[Options],
    ) -> None: ...

class PLS(_TwoViewsWeighted):
    def __init__(
        self, n_components: Dimension = 2, *, views: Views | None = None, **options: Unpack[Options]
    ) -> None: ...

class MCCA(_TwoViewsWeighted):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        views: Views | None = None,
        **options: Unpack[Options],
    ) -> None: ...

class MaxDiff(_TwoViewsWeighted):
    def __init__(
        self, n_components: Dimension = 2, *, views: Views | None = None, **options: Unpack[Options]
    ) -> None: ...

class MaxBet(_TwoViewsWeighted):
    def __init__(
        self, n_components: Dimension = 2, *, views: Views | None = None, **options: Unpack[Options]
    ) -> None: ...

class OrthogonalMCCA(_TwoViewsWeighted):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        views: Views | None = None,
        **options: Unpack[Options],
    ) -> None: ...

class ReducedRankRegression(_TwoViewsWeighted):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        heuristic: str = "pcr",
        views: Views | None = None,
        **options: Unpack[Options],
    ) -> None: ...

class LeastSquares(_RegressesWeighted):
    def __init__(self, n_components: Dimension = 2, **options: Unpack[Options]) -> None: ...

class RidgeRegression(_RegressesWeighted):
    def __init__(
        self, n_components: Dimension = 2, *, penalty: float = 1.0, **options: Unpack[Options]
    ) -> None: ...

class Lasso(_RegressesWeighted):
    def __init__(
        self, n_components: Dimension = 2, *, penalty: float = 1.0, **options: Unpack[Options]
    ) -> None: ...

class PrincipalComponentsRegression(_RegressesWeighted):
    def __init__(self, n_components: Dimension = 2, **options: Unpack[Options]) -> None: ...

class PLSRegression(_LatentWeighted):
    def __init__(
        self, n_components: Dimension = 2, *, algorithm: str = "simpls", **options: Unpack[Options]
    ) -> None: ...

class MAF(_InTrials):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        lag: int = 1,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        nested: Any = False,
        **options: Unpack[Options],
    ) -> None: ...

class ClassicalMAF(_InTrials):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        lag: int = 1,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        **options: Unpack[Options],
    ) -> None: ...

class Autocovariance(_InTrials):
    def __init__(
        self, n_components: Dimension = 2, *, lag: int = 1, **options: Unpack[Options]
    ) -> None: ...

class SquaredDifference(_InTrials):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        lag: int = 1,
        extreme: str = "min",
        **options: Unpack[Options],
    ) -> None: ...

class SFA(_InTrials):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        whiten: bool = False,
        degree: int = 1,
        derivatives: Any = None,
        **options: Unpack[Options],
    ) -> None: ...

class OrthogonalSFA(_InTrials):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        nested: Any = False,
        **options: Unpack[Options],
    ) -> None: ...

class TICA(_InTrials):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        lag: int = 1,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        **options: Unpack[Options],
    ) -> None: ...

class VAMP(_InTrials):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        lag: int = 1,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        power: int = 2,
        **options: Unpack[Options],
    ) -> None: ...

class Dynamics(_InTrials):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        skew: bool = False,
        derivatives: Any = None,
        **options: Unpack[Options],
    ) -> None: ...

class DCA(_InTrials):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        window: int = 1,
        ridge: float = 0.0,
        **options: Unpack[Options],
    ) -> None: ...

class ForeCA(_InTrials):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        segment: int | None = None,
        ridge: float = 0.0,
        **options: Unpack[Options],
    ) -> None: ...

class CSP(_InTrials):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        ridge: float = 0.0,
        average: str = "rows",
        **options: Unpack[Options],
    ) -> None: ...

class SPoC(_InTrials):
    def __init__(
        self, n_components: Dimension = 2, *, ridge: float = 0.0, **options: Unpack[Options]
    ) -> None: ...

class Xdawn(_InTrials):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        target: Any = None,
        ridge: float = 0.0,
        **options: Unpack[Options],
    ) -> None: ...

class SSD(_InTrials):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        signal: tuple[float, ...] = ...,
        noise: tuple[float, ...] = ...,
        rate: float = 1.0,
        ridge: float = 0.0,
        **options: Unpack[Options],
    ) -> None: ...

class LPP(Named):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        graph: str | Matrix = "neighbours",
        neighbours: int = 10,
        heat: float | str | None = None,
        epsilon: float | None = None,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        centre: str = "mean",
        **options: Unpack[Options],
    ) -> None: ...

class OLPP(Named):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        graph: str | Matrix = "neighbours",
        neighbours: int = 10,
        heat: float | str | None = None,
        epsilon: float | None = None,
        **options: Unpack[Options],
    ) -> None: ...

class OrthogonalLPP(Named):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        graph: str | Matrix = "neighbours",
        neighbours: int = 10,
        heat: float | str | None = None,
        epsilon: float | None = None,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        nested: Any = False,
        **options: Unpack[Options],
    ) -> None: ...

class NPE(Named):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        graph: str | Matrix = "neighbours",
        neighbours: int = 10,
        regularisation: float = 0.001,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        **options: Unpack[Options],
    ) -> None: ...

class ONPP(Named):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        graph: str | Matrix = "neighbours",
        neighbours: int = 10,
        regularisation: float = 0.001,
        **options: Unpack[Options],
    ) -> None: ...

class OrthogonalNPE(Named):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        graph: str | Matrix = "neighbours",
        neighbours: int = 10,
        regularisation: float = 0.001,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        nested: Any = False,
        **options: Unpack[Options],
    ) -> None: ...

class SignalNoise(_WithBackgroundWeighted):
    def __init__(
        self, n_components: Dimension = 2, *, alpha: float = 1.0, **options: Unpack[Options]
    ) -> None: ...

class ContrastivePCA(_WithBackgroundWeighted):
    def __init__(
        self, n_components: Dimension = 2, *, alpha: float = 1.0, **options: Unpack[Options]
    ) -> None: ...

class OPCA(_WithBackgroundWeighted):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        **options: Unpack[Options],
    ) -> None: ...

class GCPCA(_WithBackgroundWeighted):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        ridge: float = 0.0,
        nested: Any = False,
        **options: Unpack[Options],
    ) -> None: ...

class ClassicalGCPCA(_WithBackgroundWeighted):
    def __init__(
        self, n_components: Dimension = 2, *, ridge: float = 0.0, **options: Unpack[Options]
    ) -> None: ...

class ICA(_Weighted):
    def __init__(
        self, n_components: Dimension = 2, *, contrast: str = "log cosh", **options: Unpack[Options]
    ) -> None: ...

class UndercompleteICA(_Weighted):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        expert: str = "log cosh",
        degrees: float = 3.0,
        **options: Unpack[Options],
    ) -> None: ...

class SIR(_Weighted):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        slices: int = 10,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        **options: Unpack[Options],
    ) -> None: ...

class SAVE(_Weighted):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        slices: int = 10,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        **options: Unpack[Options],
    ) -> None: ...

class DirectionalRegression(_Weighted):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        slices: int = 10,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        **options: Unpack[Options],
    ) -> None: ...

class PrincipalHessianDirections(_Weighted):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        **options: Unpack[Options],
    ) -> None: ...

class KernelSDR(_Weighted):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        epsilon: float = 0.001,
        width: float | None = None,
        response_width: float | None = None,
        slices: int = 10,
        response: str = "auto",
        landmarks: int | str | None = "auto",
        annealing: tuple[float, ...] = ...,
        **options: Unpack[Options],
    ) -> None: ...

class DemixedPCA(_Weighted):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        of: tuple[tuple[int, ...], ...] = ...,
        ridge: float = 0.0,
        **options: Unpack[Options],
    ) -> None: ...

class GKDR(_Weighted):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        epsilon: float = 0.001,
        width: float | None = None,
        response_width: float | None = None,
        response: str = "auto",
        **options: Unpack[Options],
    ) -> None: ...

class HSIC(_Weighted):
    def __init__(
        self,
        n_components: Dimension = 2,
        *,
        width: float | None = None,
        response_width: float | None = None,
        response: str = "auto",
        landmarks: int | str | None = "auto",
        **options: Unpack[Options],
    ) -> None: ...
