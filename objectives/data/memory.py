"""Checks at the door: arrays that do not fit into memory, and numbers that are not finite."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.array_types import Cells
from ldr.objectives.data.samples import BLOCK_NUMBERS, Samples
from ldr.solvers.checks import LARGEST, SMALLEST
from ldr.solvers.errors import DataError, MissingValuesError, TooLargeError

# Arrays up to this size are made without a look at what there is.
_SMALL = 2**28


def check_memory(size: float, what: str, way_out: str) -> None:
    """Refuse what takes so many bytes, unless they are there."""
    if size <= _SMALL:
        return
    limit, whose = available()
    if size > limit:
        raise TooLargeError(
            f"{what} would take {in_words(size)} in memory, of which {whose} leaves "
            f"{in_words(limit)}: {way_out}"
        )


def available() -> tuple[float, str]:
    """The bytes that this process may still take, and who says so."""
    return min(_limits(), default=(float("inf"), "nothing"))


def in_words(size: float) -> str:
    """Bytes as a number that can be read."""
    return f"{size / 2**30:.3g} GiB" if size >= 2**30 else f"{size / 2**20:.3g} MiB"


def _limits() -> Iterator[tuple[float, str]]:
    """What the machine, the process's limits and its control groups leave."""
    if os.name != "posix":
        return  # such a machine says when there is none
    resource = import_module("resource")  # which others have not
    if (free := _in_kilobytes("/proc/meminfo", "MemAvailable:")) is not None:
        yield free, "the machine"
    else:
        yield float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")), "the machine"
    for kind, taken, name in (
        (resource.RLIMIT_AS, "VmSize:", "the limit of the process's addresses"),
        (resource.RLIMIT_DATA, "VmData:", "the limit of the process's data"),
    ):
        most = resource.getrlimit(kind)[0]
        used = _in_kilobytes("/proc/self/status", taken)
        if most != resource.RLIM_INFINITY and used is not None:
            yield max(0.0, most - used), name
    for folder, most_in, used_in in _groups():
        most_of, used_of = _number(folder / most_in), _number(folder / used_in)
        if most_of is not None and used_of is not None:
            yield max(0.0, most_of - used_of), "the control group (container)"


def _groups() -> Iterator[tuple[Path, str, str]]:
    """Control groups of the process and those around them, of both versions."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    root = Path("/sys/fs/cgroup")
    for line in lines:
        _, kinds, path = line.split(":", 2)
        if kinds and "memory" not in kinds.split(","):
            continue
        names = ("memory.max", "memory.current")
        if kinds:
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
        top = root / "memory" if kinds else root
        own = top / path.lstrip("/")
        for folder in (own, *own.parents)[: 1 + len(own.parts) - len(top.parts)]:
            yield folder, *names


def _in_kilobytes(file: str, key: str) -> float | None:
    """The entry of a file of /proc, in bytes."""
    try:
        lines = Path(file).read_text().splitlines()
    except OSError:
        return None
    found = (line.split()[1] for line in lines if line.startswith(key))
    return next((1024.0 * int(number) for number in found), None)


def _number(file: Path) -> float | None:
    """The number in a file; None where there is none, or no limit."""
    try:
        text = file.read_text().strip()
    except OSError:
        return None
    return float(text) if text.isdigit() else None


def check_squares(samples: Samples) -> None:
    """Refuse data so large or so small that their sums of squares would not be numbers.

    Stored samples check that themselves, as they are read.

    - raises DataError: The largest entry is above 1e130 or (zero excepted) below 1e-130.
    """
    if not samples.stored:
        check_largest(largest_entry(samples), samples.name)


def largest_entry(samples: Samples) -> float:
    """The largest absolute value."""
    largest = 0.0
    for _, block in samples.blocks():
        values = np.asarray(block.data if samples.is_sparse else block)
        if values.size:
            largest = max(largest, float(values.max()), -float(values.min()))
    return largest


def largest_wide_entry(samples: Samples) -> float:
    """The largest absolute value; 0 of types whose squares are numbers whatever the value."""
    wide = samples.array.dtype.kind == "f" and samples.array.dtype.itemsize >= 8
    return largest_entry(samples) if wide else 0.0


def largest_of_piece(piece: Samples) -> float:
    """`largest_wide_entry`, refused at once above the range; below it, all pieces tell together."""
    largest = largest_wide_entry(piece)
    if largest > LARGEST:
        check_largest(largest, piece.name)
    return largest


def check_largest(largest: float, name: str) -> None:
    if largest > LARGEST or 0.0 < largest < SMALLEST:
        raise DataError(
            f"{name} has a largest entry of {largest:.1e}; between {SMALLEST:.0e} and "
            f"{LARGEST:.0e} was expected, so that squares can be summed: change the unit"
        )


def check_finite(samples: Samples, allow_nan: bool, first_row: int = 0) -> bool:
    """Refuse infinite values, and NaN unless allowed; return whether NaN occur.

    `first_row` is the number of the first row in the whole of the data, for the message.
    """
    if samples.array.dtype.kind != "f":
        return False
    bad, first, has_nan = 0, (0, 0), False
    for start, values in _float_pieces(samples):
        # One sum is far cheaper than a test of each number; if it overflows, the test decides.
        flat = values.ravel(order="K")
        with np.errstate(over="ignore", invalid="ignore"):
            if math.isfinite(np.dot(flat, flat)):
                continue
        nan = np.isnan(values)
        has_nan = has_nan or bool(nan.any())
        wrong = np.isinf(values) if allow_nan else nan | np.isinf(values)
        found = np.argwhere(wrong)
        if bad == 0 and len(found):
            first = _position(samples, start, found[0])
        bad += len(found)
    if bad:
        row, column = first
        raise _not_finite(samples, bad, (first_row + row, column), allow_nan, has_nan)
    return has_nan


def _float_pieces(samples: Samples) -> Iterator[tuple[int, Cells]]:
    """Pieces of the stored numbers in their own type, with the place where each starts."""
    if samples.is_sparse:
        for start in range(0, len(samples.array.data), BLOCK_NUMBERS):
            yield start, samples.array.data[start : start + BLOCK_NUMBERS]
        return
    array = np.asarray(samples.array)
    for where in samples.slices(max(1, BLOCK_NUMBERS // samples.d)):
        yield where.start, array[where]


def _position(samples: Samples, start: int, found: npt.NDArray[np.intp]) -> tuple[int, int]:
    """Row and column of an element found in a piece."""
    if not samples.is_sparse:
        return start + int(found[0]), int(found[1])
    stored = start + int(found[0])
    row = int(np.searchsorted(samples.array.indptr, stored, side="right")) - 1
    return row, int(samples.array.indices[stored])


def _not_finite(
    samples: Samples, bad: int, first: tuple[int, int], allow_nan: bool, has_nan: bool
) -> DataError:
    row, column = first
    names = samples.feature_names
    feature = f" ({names[column]!r})" if names else ""
    what = "infinite" if allow_nan else "NaN or infinite"
    kind = DataError if allow_nan or not has_nan else MissingValuesError
    return kind(
        f"{samples.name} has {bad} {what} value(s), the first in row {row}, "
        f"column {column}{feature}; finite numbers were expected"
    )
