"""Files that are written whole or not at all, and never over what was read."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np

from ldr.objectives.data.opening import as_path
from ldr.objectives.data.samples import Samples
from ldr.objectives.data.stored import StoredSamples
from ldr.solvers.errors import ArgumentError
from ldr.types import Argument, Rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@contextmanager
def replaced(path: str | Path) -> Iterator[Path]:
    """A new file in the same folder, which takes the place of `path` once it is whole.

    Of whatever is raised while it is written, interrupts and the end of the process included,
    `path` is left as it was and the new file is removed. A symbolic link goes on to lead where it
    did; permissions stay. A device or a pipe is written to as it is.

    - raises OSError: It cannot be written: no space is left, no permission.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        yield target
        return
    # Writers know the kind of a file by its ending.
    new = target.with_name(f".ldr-{uuid4().hex}{Path(path).suffix.lower()}")
    try:
        yield new
        if target.exists():
            shutil.copymode(target, new)
        new.replace(target)
    except OSError as error:
        if error.filename not in (None, str(new)):  # of another file, that was read meanwhile
            raise
        reason = f"cannot be written: {error.strerror or error}"
        raise OSError(error.errno or errno.EIO, reason, str(path)) from error
    finally:
        new.unlink(missing_ok=True)


def write_figure(path: str | Path, figure: Figure, **style: Argument) -> None:
    """A picture in a file, of the kind that its ending says.

    Drawn in memory: matplotlib does not always say that a disk is full.
    """
    drawn = BytesIO()
    figure.savefig(drawn, format=Path(path).suffix[1:].lower(), **style)
    with replaced(path) as file:
        file.write_bytes(drawn.getbuffer())


def check_outputs(
    outputs: Mapping[str, str | Path], inputs: Mapping[str, Iterable[str | Path]]
) -> None:
    """Refuse, before any work, files that could not be written after it or that must not be.

    - outputs: files to write, by what the caller calls them
    - inputs: files, and folders of .parquet files, that are read
    - raises ldr.errors.ArgumentError: There is no such folder; an output is an input, whatever
      links lead to it, or another output.
    - raises OSError: No permission.
    """
    seen: dict[str, Path] = {}
    for name, output in outputs.items():
        path = as_path(output, name)
        _check_writable(path)
        for other, sources in inputs.items():
            for source in (as_path(source, other) for source in sources):
                if _is_part(path, source):
                    raise ArgumentError(
                        f"{name} {path} would be written over {source}, which is read as {other}: "
                        "give another file"
                    )
        for other, earlier in seen.items():
            if _is_same(path, earlier):
                raise ArgumentError(
                    f"{name} {path} and {other} {earlier} are one file: give another file"
                )
        seen[name] = path


def files_of(X: Rows) -> list[Path]:
    """The files that the rows of X are read from, as far as X knows them."""
    if isinstance(X, (str, Path)):
        return [Path(X)]
    if isinstance(X, StoredSamples):
        return list(getattr(X.array, "files", ()))  # streams and Dask's do not know
    if isinstance(X, Samples):
        return files_of(X.array)
    if isinstance(X, np.memmap):
        return [] if X.filename is None else [Path(X.filename)]
    if isinstance(X, (tuple, list)) and X and not isinstance(X[0], Real):
        return [file for part in X for file in files_of(part)]
    return []


def _check_writable(path: Path) -> None:
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise ArgumentError(f"{path}: there is no folder {str(path.parent)!r}")
    if target.is_dir():
        raise ArgumentError(f"{path} is a folder, expected a file")
    for needed in (target, target.parent) if target.exists() else (target.parent,):
        if not os.access(needed, os.W_OK):
            raise PermissionError(errno.EACCES, "no permission to write", str(needed))


def _is_part(output: Path, source: Path) -> bool:
    """Whether an output is an input, or would be a part of one that is a folder."""
    if not source.is_dir():
        return _is_same(output, source)
    within = Path(os.path.realpath(output)).is_relative_to(os.path.realpath(source))
    if within and output.suffix.lower() == ".parquet":
        return True
    return any(_is_same(output, file) for file in source.rglob("*.parquet"))


def _is_same(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, by links or by names that differ in case only."""
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there yet
        return os.path.realpath(one) == os.path.realpath(other)
