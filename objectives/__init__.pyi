# Every method, in the order of the listing: a line a module. `registry` reads it.
# isort: off
from .pca import PCA as PCA, LogDetPCA as LogDetPCA
from .robust_pca import RobustPCA as RobustPCA
from .sparse import SparsePCA as SparsePCA
from .exponential_family_pca import ExponentialFamilyPCA as ExponentialFamilyPCA
from .factor_analysis import PPCA as PPCA
from .factor_analysis import FactorAnalysis as FactorAnalysis
from .mds import MDS as MDS, DistanceMDS as DistanceMDS, MDSStress as MDSStress
from .lda import OrthogonalLDA as OrthogonalLDA, LDA as LDA
from .lda import SemiSupervisedDA as SemiSupervisedDA
from .sparse import SparseLDA as SparseLDA, SparseCCA as SparseCCA
from .metric import LMNN as LMNN
from .metric import NCA as NCA
from .wda import WDA as WDA
from .cca import OrthogonalCCA as OrthogonalCCA, CCA as CCA
from .pls import PLS as PLS
from .cca import (
    MCCA as MCCA,
    MaxDiff as MaxDiff,
    MaxBet as MaxBet,
    OrthogonalMCCA as OrthogonalMCCA,
)
from .regression import ReducedRankRegression as ReducedRankRegression
from .regression import (
    LeastSquares as LeastSquares,
    RidgeRegression as RidgeRegression,
    Lasso as Lasso,
    PrincipalComponentsRegression as PrincipalComponentsRegression,
)
from .pls import PLSRegression as PLSRegression
from .maf import (
    OrthogonalMAF as OrthogonalMAF,
    MAF as MAF,
    Autocovariance as Autocovariance,
    SquaredDifference as SquaredDifference,
)
from .sfa import SFA as SFA, OrthogonalSFA as OrthogonalSFA
from .sfa import TICA as TICA, VAMP as VAMP
from .dynamics import Dynamics as Dynamics
from .dca import DCA as DCA
from .foreca import ForeCA as ForeCA
from .trials import CSP as CSP, SPoC as SPoC, Xdawn as Xdawn
from .trials import SSD as SSD
from .lpp import LPP as LPP, OLPP as OLPP, OrthogonalLPP as OrthogonalLPP
from .lpp import NPE as NPE, ONPP as ONPP, OrthogonalNPE as OrthogonalNPE
from .signal_noise import (
    SignalNoise as SignalNoise,
    ContrastivePCA as ContrastivePCA,
    OPCA as OPCA,
    OrthogonalGCPCA as OrthogonalGCPCA,
    GCPCA as GCPCA,
)
from .ica import ICA as ICA
from .ica import UndercompleteICA as UndercompleteICA
from .sir import (
    SIR as SIR,
    SAVE as SAVE,
    DirectionalRegression as DirectionalRegression,
    PrincipalHessianDirections as PrincipalHessianDirections,
)
from .sdr import SDR as SDR
from .signal_noise import DemixedPCA as DemixedPCA
from .sdr import GKDR as GKDR
from .sdr import HSIC as HSIC
# isort: on

from . import registry as registry
from .data.data import Data as Data
from .objective import Objective as Objective
from .objective import Sum as Sum
from .parameters import Traits as Traits
from .problem import BoundObjective as BoundObjective
from .problem import Certificate as Certificate
from .registry import REGISTRY as REGISTRY
from .registry import named as named
