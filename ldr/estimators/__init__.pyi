# Written by python -m ldr.estimators.stub; not by hand.
from typing import Any

from ldr.solvers.solver import Solver

from .base import Projection as Projection
from .base import TwoViews, WithBackground
from .reducer import Reducer as Reducer

ESTIMATORS: dict[str, type[Projection]]

class PCA(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class MDS(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class DistanceMDS(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class Autocovariance(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        lag: int = 1,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class SFA(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        whiten: bool = False,
        degree: int = 1,
        derivatives: Any = None,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class SquaredDifference(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        lag: int = 1,
        extreme: str = "min",
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class OLPP(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        graph: Any = "neighbours",
        neighbours: int = 10,
        heat: float | str | None = None,
        epsilon: float | None = None,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class ONPP(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        graph: Any = "neighbours",
        neighbours: int = 10,
        regularisation: float = 0.001,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class SignalNoise(WithBackground):
    def __init__(
        self,
        n_components: int = 2,
        *,
        alpha: float = 1.0,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class ContrastivePCA(WithBackground):
    def __init__(
        self,
        n_components: int = 2,
        *,
        alpha: float = 1.0,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class PLS(TwoViews):
    def __init__(
        self,
        n_components: int = 2,
        *,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class ClassicalLDA(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        ridge: float = 0.0,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class ClassicalCCA(TwoViews):
    def __init__(
        self,
        n_components: int = 2,
        *,
        ridge: float = 0.0,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class LPP(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        graph: Any = "neighbours",
        neighbours: int = 10,
        heat: float | str | None = None,
        epsilon: float | None = None,
        ridge: float = 0.0,
        centre: str = "mean",
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class NPE(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        graph: Any = "neighbours",
        neighbours: int = 10,
        regularisation: float = 0.001,
        ridge: float = 0.0,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class ClassicalMAF(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        lag: int = 1,
        ridge: float = 0.0,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class SIR(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        slices: int = 10,
        ridge: float = 0.0,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class SAVE(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        slices: int = 10,
        ridge: float = 0.0,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class OPCA(WithBackground):
    def __init__(
        self,
        n_components: int = 2,
        *,
        ridge: float = 0.0,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class SemiSupervisedDA(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        graph: Any = "neighbours",
        neighbours: int = 10,
        heat: float | str | None = None,
        epsilon: float | None = None,
        mu: float = 0.1,
        unlabelled: Any = -1,
        ridge: float = 0.0,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class OrthogonalLDA(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        ridge: float = 0.0,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class MAF(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        lag: int = 1,
        ridge: float = 0.0,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class OrthogonalLPP(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        graph: Any = "neighbours",
        neighbours: int = 10,
        heat: float | str | None = None,
        epsilon: float | None = None,
        ridge: float = 0.0,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class OrthogonalNPE(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        graph: Any = "neighbours",
        neighbours: int = 10,
        regularisation: float = 0.001,
        ridge: float = 0.0,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class OrthogonalSFA(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        ridge: float = 0.0,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class OrthogonalCCA(TwoViews):
    def __init__(
        self,
        n_components: int = 2,
        *,
        orthonormalise: str = "polar",
        ridge: float = 0.0,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class ReducedRankRegression(TwoViews):
    def __init__(
        self,
        n_components: int = 2,
        *,
        heuristic: str = "pcr",
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class LeastSquares(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class RidgeRegression(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        penalty: float = 1.0,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class Lasso(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        penalty: float = 1.0,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class PrincipalComponentsRegression(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class PPCA(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...

class KernelSDR(Projection):
    def __init__(
        self,
        n_components: int = 2,
        *,
        epsilon: float = 0.001,
        width: float | None = None,
        response_width: float | None = None,
        slices: int = 10,
        solver: str | Solver = "auto",
        start: Any = "baseline",
        starts: int = 1,
        tolerance: float = 1e-10,
        max_iterations: int | None = None,
        certify: bool = True,
        random_state: Any = None,
    ) -> None: ...
