"""Results as plain arrays and text in an .npz file: no code is stored or executed.

The header is a tree in JSON with the class or the method of each part of the result.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from types import MethodType
from typing import Any

import numpy as np

import ldr
from ldr.files import check_outputs, replaced
from ldr.objectives.data.opening import as_path
from ldr.objectives.kernel import Kernel
from ldr.objectives.objective import Objective
from ldr.objectives.registry import CHANGED, REGISTRY, RENAMED
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.status import Status

# Version of the file format; it increases when older versions of ldr cannot read new files.
FORMAT = 2
_HEADER = "ldr_model"


def write_model(path: str | Path, result: Any) -> None:
    """Write a result to an .npz file, atomically."""
    path = _npz(path)
    check_outputs({"path": path}, {})
    writer = Writer(result.objective)
    header = {"format": FORMAT, "ldr": ldr.__version__, "result": writer.of(result)}
    with replaced(path) as file:
        np.savez(file, **{_HEADER: np.array(json.dumps(header))}, **writer.arrays)  # type: ignore[arg-type]


def read_model(path: str | Path, kinds: Mapping[str, type]) -> Any:
    """Read the result in a file; `kinds` maps names to classes."""
    path = _npz(path)
    if not path.exists():
        raise FileNotFoundError(2, "no such file", str(path))
    writer = ""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            header = json.loads(str(archive[_HEADER][()]))
            found = header["format"]
            writer = header["ldr"]
            if not isinstance(found, int) or found > FORMAT:
                raise DataError(
                    f"{path.name} was written by ldr {writer} in file format {found}, but this ldr "
                    f"reads formats up to {FORMAT}: use a newer ldr"
                )
            return Reader(archive, kinds, found).of(header["result"])
    except (DataError, PermissionError):
        raise
    except Exception as error:  # a damaged archive may raise any exception
        if writer and isinstance(error, (KeyError, TypeError, ArgumentError)):
            raise DataError(
                f"this version of ldr cannot read {path.name} ({error}): use ldr {writer}, which "
                "wrote the file, or solve again"
            ) from error
        raise DataError(
            f"{path.name} is not a model of ldr, or is damaged ({error}): expected a file written "
            "by result.save"
        ) from error


def _npz(path: str | Path) -> Path:
    path = as_path(path, "path")
    if path.suffix.lower() != ".npz":
        raise ArgumentError(f"{path}: a model is an .npz file, got the ending {path.suffix!r}")
    return path


@dataclass
class Writer:
    """JSON values, and the arrays that the values refer to.

    - objective: objective of the result, for messages
    """

    objective: Objective
    arrays: dict[str, Any] = field(default_factory=dict)

    def of(self, value: Any) -> Any:
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, np.generic):
            return self.of(value.item())
        if isinstance(value, Status):
            return {"status": value.name}
        if isinstance(value, (list, tuple)):
            return {type(value).__name__: [self.of(each) for each in value]}
        if isinstance(value, Mapping):
            return {"dict": [[self.of(key), self.of(each)] for key, each in value.items()]}
        if hasattr(value, "tocsr"):
            csr = value.tocsr()
            parts = [self._array(part) for part in (csr.data, csr.indices, csr.indptr)]
            return {"csr": parts, "shape": list(csr.shape)}
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, MethodType) and isinstance(value.__self__, Kernel):
            return {"kernel": self.of(value.__self__)}
        if is_dataclass(value) and type(value).__module__.startswith("ldr."):
            return self._object(value)
        raise ArgumentError(
            f"the result of {self.objective!r} cannot be saved: it contains your own code "
            f"{value!r}, which only a pickle can hold. Pickle the result, or save the arrays P and "
            "mean by numpy.savez"
        )

    def _object(self, value: Any) -> dict[str, Any]:
        cls = type(value)
        # The accelerator is not saved, because another computer may not have it.
        names = [f.name for f in fields(value) if f.init and f.name != "accelerator"]
        found = {name: self.of(getattr(value, name)) for name in names}
        if REGISTRY.get(getattr(cls, "name", "")) is cls:
            return {"objective": cls.name, "parameters": found}
        return {"kind": cls.__name__, "fields": found}

    def _array(self, array: Any) -> dict[str, Any]:
        array = np.asarray(array)
        if array.dtype.kind == "O":  # pandas stores strings as Python objects
            array = np.array(array.tolist())
        if array.dtype.kind not in "biufcSUmM":
            raise ArgumentError(
                f"the result of {self.objective!r} cannot be saved: "
                "it has labels that are neither numbers nor text"
            )
        name = f"array{len(self.arrays)}"
        self.arrays[name] = array
        return {"array": name, "shape": list(array.shape), "type": array.dtype.str}


@dataclass(frozen=True)
class Reader:
    """Values of a file made by `Writer`; arrays are read when needed.

    - kinds: classes by their names in the file
    - format: format of the file
    """

    archive: Any
    kinds: Mapping[str, type]
    format: int = FORMAT

    def of(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if "array" in value:
            return self._array(value)
        if "csr" in value:
            from scipy.sparse import csr_array

            parts = tuple(self.of(part) for part in value["csr"])
            return csr_array(parts, shape=tuple(value["shape"]))
        if "list" in value or "tuple" in value:
            ((kind, items),) = value.items()
            found = [self.of(each) for each in items]
            return tuple(found) if kind == "tuple" else found
        if "dict" in value:
            return {self.of(key): self.of(each) for key, each in value["dict"]}
        if "status" in value:
            return Status[value["status"]]
        if "kernel" in value:
            return self.of(value["kernel"])._kernel
        if "objective" in value:
            name = value["objective"]
            if self.format == 1:  # in file format 1 methods had other names
                name = RENAMED.get(name) or CHANGED.get(name, name)
            return REGISTRY[name](**self._all(value["parameters"]))
        return self.kinds[value["kind"]](**self._all(value["fields"]))

    def _array(self, entry: Mapping[str, Any]) -> Any:
        """Return an array of the archive, validated against the header."""
        name = entry["array"]
        if "shape" not in entry:  # files of version 0.9 contain no shapes of arrays
            return self.archive[name]
        shape, kind = tuple(entry["shape"]), np.dtype(entry["type"])
        size = math.prod(shape) * kind.itemsize
        # A damaged header may state a huge array: it is read only if the file holds as many bytes.
        if self.archive.zip.getinfo(f"{name}.npy").file_size <= size + 4096:
            array = self.archive[name]
            if array.shape == shape and array.dtype == kind:
                return array
        raise DataError(f"{name} is not of shape {shape} and type {kind}: the file is damaged")

    def _all(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self.of(each) for name, each in values.items()}
