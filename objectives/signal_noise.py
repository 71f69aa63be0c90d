"""Signal against noise: difference of covariances."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.background import Pair
from ldr.objectives.families.trace import Trace
from ldr.objectives.objective import Data, Objective
from ldr.objectives.statistics import moments
from ldr.solvers.checks import keep_number


@dataclass(frozen=True)
class SignalNoise(Objective):
    """Vary with the signal and not with the noise: max tr(M'(C_signal - alpha C_noise)M).

    X is a pair (signal, noise) of arrays with the same columns, each centred by itself.
    P = M'. Exact by the top eigenvectors of the difference, which is indefinite. Unlike oriented
    PCA's, its span changes when the noise is rescaled.

    Source: Cunningham and Ghahramani 2015; Burges 2010, section 4.2.

    Parameters
    ----------
    alpha : float
        Weight of the noise, alpha >= 0.
    """

    name = "signal-noise"
    formula = "max tr(M'(C_signal - alpha C_noise)M)"
    source = "Cunningham & Ghahramani 2015; Burges 2010"
    sense = "max"
    needs = ("background",)
    baseline = "top eigenvectors of C_signal - alpha C_noise"
    exact = "yes"
    from_sums = True

    alpha: float = 1.0

    def __post_init__(self) -> None:
        keep_number(self, "alpha")

    def bind(self, data: Data, r: int) -> Trace:
        pair = Pair.of(data, room=r)
        signal, noise = moments(pair.samples), moments(pair.background)
        return Trace(
            self,
            (pair.mean(signal.mean),),
            signal.covariance - self.alpha * noise.covariance,
            r,
            coordinates=(pair.compact.coordinates,),
            notes=pair.compact.notes,
        )
