"""The same through a scheduler and two worker processes, of which one is killed."""

import os
import signal
import threading
import time

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import ldr
from ldr.errors import ClusterError, TimeLimitError
from ldr.objectives.data.opening import as_samples
from tests.objectives.data.clusters import cluster, wait_until

pytestmark = pytest.mark.slow

N, D, ROWS = 40_000, 12, 1_000
LOADS = np.random.default_rng(0).standard_normal((4, D))


def block(start, stop):
    """Rows of a series that two processes make alike."""
    rng = np.random.default_rng(start)
    times = np.arange(start, stop)[:, None] / [50.0, 20.0, 10.0, 5.0]
    return 7 + np.sin(times) @ LOADS + 0.5 * rng.standard_normal((stop - start, D))


def made(start=0, stop=N):
    return np.vstack([block(k, k + ROWS) for k in range(start, stop, ROWS)])


def made_there(slowly=0.0):
    """The same rows, made by the workers; each chunk takes a while."""

    def chunk(block_info):
        time.sleep(slowly)
        return block(*block_info[None]["array-location"][0])

    return da.map_blocks(chunk, chunks=((ROWS,) * (N // ROWS), (D,)), meta=np.empty((0, 0)))


X = made()
LABELS = (X[:, 0] > X[:, 0].mean()).astype(int) + (X[:, 1] > 8)


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory):
    with cluster(tmp_path_factory.mktemp("cluster")) as (client, _):
        yield client


def spread_out(monkeypatch):
    """A term for each chunk."""
    from ldr.objectives.data import dask_samples

    monkeypatch.setattr(dask_samples, "BLOCK_NUMBERS", 1)


@pytest.mark.parametrize(
    "objective, columns, y",
    [
        ("pca", slice(None), None),
        ("orthogonal-lda", slice(None), LABELS),
        ("orthogonal-cca", (slice(0, 7), slice(7, D)), None),
        ("orthogonal-maf", slice(None), None),
        ("uica", slice(None), None),
    ],
)
def test_two_processes_give_the_values_of_memory(two_workers, monkeypatch, objective, columns, y):
    if objective != "uica":  # which reads the rows again and again
        spread_out(monkeypatch)
    there = made_there()
    if isinstance(columns, tuple):
        here, lazy = (tuple(data[:, part] for part in columns) for data in (X, there))
    else:
        here, lazy = X, there
    labels = None if y is None else da.from_array(y, chunks=7000)
    # In memory the default start of many rows is led on by a sample, to another optimum of uica.
    start = np.eye(D)[:, :3] if objective == "uica" else "baseline"
    expected = ldr.solve(objective, here, r=3, y=y, starts=1, start=start)
    found = ldr.solve(objective, lazy, r=3, y=labels, starts=1, start=start)
    assert found.value == pytest.approx(expected.value, rel=1e-10)


def test_both_processes_work(two_workers, monkeypatch):
    spread_out(monkeypatch)
    samples = as_samples(made_there(0.01))
    found = samples.reduce(process, set.union)
    assert len(found) == 2


def process(piece):
    import os

    return {os.getpid()}


def test_frames_and_files_are_read_there(two_workers, tmp_path):
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(D)])
    table["kind"] = np.array(["a", "b", "c"])[LABELS]
    table.to_parquet(tmp_path / "X.parquet", row_group_size=5_000)
    lazy = dd.read_parquet(tmp_path / "X.parquet", split_row_groups=True)
    found = ldr.solve("orthogonal-lda", lazy.drop(columns="kind"), r=2, y=lazy["kind"])
    expected = ldr.solve("orthogonal-lda", X, r=2, y=LABELS)
    assert found.value == pytest.approx(expected.value, rel=1e-10)
    Y = found.transform(lazy.drop(columns="kind"))
    np.testing.assert_allclose(Y.compute(), (X - found.mean) @ found.P.T, atol=1e-10)


def test_a_number_that_is_none_is_named_from_there(two_workers):
    bad = da.where(da.arange(N, chunks=ROWS)[:, None] == 31_234, np.nan, made_there())
    with pytest.raises(ldr.errors.DataError, match="row 31234, column 0"):
        ldr.solve("pca", bad, r=2)


@pytest.mark.parametrize("objective", ["pca", "orthogonal-maf"])
def test_the_answer_is_right_after_a_worker_was_killed(tmp_path, monkeypatch, objective):
    spread_out(monkeypatch)
    expected = ldr.solve(objective, X, r=3).value
    with cluster(tmp_path) as (client, workers):
        found = []
        solving = threading.Thread(
            target=lambda: found.append(ldr.solve(objective, made_there(0.1), r=3).value)
        )
        solving.start()
        # Each worker has terms of its own by now, and more than half of the chunks are to come.
        wait_until(lambda: enough(client.has_what()), "the first terms")
        workers[0].kill()
        wait_until(lambda: len(client.has_what()) == 1, "the scheduler to miss the worker")
        assert solving.is_alive() and not found
        solving.join(60)
    assert found == [pytest.approx(expected, rel=1e-10)]


def enough(held):
    return len(held) == 2 and min(map(len, held.values())) >= 3


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSTOP])
def test_workers_that_are_gone_or_stand_still_are_waited_for_until_the_time_limit(
    tmp_path, monkeypatch, end
):
    spread_out(monkeypatch)
    with cluster(tmp_path, 1) as (client, workers):
        assert client.submit(sum, (1, 2)).result(60) == 3
        workers[0].send_signal(end)
        with pytest.raises(TimeLimitError, match="the statistics of the data were computed"):
            ldr.solve("pca", made_there(), r=3, time_limit=0.5)


def test_workers_that_die_of_a_task_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "1")

    def deadly(block_info):
        os._exit(1)

    rows = da.map_blocks(deadly, chunks=((ROWS,), (D,)), meta=np.empty((0, 0)))
    with cluster(tmp_path), pytest.raises(ClusterError, match=r"2 workers .*--memory-limit"):
        ldr.solve("pca", rows, r=3)
