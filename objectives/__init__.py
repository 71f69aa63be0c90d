"""What to optimise: objectives, each a small immutable dataclass, and their registry."""

from ldr.objectives.algebra import Sum
from ldr.objectives.autocovariance import Autocovariance
from ldr.objectives.cca import CCA
from ldr.objectives.certificate import Certificate
from ldr.objectives.classical_cca import ClassicalCCA
from ldr.objectives.classical_lda import ClassicalLDA
from ldr.objectives.classical_maf import ClassicalMAF
from ldr.objectives.contrastive_pca import ContrastivePCA
from ldr.objectives.dynamics import Dynamics
from ldr.objectives.factor_analysis import FactorAnalysis
from ldr.objectives.factor_model import FactorModel
from ldr.objectives.hsic import HSIC
from ldr.objectives.ica import ICA
from ldr.objectives.kernel import Kernel, kernel
from ldr.objectives.l1 import L1, l1
from ldr.objectives.lasso import Lasso
from ldr.objectives.lda import LDA
from ldr.objectives.least_squares import LeastSquares
from ldr.objectives.listing import list_objectives as list
from ldr.objectives.lmnn import LMNN
from ldr.objectives.log_det_pca import LogDetPCA
from ldr.objectives.lpp import LPP
from ldr.objectives.maf import MAF
from ldr.objectives.mds import MDS, DistanceMDS
from ldr.objectives.mds_stress import MDSStress
from ldr.objectives.nca import NCA
from ldr.objectives.normalised import Normalised, normalised
from ldr.objectives.npe import NPE
from ldr.objectives.objective import BoundObjective, Data, Objective
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
from ldr.objectives.registry import REGISTRY, named
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

__all__ = [
    "CCA",
    "HSIC",
    "ICA",
    "L1",
    "LDA",
    "LMNN",
    "LPP",
    "MAF",
    "MDS",
    "NCA",
    "NPE",
    "OLPP",
    "ONPP",
    "OPCA",
    "PCA",
    "PLS",
    "PPCA",
    "REGISTRY",
    "SAVE",
    "SDR",
    "SFA",
    "SIR",
    "Autocovariance",
    "BoundObjective",
    "Certificate",
    "ClassicalCCA",
    "ClassicalLDA",
    "ClassicalMAF",
    "ContrastivePCA",
    "Data",
    "DistanceMDS",
    "Dynamics",
    "FactorAnalysis",
    "FactorModel",
    "Kernel",
    "Lasso",
    "LeastSquares",
    "LogDetPCA",
    "MDSStress",
    "Normalised",
    "Objective",
    "OrthogonalLPP",
    "OrthogonalNPE",
    "OrthogonalSFA",
    "PrincipalComponentsRegression",
    "ReducedRankRegression",
    "RidgeRegression",
    "RobustPCA",
    "SemiSupervisedDA",
    "SignalNoise",
    "SparsePCA",
    "SquaredDifference",
    "Sum",
    "UndercompleteICA",
    "kernel",
    "l1",
    "list",
    "named",
    "normalised",
]
