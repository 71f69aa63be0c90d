"""Waiting for the workers of a Dask cluster, as long as there is something to wait for."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError
from functools import partial
from time import monotonic

from distributed import Client, wait
from distributed.scheduler import KilledWorker

from ldr.objectives.data.cells import Given
from ldr.solvers.errors import ClusterError, ClusterWarning
from ldr.solvers.limits import check
from ldr.solvers.pool import whole
from ldr.solvers.warn import warn

# Seconds between two looks; without a sign of a worker until a warning, and until an error. While
# it holds Python's lock, in a large product, a worker gives no sign.
_LOOK = 0.5
_WORRIED, _PATIENCE = 10.0, 120.0


class _Pulse:
    """When any worker of a cluster was last known to live."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._seen: float | None = None
        self._asking: threading.Thread | None = None
        self.workers = 0
        self.moment = monotonic()

    def look(self) -> None:
        """Ask the scheduler, in a thread: one that was stopped does not answer."""
        if self._asking is None or not self._asking.is_alive():
            self._asking = threading.Thread(target=self._ask, daemon=True)
            self._asking.start()

    def _ask(self) -> None:
        """The scheduler's clock is its own: what counts is that a worker's last sign is another."""
        try:
            told = self._client.scheduler_info(n_workers=-1)  # nothing of a client that is closed
        except Exception:  # closed, or its scheduler lost, while it asked: no sign
            return
        workers = told.get("workers", {}).values()
        seen = max((worker["last_seen"] for worker in workers), default=None)
        if seen is not None and seen != self._seen:
            self._seen, self.moment = seen, monotonic()
        self.workers = len(workers)


def awaited(client: Client, lazy: object) -> Given:
    """The value of something lazy, from the workers.

    Raises
    ------
    ClusterError
        The scheduler was lost; its workers were lost one after the other at a task; or there was no
        sign of any for two minutes.
    KeyboardInterrupt, TimeLimitError
        While there was nothing yet; the workers are told to leave it.
    """
    future = whole(partial(client.compute, lazy))
    try:
        _wait(client, future)
        return future.result()
    except KilledWorker as error:
        raise ClusterError(
            f"{error.allowed_failures + 1} workers of the Dask cluster were lost one after the "
            f"other while they worked at the same task, the last at {error.last_worker.address}: "
            "mostly their memory was too small; start them with more (`dask worker "
            "--memory-limit`), make the chunks of rows smaller (X.rechunk), or see their logs"
        ) from error
    except CancelledError as error:
        raise ClusterError("the scheduler was lost while its workers computed") from error
    finally:
        whole(future.release)


def _wait(client: Client, future: object) -> None:
    """Until it is done, well or not; patient with workers, not with silence."""
    pulse, worried = _Pulse(client), False
    while True:
        try:
            whole(partial(wait, future, timeout=_LOOK))
            return
        except TimeoutError:
            check()
        pulse.look()
        silence = monotonic() - pulse.moment
        if silence < _WORRIED:
            worried = False
            continue
        said = (
            f"the Dask cluster has {pulse.workers} worker(s), and none gave a sign for "
            f"{silence:.0f} s"
        )
        if silence >= _PATIENCE:
            raise ClusterError(
                f"{said}: start workers (`dask worker ADDRESS`), or see why they stand still"
            )
        if not worried:
            worried = True
            warn(f"{said}; they are waited for, {_PATIENCE:.0f} s in all", ClusterWarning)
