"""Checks for arrays that do not fit into memory, and for values that are not finite."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numpy as np

from ldr.objectives.data.array_types import Given
from ldr.objectives.data.data import BLOCK_NUMBERS, Samples
from ldr.solvers.checks import LARGEST, SMALLEST
from ldr.solvers.errors import DataError, MissingValuesError, TooLargeError

# Arrays of at most this many bytes are allocated without a check of the memory.
SMALL = 2**28


def check_memory(size: float, what: str, way_out: str) -> None:
    """Refuse an array of `size` bytes unless this much memory is available."""
    if size <= SMALL:
        return
    limit, whose = available()
    if size > limit:
        raise TooLargeError(
            f"{what} would need {in_words(size)} of memory, but only {in_words(limit)} are free "
            f"(limit of {whose}): {way_out}"
        )


def available() -> tuple[float, str]:
    """Return the number of bytes that can still be allocated, and the source of the limit."""
    return min(_limits(), default=(float("inf"), "nothing"))


def in_words(size: float) -> str:
    """Return a number of bytes as text, in MiB or GiB."""
    return f"{size / 2**30:.3g} GiB" if size >= 2**30 else f"{size / 2**20:.3g} MiB"


# Files in which Linux control groups (versions 2 and 1) state the memory limit and the usage.
_GROUPS = (
    (Path("/sys/fs/cgroup"), "memory.max", "memory.current"),
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"),
)


def _limits() -> Iterator[tuple[float, str]]:
    """Yield the free bytes of the machine, the process's limit and the container."""
    if os.name != "posix":
        return  # on Windows a failed allocation raises MemoryError
    resource = import_module("resource")  # Windows lacks the module `resource`
    free = _bytes(r"MemAvailable:\s*(\d+) kB", "/proc/meminfo", 1024)
    pages = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    yield pages if free is None else free, "the machine"
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    used = _bytes(r"VmSize:\s*(\d+) kB", "/proc/self/status", 1024)
    if most != resource.RLIM_INFINITY and used is not None:
        yield max(0.0, most - used), "the process's address space"
    for folder, limit, usage in _GROUPS:
        most_of, used_of = (_bytes(r"^(\d+)$", folder / file) for file in (limit, usage))
        if most_of is not None and used_of is not None:
            yield max(0.0, most_of - used_of), "the control group (container)"


def _bytes(pattern: str, file: str | Path, unit: int = 1) -> float | None:
    """Return a number in a system file; None if missing."""
    try:
        found = re.search(pattern, Path(file).read_text())
    except OSError:
        return None
    return None if found is None else float(unit * int(found[1]))


def check_squares(samples: Samples) -> None:
    """Refuse values whose sums of squares would overflow or underflow.

    Samples in files are checked when they are read.
    """
    if not (samples.stored or samples.in_range):
        check_largest(largest_entry(samples), samples.name)


def largest_entry(samples: Samples) -> float:
    """Return the largest absolute value, ignoring NaN."""
    values = samples.array.data if samples.is_sparse else np.asarray(samples.array)
    most, least = (np.nanmax, np.nanmin) if samples.has_nan else (np.max, np.min)
    return max(float(most(values, initial=0)), -float(least(values, initial=0)))


def largest_of_piece(piece: Samples) -> float:
    """Return the largest absolute value of a chunk; refuse values whose squares overflow.

    The result is 0 for dtypes whose squares cannot overflow.
    """
    wide = piece.array.dtype.kind == "f" and piece.array.dtype.itemsize >= 8
    largest = largest_entry(piece) if wide else 0.0
    if largest > LARGEST:
        check_largest(largest, piece.name)
    return largest


def check_largest(largest: float, name: str) -> None:
    if largest > LARGEST or 0.0 < largest < SMALLEST:
        raise DataError(
            f"the largest entry of {name} is {largest:.1e}, expected between {SMALLEST:.0e} and "
            f"{LARGEST:.0e}, so that squares can be summed: change the unit of {name}"
        )


def check_finite(samples: Samples, allow_nan: bool, first_row: int = 0) -> bool:
    """Refuse infinite values, and NaN unless allowed; return True if NaN occur.

    `first_row` is the index of the first row in all data, for the message.
    """
    if samples.array.dtype.kind != "f":
        return False
    stored = samples.array.data if samples.is_sparse else np.asarray(samples.array)
    step = BLOCK_NUMBERS if samples.is_sparse else max(1, BLOCK_NUMBERS // samples.d)
    bad, place, has_nan = 0, np.empty(0, np.intp), False
    for start in range(0, len(stored), step):
        values = stored[start : start + step]
        # The sum of squares is cheap; only if it is not finite, each value is tested.
        flat = values.ravel(order="K")
        with np.errstate(over="ignore", invalid="ignore"):
            if math.isfinite(np.dot(flat, flat)):
                continue
        nan = np.isnan(values)
        has_nan = has_nan or bool(nan.any())
        found = np.argwhere(np.isinf(values) if allow_nan else nan | np.isinf(values))
        if bad == 0 and len(found):
            place = found[0] + [start, *[0] * (values.ndim - 1)]
        bad += len(found)
    if not bad:
        return has_nan
    row, column = place if len(place) == 2 else _position(samples.array, int(place[0]))
    feature = f" ({samples.feature_names[column]!r})" if samples.feature_names else ""
    what = "infinite" if allow_nan else "NaN or infinite"
    kind = DataError if allow_nan or not has_nan else MissingValuesError
    raise kind(
        f"{samples.name} has {bad} {what} value(s), the first in row {first_row + row}, "
        f"column {column}{feature}; finite numbers were expected"
    )


def _position(matrix: Given, stored: int) -> tuple[int, int]:
    """Return row and column of a stored entry of a sparse matrix."""
    row = int(np.searchsorted(matrix.indptr, stored, side="right")) - 1
    return row, int(matrix.indices[stored])
