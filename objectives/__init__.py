"""What to optimise: objectives, each a small immutable dataclass, and their registry.

Every method is imported here by one line, in the order of the listing. All else that knows the
methods reads the registry: the estimators and their stubs, the documentation, the tests.
"""

from ldr.objectives import listing, registry
from ldr.objectives.algebra import Sum as Sum
from ldr.objectives.certificate import Certificate as Certificate
from ldr.objectives.factor_model import FactorModel as FactorModel
from ldr.objectives.kernel import Kernel as Kernel
from ldr.objectives.kernel import kernel as kernel
from ldr.objectives.l1 import L1 as L1
from ldr.objectives.l1 import l1 as l1
from ldr.objectives.normalised import Normalised as Normalised
from ldr.objectives.normalised import normalised as normalised
from ldr.objectives.objective import BoundObjective as BoundObjective
from ldr.objectives.objective import Data as Data
from ldr.objectives.objective import Objective as Objective
from ldr.objectives.registry import REGISTRY as REGISTRY
from ldr.objectives.registry import named as named

# The methods.
# isort: off
from ldr.objectives.pca import PCA as PCA
from ldr.objectives.mds import MDS as MDS, DistanceMDS as DistanceMDS
from ldr.objectives.autocovariance import Autocovariance as Autocovariance
from ldr.objectives.sfa import SFA as SFA
from ldr.objectives.squared_difference import SquaredDifference as SquaredDifference
from ldr.objectives.olpp import OLPP as OLPP
from ldr.objectives.onpp import ONPP as ONPP
from ldr.objectives.signal_noise import SignalNoise as SignalNoise
from ldr.objectives.contrastive_pca import ContrastivePCA as ContrastivePCA
from ldr.objectives.pls import PLS as PLS
from ldr.objectives.classical_lda import ClassicalLDA as ClassicalLDA
from ldr.objectives.classical_cca import ClassicalCCA as ClassicalCCA
from ldr.objectives.lpp import LPP as LPP
from ldr.objectives.npe import NPE as NPE
from ldr.objectives.classical_maf import ClassicalMAF as ClassicalMAF
from ldr.objectives.sir import SIR as SIR
from ldr.objectives.save import SAVE as SAVE
from ldr.objectives.opca import OPCA as OPCA
from ldr.objectives.semi_supervised_da import SemiSupervisedDA as SemiSupervisedDA
from ldr.objectives.lda import LDA as LDA
from ldr.objectives.maf import MAF as MAF
from ldr.objectives.orthogonal_lpp import OrthogonalLPP as OrthogonalLPP
from ldr.objectives.orthogonal_npe import OrthogonalNPE as OrthogonalNPE
from ldr.objectives.orthogonal_sfa import OrthogonalSFA as OrthogonalSFA
from ldr.objectives.cca import CCA as CCA
from ldr.objectives.reduced_rank_regression import ReducedRankRegression as ReducedRankRegression
from ldr.objectives.least_squares import LeastSquares as LeastSquares
from ldr.objectives.ridge_regression import RidgeRegression as RidgeRegression
from ldr.objectives.lasso import Lasso as Lasso
from ldr.objectives.principal_components_regression import (
    PrincipalComponentsRegression as PrincipalComponentsRegression,
)
from ldr.objectives.ppca import PPCA as PPCA
from ldr.objectives.factor_analysis import FactorAnalysis as FactorAnalysis
from ldr.objectives.sdr import SDR as SDR
from ldr.objectives.hsic import HSIC as HSIC
from ldr.objectives.dynamics import Dynamics as Dynamics
from ldr.objectives.uica import UndercompleteICA as UndercompleteICA
from ldr.objectives.ica import ICA as ICA
from ldr.objectives.sparse_pca import SparsePCA as SparsePCA
from ldr.objectives.mds_stress import MDSStress as MDSStress
from ldr.objectives.lmnn import LMNN as LMNN
from ldr.objectives.nca import NCA as NCA
from ldr.objectives.robust_pca import RobustPCA as RobustPCA
from ldr.objectives.log_det_pca import LogDetPCA as LogDetPCA
# isort: on

list = listing.list_objectives
registry.register(vars())
