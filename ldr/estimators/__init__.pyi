# Written by python -m ldr.estimators.stub; not by hand.
from typing import Any, Self

from ldr.solvers.solver import Solver

from .background import WithBackground
from .base import Projection as Projection
from .named import Named
from .predicting import Classifies, Regresses
from .reducer import Reducer as Reducer
from .two_views import TwoViews

ESTIMATORS: dict[str, type[Named]]

class PCA(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class LogDetPCA(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class RobustPCA(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        loss: str = "l1",
        epsilon: float = 0.001,
        threshold: float | None = None,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class SparsePCA(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        penalty: float = 1.0,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class ExponentialFamilyPCA(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        family: str = "bernoulli",
        saturation: float = 4.0,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class PPCA(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class FactorAnalysis(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        least_noise: float = 1e-06,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class MDS(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class DistanceMDS(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class MDSStress(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        weights: str = "none",
        epsilon: float = 0.001,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class OrthogonalLDA(Classifies, Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        nested: Any = False,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...

class ClassicalLDA(Classifies, Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...

class SemiSupervisedDA(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        graph: Any = "neighbours",
        neighbours: int = 10,
        heat: float | str | None = None,
        epsilon: float | None = None,
        shrinkage: str | None = None,
        mu: float = 0.1,
        unlabelled: Any = -1,
        ridge: float = 0.0,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...

class SparseLDA(Classifies, Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        penalty: float = 0.3,
        ridge: float = 0.0,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...

class SparseCCA(Named, TwoViews):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        penalty: float = 0.01,
        ridge: float = 0.0,
        views: Any = None,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class LMNN(Classifies, Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        neighbours: int = 3,
        penalty: float = 1.0,
        hinge: str = "squared",
        width: float = 0.1,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...

class NCA(Classifies, Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...

class WDA(Classifies, Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        reg: float = 1.0,
        iterations: int = 10,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...

class OrthogonalCCA(Named, TwoViews):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        orthonormalise: str = "polar",
        views: Any = None,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class ClassicalCCA(Named, TwoViews):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        views: Any = None,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class PLS(Named, TwoViews):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        views: Any = None,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class MCCA(Named, TwoViews):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        views: Any = None,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class MaxDiff(Named, TwoViews):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        views: Any = None,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class MaxBet(Named, TwoViews):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        views: Any = None,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class OrthogonalMCCA(Named, TwoViews):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        views: Any = None,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class ReducedRankRegression(Named, TwoViews):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        heuristic: str = "pcr",
        views: Any = None,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class LeastSquares(Regresses, Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...

class RidgeRegression(Regresses, Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        penalty: float = 1.0,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...

class Lasso(Regresses, Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        penalty: float = 1.0,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...

class PrincipalComponentsRegression(Regresses, Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...

class PLSRegression(Regresses, Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        algorithm: str = "simpls",
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...

class MAF(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        lag: int = 1,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        nested: Any = False,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, groups: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, groups: Any = None) -> float: ...

class ClassicalMAF(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        lag: int = 1,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, groups: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, groups: Any = None) -> float: ...

class Autocovariance(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        lag: int = 1,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, groups: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, groups: Any = None) -> float: ...

class SquaredDifference(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        lag: int = 1,
        extreme: str = "min",
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, groups: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, groups: Any = None) -> float: ...

class SFA(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        whiten: bool = False,
        degree: int = 1,
        derivatives: Any = None,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, groups: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, groups: Any = None) -> float: ...

class OrthogonalSFA(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        shrinkage: str | None = None,
        nested: Any = False,
        ridge: float = 0.0,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, groups: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, groups: Any = None) -> float: ...

class TICA(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        lag: int = 1,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, groups: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, groups: Any = None) -> float: ...

class VAMP(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        lag: int = 1,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        power: int = 2,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, groups: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, groups: Any = None) -> float: ...

class Dynamics(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        skew: bool = False,
        derivatives: Any = None,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, groups: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, groups: Any = None) -> float: ...

class DCA(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        window: int = 1,
        ridge: float = 0.0,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, groups: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, groups: Any = None) -> float: ...

class ForeCA(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        segment: int | None = None,
        ridge: float = 0.0,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, groups: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, groups: Any = None) -> float: ...

class CSP(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        ridge: float = 0.0,
        average: str = "rows",
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, groups: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, groups: Any = None) -> float: ...

class SPoC(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        ridge: float = 0.0,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, groups: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, groups: Any = None) -> float: ...

class Xdawn(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        target: Any = None,
        ridge: float = 0.0,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, groups: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, groups: Any = None) -> float: ...

class SSD(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        signal: tuple[float, ...] = ...,
        noise: tuple[float, ...] = ...,
        rate: float = 1.0,
        ridge: float = 0.0,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, groups: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, groups: Any = None) -> float: ...

class LPP(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        graph: Any = "neighbours",
        neighbours: int = 10,
        heat: float | str | None = None,
        epsilon: float | None = None,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        centre: str = "mean",
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...

class OLPP(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        graph: Any = "neighbours",
        neighbours: int = 10,
        heat: float | str | None = None,
        epsilon: float | None = None,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...

class OrthogonalLPP(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        graph: Any = "neighbours",
        neighbours: int = 10,
        heat: float | str | None = None,
        epsilon: float | None = None,
        shrinkage: str | None = None,
        nested: Any = False,
        ridge: float = 0.0,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...

class NPE(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        graph: Any = "neighbours",
        neighbours: int = 10,
        regularisation: float = 0.001,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...

class ONPP(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        graph: Any = "neighbours",
        neighbours: int = 10,
        regularisation: float = 0.001,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...

class OrthogonalNPE(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        graph: Any = "neighbours",
        neighbours: int = 10,
        regularisation: float = 0.001,
        shrinkage: str | None = None,
        nested: Any = False,
        ridge: float = 0.0,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...

class SignalNoise(Named, WithBackground):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        alpha: float = 1.0,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(
        self, X: Any, y: Any = None, *, background: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        classes: Any = None,
        background: Any = None,
        sample_weight: Any = None,
    ) -> Self: ...
    def score(
        self, X: Any, y: Any = None, *, background: Any = None, sample_weight: Any = None
    ) -> float: ...

class ContrastivePCA(Named, WithBackground):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        alpha: float = 1.0,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(
        self, X: Any, y: Any = None, *, background: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        classes: Any = None,
        background: Any = None,
        sample_weight: Any = None,
    ) -> Self: ...
    def score(
        self, X: Any, y: Any = None, *, background: Any = None, sample_weight: Any = None
    ) -> float: ...

class OPCA(Named, WithBackground):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(
        self, X: Any, y: Any = None, *, background: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        classes: Any = None,
        background: Any = None,
        sample_weight: Any = None,
    ) -> Self: ...
    def score(
        self, X: Any, y: Any = None, *, background: Any = None, sample_weight: Any = None
    ) -> float: ...

class GCPCA(Named, WithBackground):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        ridge: float = 0.0,
        nested: Any = False,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(
        self, X: Any, y: Any = None, *, background: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        classes: Any = None,
        background: Any = None,
        sample_weight: Any = None,
    ) -> Self: ...
    def score(
        self, X: Any, y: Any = None, *, background: Any = None, sample_weight: Any = None
    ) -> float: ...

class ClassicalGCPCA(Named, WithBackground):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        ridge: float = 0.0,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(
        self, X: Any, y: Any = None, *, background: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        classes: Any = None,
        background: Any = None,
        sample_weight: Any = None,
    ) -> Self: ...
    def score(
        self, X: Any, y: Any = None, *, background: Any = None, sample_weight: Any = None
    ) -> float: ...

class ICA(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        contrast: str = "log cosh",
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class UndercompleteICA(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        expert: str = "log cosh",
        degrees: float = 3.0,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class SIR(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        slices: int = 10,
        ridge: float = 0.0,
        shrinkage: str | None = None,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class SAVE(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        slices: int = 10,
        ridge: float = 0.0,
        shrinkage: str | None = None,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class DirectionalRegression(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        slices: int = 10,
        ridge: float = 0.0,
        shrinkage: str | None = None,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class PrincipalHessianDirections(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        shrinkage: str | None = None,
        ridge: float = 0.0,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class KernelSDR(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        epsilon: float = 0.001,
        width: float | None = None,
        response_width: float | None = None,
        slices: int = 10,
        response: str = "auto",
        landmarks: int | str | None = "auto",
        annealing: tuple[float, ...] = ...,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class DemixedPCA(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        of: tuple[tuple[int, ...], ...] = ...,
        ridge: float = 0.0,
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class GKDR(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        epsilon: float = 0.001,
        width: float | None = None,
        response_width: float | None = None,
        response: str = "auto",
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...

class HSIC(Named):
    def __init__(
        self,
        n_components: int | float | str = 2,
        *,
        width: float | None = None,
        response_width: float | None = None,
        response: str = "auto",
        landmarks: int | str | None = "auto",
        standardise: bool = False,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int | None = None,
        workers: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        certify: bool | str = True,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
        rotation: str | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self: ...
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float: ...
