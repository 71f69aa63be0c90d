"""Waiting for a Dask cluster, which runs in threads of this process."""

import os
import signal
from types import SimpleNamespace

import dask.array as da
import numpy as np
import pytest

import ldr
from ldr.errors import ClusterError, ClusterWarning, TimeLimitError
from ldr.solvers import limits
from tests.objectives.data.clusters import in_this_process

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    """Of a scheduler without workers."""
    with in_this_process(n_workers=0) as there, distributed.Client(there) as client:
        yield client


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Each look takes five seconds, and nothing else any."""
    from ldr.objectives.data.sources import cluster

    now, wait = [0.0], cluster.wait

    def look(future, timeout):
        now[0] += 5.0
        return wait(future, timeout=0.01)

    monkeypatch.setattr(cluster, "wait", look)
    for asked in (cluster, limits):
        monkeypatch.setattr(asked, "monotonic", lambda: now[0])


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
        ldr.solve("pca", rows(), 2, time_limit=4.0)


def test_ctrl_c_is_heard_while_workers_are_waited_for(client, monkeypatch):
    from ldr.objectives.data.sources import cluster

    monkeypatch.setattr(cluster, "check", lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        ldr.solve("pca", rows(), 2)


def test_who_is_lost_while_it_is_asked_gives_no_sign(client, monkeypatch):
    from ldr.objectives.data.sources import cluster

    def lost(n_workers):
        raise OSError("the connection was lost")

    monkeypatch.setattr(client, "scheduler_info", lost)
    pulse = cluster._Pulse(client)
    pulse._ask()
    assert pulse.workers == 0


def test_workers_that_died_of_a_task_are_told_in_words(client, monkeypatch):
    from ldr.objectives.data.sources import cluster

    def lost(client, future):
        worker = SimpleNamespace(address="tcp://there:1234")
        raise distributed.scheduler.KilledWorker("sum", worker, 3)

    monkeypatch.setattr(cluster, "_wait", lost)
    with pytest.raises(ClusterError, match=r"4 workers .* tcp://there:1234: .* --memory-limit"):
        ldr.solve("pca", rows(), 2)
