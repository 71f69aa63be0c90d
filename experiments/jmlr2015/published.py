"""The published points, digitised from the paper's figures, and medians of its code run again."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

# Resolution of the digitised figures: a value of zero is read as 8e-6.
RESOLUTION = 2e-5

DATASETS = 20  # number of data sets at every published point

GAINING = ("lda", "cca", "maf")  # methods whose baseline is not optimal
SWEEPS = {"d": "2A", "r": "2B"}  # panel of the paper for each varied dimension

# Iterations on the Grassmann manifold until a gap of 1e-9, as read from figure 4.
TRUST_REGION_ITERATIONS = 14
STEEPEST_DESCENT_ITERATIONS = (256, 264)

# Published median times in seconds at d = 1024 and r = 3 (MATLAB, 2014).
SECONDS_AT_1024 = {"pca": 94.0, "lda": 11.8, "cca": 3.8, "maf": 225.0}


@dataclass(frozen=True)
class Bar:
    """A published point: x is d or r, then the median and the quartiles."""

    x: int
    median: float
    low: float
    high: float


@cache
def _file() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path(__file__).with_name("published.json").read_text())
    return content


def bars(panel: str, method: str) -> list[Bar]:
    """The points of a panel, "2A" to "3D", that could be read."""
    rows = _file()[panel][method]
    return [Bar(int(row[0]), *row[1:]) for row in rows if None not in row]


def rerun(sweep: str, method: str, baseline: str = "as-published") -> dict[int, float]:
    """Medians of the paper's code run again, as it divides; only maf has two baselines."""
    name = "maf true-eigenvectors" if (method, baseline) == _TRUE_MAF else method
    points = _file()[f"rerun {sweep}"][name]
    return {int(x): median for x, median in points if median is not None}


_TRUE_MAF = ("maf", "true-eigenvectors")


def normal_quartile() -> float:
    """The upper quartile of N(0, 1), 0.674..."""
    from scipy.special import ndtri

    return float(ndtri(0.75))


def is_zero(value: float) -> bool:
    """Whether a digitised number is zero, as far as it can be read."""
    return math.isfinite(value) and abs(value) <= RESOLUTION
