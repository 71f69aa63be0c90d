"""How much memory there is for arrays, and the refusal of what would not fit, before it is made."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from ldr.solvers.errors import TooLargeError

# Arrays up to this size are made without a look at what there is.
_SMALL = 2**28


def afford(size: float, what: str, way_out: str) -> None:
    """Refuse what takes so many bytes, unless they are there.

    Raises
    ------
    TooLargeError
        It names the size, the limit and the way out.
    """
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
        for folder in (own, *own.parents):
            yield folder, *names
            if folder == top:
                break


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
