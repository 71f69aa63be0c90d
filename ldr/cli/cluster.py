"""A Dask cluster for the command line, and tables that its workers read."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ldr.files import TABLES, Table, ending_of, read
from ldr.objectives.data.array_types import Cells
from ldr.objectives.data.data import piece_rows
from ldr.objectives.data.sources import SEPARATORS, MappedFile, named
from ldr.solvers.errors import ArgumentError, DataError, needed
from ldr.types import Argument, Rows


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Run the computations of a context on the cluster of a scheduler."""
    distributed = needed("distributed", "--cluster")
    import dask
    from dask.utils import parse_timedelta
    from distributed.comm.addressing import get_address_host_port

    try:
        if not address.startswith("inproc:"):  # dask's Client waits twice for an absent scheduler
            patience = parse_timedelta(dask.config.get("distributed.comm.timeouts.connect"))
            socket.create_connection(get_address_host_port(address), patience).close()
        # A client that finds no scheduler would otherwise remain dask's default client.
        client = distributed.Client(address, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ArgumentError(
            f"--cluster {address}: no scheduler answers there ({error}); start one with "
            "`dask scheduler`, which prints its address"
        ) from None
    with client, client.as_current():
        if not client.nthreads():
            raise ArgumentError(
                f"--cluster {address}: the scheduler has no workers; start workers with `dask "
                f"worker {address}`"
            )
        yield


def read_in_chunks(path: Path, separator: str = "", header: bool = True) -> Table:
    """Read the matrix in a file with the workers of a cluster.

    - path: .csv, .tsv, .parquet, .npy, or a folder of .parquet files
    - separator, header: as in `ldr.files.read`
    """
    ending = ".parquet" if path.is_dir() else ending_of(path)
    if not path.exists():
        raise FileNotFoundError(2, "no such file", str(path))
    if ending not in (*TABLES, ".npy"):
        raise ArgumentError(f"{path}: --cluster takes .csv, .tsv, .parquet and .npy files")
    where = path.resolve()  # Dask workers may have other working directories than this process
    try:
        X = _rows(where, ending, separator or SEPARATORS.get(ending, ""), header)
    except (DataError, MemoryError):
        raise
    except Exception as error:  # libraries that read files may raise any exception
        raise DataError(f"{path.name} cannot be read as {ending}: {error}") from error
    return ClusterTable(path.name, X, here=partial(read, where, separator, header))


@dataclass(frozen=True, eq=False)
class ClusterTable(Table):
    """A table whose rows are read by the workers, and whose labels are read by this process."""

    here: Callable[[], Table] = field(kw_only=True)

    def column(self, name: str, as_text: bool = False) -> Cells:
        return self.here().column(name, as_text)


def _rows(path: Path, ending: str, separator: str, header: bool) -> Rows:
    """Rows as a Dask array or DataFrame, without an unnamed first column of a text file."""
    if ending == ".npy":
        return _array(MappedFile(path, path.name))
    import dask.dataframe as frames

    if ending == ".parquet":
        return frames.read_parquet(path)
    import pandas

    # Before version 3.1 pandas by default rounds the last digit of some numbers wrongly.
    exactly = {"float_precision": "round_trip"} if pandas.__version__ < "3.1" else {}
    numbers = frames.read_csv(path, sep=separator, header=0 if header else None, **exactly)
    columns = named(tuple(map(str, numbers.columns)), path.name)
    return numbers.iloc[:, len(numbers.columns) - len(columns) :]


def _array(file: MappedFile) -> Rows:
    """Rows of a file as a Dask array with one chunk for each block of the file."""
    import dask.array as arrays

    (rows,) = arrays.core.normalize_chunks(piece_rows(file.d), shape=(file.n,))
    return arrays.map_blocks(partial(_read, file), chunks=(rows, (file.d,)), meta=file.read(0, 0))


def _read(file: MappedFile, block_info: Argument = None) -> Cells:
    start, stop = block_info[None]["array-location"][0]
    return file.read(start, stop)
