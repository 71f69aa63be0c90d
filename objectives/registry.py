"""The registry: every built-in objective by its name."""

from __future__ import annotations

from difflib import get_close_matches

from ldr.objectives.autocovariance import Autocovariance
from ldr.objectives.cca import CCA
from ldr.objectives.classical_cca import ClassicalCCA
from ldr.objectives.classical_lda import ClassicalLDA
from ldr.objectives.classical_maf import ClassicalMAF
from ldr.objectives.contrastive_pca import ContrastivePCA
from ldr.objectives.dynamics import Dynamics
from ldr.objectives.factor_analysis import FactorAnalysis
from ldr.objectives.hsic import HSIC
from ldr.objectives.ica import ICA
from ldr.objectives.lasso import Lasso
from ldr.objectives.lda import LDA
from ldr.objectives.least_squares import LeastSquares
from ldr.objectives.lmnn import LMNN
from ldr.objectives.log_det_pca import LogDetPCA
from ldr.objectives.lpp import LPP
from ldr.objectives.maf import MAF
from ldr.objectives.mds import MDS, DistanceMDS
from ldr.objectives.mds_stress import MDSStress
from ldr.objectives.nca import NCA
from ldr.objectives.npe import NPE
from ldr.objectives.objective import Objective
from ldr.objectives.olpp import OLPP
from ldr.objectives.onpp import ONPP
from ldr.objectives.opca import OPCA
from ldr.objectives.orthogonal_lpp import OrthogonalLPP
from ldr.objectives.orthogonal_npe import OrthogonalNPE
from ldr.objectives.orthogonal_sfa import OrthogonalSFA
from ldr.objectives.pca import PCA
from ldr.objectives.pls import PLS
from ldr.objectives.ppca import PPCA
from ldr.objectives.principal_components_regression import PrincipalComponentsRegression
from ldr.objectives.reduced_rank_regression import ReducedRankRegression
from ldr.objectives.ridge_regression import RidgeRegression
from ldr.objectives.robust_pca import RobustPCA
from ldr.objectives.save import SAVE
from ldr.objectives.sdr import SDR
from ldr.objectives.semi_supervised_da import SemiSupervisedDA
from ldr.objectives.sfa import SFA
from ldr.objectives.signal_noise import SignalNoise
from ldr.objectives.sir import SIR
from ldr.objectives.sparse_pca import SparsePCA
from ldr.objectives.squared_difference import SquaredDifference
from ldr.objectives.uica import UndercompleteICA
from ldr.solvers.errors import ArgumentError

REGISTRY: dict[str, type[Objective]] = {
    cls.name: cls
    for cls in (
        PCA,
        MDS,
        DistanceMDS,
        Autocovariance,
        SFA,
        SquaredDifference,
        OLPP,
        ONPP,
        SignalNoise,
        ContrastivePCA,
        PLS,
        ClassicalLDA,
        ClassicalCCA,
        LPP,
        NPE,
        ClassicalMAF,
        SIR,
        SAVE,
        OPCA,
        SemiSupervisedDA,
        LDA,
        MAF,
        OrthogonalLPP,
        OrthogonalNPE,
        OrthogonalSFA,
        CCA,
        ReducedRankRegression,
        LeastSquares,
        RidgeRegression,
        Lasso,
        PrincipalComponentsRegression,
        PPCA,
        FactorAnalysis,
        SDR,
        HSIC,
        Dynamics,
        UndercompleteICA,
        ICA,
        SparsePCA,
        MDSStress,
        LMNN,
        NCA,
        RobustPCA,
        LogDetPCA,
    )
}


def nearest_names(name: str, known: list[str]) -> str:
    """A phrase that offers the names like `name`, or all of them."""
    close = get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(repr(c) for c in close)}?"
    return f"known are {', '.join(known)}"


def named(name: str, **parameters: object) -> Objective:
    """The objective of that name with those parameters.

    Raises
    ------
    ArgumentError
        An unknown name (with the nearest ones) or parameter (with those there are).
    """
    cls = REGISTRY.get(name.lower())
    if cls is None:
        raise ArgumentError(f"unknown objective {name!r}: {nearest_names(name, sorted(REGISTRY))}")
    known = list(getattr(cls, "__dataclass_fields__", {}))
    for parameter in parameters:
        if parameter not in known:
            listed = ", ".join(known) if known else "none"
            raise ArgumentError(
                f"objective {name!r} has no parameter {parameter!r}; it has: {listed}"
            )
    return cls(**parameters)
