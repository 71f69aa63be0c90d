"""Every statistic, however the rows come, against sums in extended precision."""

from dataclasses import dataclass, replace

import dask.array as da
import pytest
import scipy.sparse as sp

from ldr.objectives.data import dask_samples
from ldr.objectives.data import data as samples_module
from ldr.objectives.data.accelerator import Accelerator
from ldr.objectives.data.data import Samples
from ldr.objectives.data.opening import as_samples
from tests.objectives.statistics.references import DATA, OFFSETS, STATISTICS, check

PROCESSOR = Accelerator("cpu")  # jax's own, which is always there

# Those that defeat a sum the most.
WORST = ("centred", "mean 1e8", "mixed means", "drift and mean", "outlier first", "step", "wide")
SPARSE = ("zeros", *(f"offset {size:g}" for size in OFFSETS))


class Pieces(Samples):
    """Sparse rows in several pieces, as blocks of them are in partial_fit."""

    def pieces(self):
        return list(self.slices(29))


@dataclass(frozen=True)
class Way:
    """A container of rows, read in pieces of `piece`.

    `slack` is for the roundings of many additions.
    """

    given: object = as_samples
    piece: int | None = None
    most: int = 400
    slack: float = 5.0
    data: tuple[str, ...] = WORST


WAYS = {
    "at once": Way(most=3000, slack=1.0, data=tuple(DATA)),
    "pieces of 1": Way(piece=1, most=24),
    "pieces of 17": Way(piece=17),
    "pieces of 150": Way(piece=150),
    "chunks": Way(lambda X: as_samples(da.from_array(X, chunks=(37, *X.shape[1:]))), most=150),
    "on a device": Way(
        lambda X: replace(as_samples(X), accelerator=PROCESSOR), piece=800, data=WORST[1:4]
    ),
    "sparse": Way(lambda X: as_samples(sp.csr_array(X)), most=3000, data=SPARSE),
    "sparse pieces": Way(lambda X: Pieces(sp.csr_array(X)), data=SPARSE),
    "sparse columns": Way(lambda X: as_samples(sp.csc_array(X)), data=SPARSE),
}

# Pieces and sparse rows of other sizes and orders.
AGAIN = ("pieces of 150", "sparse columns")


@pytest.mark.parametrize(
    ("way", "name"),
    [
        pytest.param(way, x, marks=[pytest.mark.slow] if way in AGAIN else [])
        for way in WAYS
        for x in WAYS[way].data
    ],
)
def test_statistics_are_those_of_80_bits(way, name, monkeypatch):
    come = WAYS[way]
    X = DATA[name][: come.most]
    monkeypatch.setattr(dask_samples, "BLOCK_NUMBERS", 1)
    monkeypatch.setattr(dask_samples, "piece_rows", lambda columns: 8)
    if come.piece:
        monkeypatch.setattr(samples_module, "BLOCK_NUMBERS", come.piece * X.shape[1])
    for statistic in STATISTICS:
        check(statistic, come.given, X, come.slack)
