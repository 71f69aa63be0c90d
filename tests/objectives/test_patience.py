"""Waiting for a Dask cluster, which runs in threads of this process."""

import os
import signal
from types import SimpleNamespace

import dask.array as da
import numpy as np
import pytest

import ldr
from ldr.errors import ClusterError, ClusterWarning, TimeLimitError

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    """Of a scheduler without workers."""
    with distributed.Client(n_workers=0, processes=False, dashboard_address=None) as client:
        yield client


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    from ldr.objectives.data.sources import cluster

    for name, seconds in {"_LOOK": 0.05, "_WORRIED": 0.1, "_PATIENCE": 0.6}.items():
        monkeypatch.setattr(cluster, name, seconds)


X = np.random.default_rng(0).standard_normal((40, 3))


def rows():
    return da.from_array(X, chunks=(20, 3))


def test_a_cluster_without_workers_is_an_error_after_a_warning(client):
    with (
        pytest.warns(ClusterWarning, match=r"has 0 worker\(s\), .* they are waited for"),
        pytest.raises(ClusterError, match=r"has 0 worker\(s\), .* start workers"),
    ):
        ldr.solve("pca", rows(), 2)


def test_the_time_limit_holds_while_workers_are_waited_for(client):
    with pytest.raises(TimeLimitError, match="while the statistics of the data were computed"):
        ldr.solve("pca", rows(), 2, time_limit=0.1)


def test_ctrl_c_is_heard_while_workers_are_waited_for(client, monkeypatch):
    from ldr.objectives.data.sources import cluster

    monkeypatch.setattr(cluster, "check", lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        ldr.solve("pca", rows(), 2)


def test_workers_that_died_of_a_task_are_told_in_words(client, monkeypatch):
    from ldr.objectives.data.sources import cluster

    def lost(client, future):
        worker = SimpleNamespace(address="tcp://there:1234")
        raise distributed.scheduler.KilledWorker("sum", worker, 3)

    monkeypatch.setattr(cluster, "_wait", lost)
    with pytest.raises(ClusterError, match=r"4 workers .* tcp://there:1234: .* --memory-limit"):
        ldr.solve("pca", rows(), 2)
