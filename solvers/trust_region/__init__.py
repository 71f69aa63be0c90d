"""The Riemannian trust region: the outer iteration, and truncated conjugate gradients inside."""

from ldr.solvers.trust_region.outer import TrustRegion, TrustState

__all__ = ["TrustRegion", "TrustState"]
