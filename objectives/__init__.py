"""What to optimise: objectives, each a small immutable dataclass, and their registry.

Every method stands here, a line a problem, in the order of the listing, and its page is imported
when it is asked for. All else that knows the methods reads the registry: the estimators and their
stubs, the documentation, the tests.
"""

from typing import TYPE_CHECKING

from ldr.objectives import registry
from ldr.objectives.certificate import Certificate as Certificate
from ldr.objectives.data.data import Data as Data
from ldr.objectives.objective import Objective as Objective
from ldr.objectives.objective import Sum as Sum
from ldr.objectives.problem import BoundObjective as BoundObjective
from ldr.objectives.registry import REGISTRY as REGISTRY
from ldr.objectives.registry import named as named

if TYPE_CHECKING:  # the methods
    # isort: off
    from ldr.objectives.pca import PCA as PCA, LogDetPCA as LogDetPCA
    from ldr.objectives.robust_pca import RobustPCA as RobustPCA
    from ldr.objectives.sparse import SparsePCA as SparsePCA
    from ldr.objectives.exponential_family_pca import ExponentialFamilyPCA as ExponentialFamilyPCA
    from ldr.objectives.ppca import PPCA as PPCA
    from ldr.objectives.factor_analysis import FactorAnalysis as FactorAnalysis
    from ldr.objectives.mds import MDS as MDS, DistanceMDS as DistanceMDS, MDSStress as MDSStress
    from ldr.objectives.lda import LDA as LDA, ClassicalLDA as ClassicalLDA
    from ldr.objectives.semi_supervised_da import SemiSupervisedDA as SemiSupervisedDA
    from ldr.objectives.sparse import SparseLDA as SparseLDA, SparseCCA as SparseCCA
    from ldr.objectives.lmnn import LMNN as LMNN
    from ldr.objectives.nca import NCA as NCA
    from ldr.objectives.wda import WDA as WDA
    from ldr.objectives.cca import CCA as CCA, ClassicalCCA as ClassicalCCA
    from ldr.objectives.pls import PLS as PLS
    from ldr.objectives.cca import (
        MCCA as MCCA,
        MaxDiff as MaxDiff,
        MaxBet as MaxBet,
        OrthogonalMCCA as OrthogonalMCCA,
    )
    from ldr.objectives.reduced_rank_regression import (
        ReducedRankRegression as ReducedRankRegression,
    )
    from ldr.objectives.regression import (
        LeastSquares as LeastSquares,
        RidgeRegression as RidgeRegression,
        Lasso as Lasso,
        PrincipalComponentsRegression as PrincipalComponentsRegression,
    )
    from ldr.objectives.pls import PLSRegression as PLSRegression
    from ldr.objectives.maf import (
        MAF as MAF,
        ClassicalMAF as ClassicalMAF,
        Autocovariance as Autocovariance,
        SquaredDifference as SquaredDifference,
    )
    from ldr.objectives.sfa import SFA as SFA, OrthogonalSFA as OrthogonalSFA
    from ldr.objectives.vamp import TICA as TICA, VAMP as VAMP
    from ldr.objectives.dynamics import Dynamics as Dynamics
    from ldr.objectives.dca import DCA as DCA
    from ldr.objectives.foreca import ForeCA as ForeCA
    from ldr.objectives.csp import CSP as CSP, SPoC as SPoC
    from ldr.objectives.csp import Xdawn as Xdawn
    from ldr.objectives.ssd import SSD as SSD
    from ldr.objectives.lpp import LPP as LPP, OLPP as OLPP, OrthogonalLPP as OrthogonalLPP
    from ldr.objectives.npe import NPE as NPE, ONPP as ONPP, OrthogonalNPE as OrthogonalNPE
    from ldr.objectives.signal_noise import (
        SignalNoise as SignalNoise,
        ContrastivePCA as ContrastivePCA,
        OPCA as OPCA,
        GCPCA as GCPCA,
        ClassicalGCPCA as ClassicalGCPCA,
    )
    from ldr.objectives.ica import ICA as ICA
    from ldr.objectives.uica import UndercompleteICA as UndercompleteICA
    from ldr.objectives.sir import (
        SIR as SIR,
        SAVE as SAVE,
        DirectionalRegression as DirectionalRegression,
    )
    from ldr.objectives.sir import PrincipalHessianDirections as PrincipalHessianDirections
    from ldr.objectives.sdr import SDR as SDR
    from ldr.objectives.dpca import DemixedPCA as DemixedPCA
    from ldr.objectives.gkdr import GKDR as GKDR
    from ldr.objectives.sdr import HSIC as HSIC
    # isort: on

list = registry.list_objectives
registry.PAGES.update(registry.stated(__file__))


def __getattr__(name: str) -> object:
    if name not in registry.PAGES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return registry.method(name)


def __dir__() -> object:
    return sorted({*globals(), *registry.PAGES})
