"""Contrastive principal component analysis."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.signal_noise import SignalNoise


@dataclass(frozen=True)
class ContrastivePCA(SignalNoise):
    """Vary in the target and not in the background: max tr(M'(C_target - alpha C_background)M).

    X is a pair (target, background) of arrays with the same columns, each centred by itself.
    P = M'. Exact by the top eigenvectors of the difference.

    Source: Abid, Zhang, Bagaria and Zou 2018.

    Parameters
    ----------
    alpha : float
        Weight of the background, alpha >= 0.
    """

    name = "contrastive-pca"
    formula = "max tr(M'(C_target - alpha C_background)M)"
    source = "Abid, Zhang, Bagaria & Zou 2018"
    baseline = "top eigenvectors of C_target - alpha C_background"
