"""What a method holds in memory at once, and what there is: what does not fit is refused before."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

from ldr.objectives.data.samples import Samples
from ldr.solvers.errors import TooLargeError
from ldr.solvers.records import dataclass

# Arrays up to this size are made without a look at what there is.
_SMALL = 2**28


def afford(size: float, what: str, way_out: str) -> None:
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


_NUMBER = 8.0
# Vectors as long as the rows and the columns, where there are products alone.
_VECTORS = 64

_WAYS_OUT = {
    "columns x columns": "leave out columns, or take a method of few directions of sparse rows by "
    "itself, in no sum, without a penalty and not normalised (pca, lda, maf, pls)",
    "rows x columns": "give fewer rows or columns, or a method of sums over rows and the rows as a "
    "path or in blocks",
    "rows x rows": "give fewer rows, or landmarks= or components= where there are such",
    "(rows + columns) x directions": "give fewer rows or columns",
}


@dataclass(frozen=True)
class Footprint:
    """How many arrays of numbers there are at the same time, of which shapes, beside the rows.

    What was measured of each method, rounded up.

    Attributes
    ----------
    squares : float
        Columns x columns, of all views together; of fewer rows than columns, of their span.
    span : float or None
        Rows x columns, of fewer rows than columns; None where they have squares all the same.
    rows : float
        Rows x columns, of rows that are in memory; of those whose span is taken, in its columns.
    row : float
        Numbers beside each of them.
    pairs : float
        Rows x rows, of rows that are in memory.
    products : bool
        Whether products are enough, of sparse rows of very many columns.
    everywhere : bool
        Whether they are at every M, not only to find an optimum and to know what is near it.
    """

    squares: float = 8.0
    span: float | None = 4.0
    rows: float = 0.0
    row: float = 0.0
    pairs: float = 0.0
    products: bool = False
    everywhere: bool = False

    @property
    def near(self) -> bool:
        """Whether products are enough near an optimum alone."""
        return self.products and not self.everywhere

    def sizes(self, views: Sequence[Samples]) -> dict[str, float]:
        """Bytes, by shape; of rows that were not counted, those of the columns alone."""
        d = sum(view.d for view in views)
        if not all(view.n_known for view in views):
            return {"columns x columns": _NUMBER * self.squares * d**2}
        n = views[0].n
        if self.products and any(view.wide for view in views):
            return {"(rows + columns) x directions": _NUMBER * _VECTORS * (n + d)}
        few = [] if self.span is None else [view for view in views if view.n < view.d]
        k = d - sum(view.d - view.n for view in few)
        numbers = {
            "columns x columns": self.squares * k**2,
            "rows x columns": (self.span or 0.0) * sum(view.n * view.d for view in few),
        }
        if not views[0].stored:
            filled = 0.0 if views[0].is_sparse else self.rows * (k if self.span else d)
            numbers["rows x columns"] += n * (filled + self.row)
            numbers["rows x rows"] = self.pairs * n**2
        return {shape: _NUMBER * size for shape, size in numbers.items()}

    def afford(self, name: str, views: Sequence[Samples]) -> None:
        """Refuse what would not fit."""
        sizes = self.sizes(views)
        shape = max(sizes, key=lambda shape: sizes[shape])
        afford(sum(sizes.values()), f"{name}, with its arrays of {shape},", _WAYS_OUT[shape])
