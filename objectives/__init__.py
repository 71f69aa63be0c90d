"""What to optimise: objectives, each a small immutable dataclass, and their registry."""

from ldr.objectives.cca import CCA
from ldr.objectives.certificate import Certificate
from ldr.objectives.lda import LDA
from ldr.objectives.lpp import LPP
from ldr.objectives.maf import MAF
from ldr.objectives.objective import BoundObjective, Data, Objective
from ldr.objectives.pca import PCA
from ldr.objectives.ppca import PPCA
from ldr.objectives.registry import REGISTRY, named
from ldr.objectives.sdr import SDR
from ldr.objectives.sfa import SFA

__all__ = [
    "CCA",
    "LDA",
    "LPP",
    "MAF",
    "PCA",
    "PPCA",
    "REGISTRY",
    "SDR",
    "SFA",
    "BoundObjective",
    "Certificate",
    "Data",
    "Objective",
    "named",
]
