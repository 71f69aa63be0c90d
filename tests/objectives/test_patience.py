"""Waiting for a Dask cluster, which runs in threads of this process."""

import os
import signal
from types import SimpleNamespace

import dask.array as da
import numpy as np
import pytest

import ldr
from ldr.errors import ClusterError, TimeLimitError
from tests.objectives.data.clusters import in_this_process

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    """Of a scheduler without workers."""
    with in_this_process(n_workers=0) as there, distributed.Client(there) as client:
        yield client


X = np.random.default_rng(0).standard_normal((40, 3))


def rows():
    return da.from_array(X, chunks=(20, 3))


def test_the_time_limit_holds_while_workers_are_waited_for(client):
    with pytest.raises(TimeLimitError, match="while the statistics of the data were computed"):
        ldr.solve("pca", rows(), 2, time_limit=0.7)


def test_ctrl_c_is_heard_while_workers_are_waited_for(client, monkeypatch):
    from ldr.objectives.data import dask_samples

    monkeypatch.setattr(dask_samples, "check", lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        ldr.solve("pca", rows(), 2)


def test_workers_that_died_of_a_task_are_told_in_words(client, monkeypatch):
    def lost(future, timeout):
        worker = SimpleNamespace(address="tcp://there:1234")
        raise distributed.scheduler.KilledWorker("sum", worker, 3)

    monkeypatch.setattr(distributed, "wait", lost)
    with pytest.raises(ClusterError, match=r"4 workers .* tcp://there:1234, .* --memory-limit"):
        ldr.solve("pca", rows(), 2)
