"""Pickling of custom objectives by value, so that any process can unpickle them.

Python pickles a function by name: unpickling needs the defining script or module, and nested
functions or lambdas cannot be pickled. Here a function's code and its dependencies are pickled.
Unpickling in the same process returns the original object, with jax's compiled programs. If the
defining module can be imported, unpickling returns the module's object.
"""

from __future__ import annotations

import importlib
import pickle
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache, partial
from pathlib import Path
from types import ModuleType
from uuid import uuid4
from weakref import WeakValueDictionary

Address = tuple[str, str]

# Objects that were pickled or unpickled in this process, by a unique name.
_known: WeakValueDictionary[str, object] = WeakValueDictionary()
# Stack of the nested objects that are being pickled, to detect circular references.
_underway: list[object] = []
_pickling = threading.RLock()


def reduced(whole: object, parts: Sequence[object]) -> tuple[object, ...]:
    """Return the tuple of `__reduce__` for an object that the class constructs from `parts`."""
    address = _address(whole)
    try:
        pickled = _pickled(whole, parts)
    except Exception as error:
        if address is None:
            raise pickle.PicklingError(
                f"{whole!r} cannot be pickled with the objects that its functions use: {error}"
            ) from error
        pickled = None
    return opened, (address, _named(whole), pickled)


def _pickled(whole: object, parts: Sequence[object]) -> bytes:
    import cloudpickle  # type: ignore[import-untyped]

    with _pickling, _by_value(parts):
        if any(whole is outer for outer in _underway):
            raise pickle.PicklingError("circular reference between objective and function")
        _underway.append(whole)
        try:
            return bytes(cloudpickle.dumps((type(whole), tuple(parts))))
        finally:
            _underway.pop()


def opened(address: Address | None, name: str, pickled: bytes | None) -> object:
    """Return the existing object of this process or of an importable module, else a new object."""
    found = _known.get(name)
    if found is None and address is not None:
        found = _imported(*address)
    if found is None and pickled is None:
        raise pickle.UnpicklingError(f"the module of {'.'.join(address or ())} cannot be imported")
    return _made(name, pickled) if found is None else found


@lru_cache(maxsize=32)
def _made(name: str, pickled: bytes) -> object:
    """Return the same object at each unpickling, so that jax's compiled programs are kept."""
    cls, parts = pickle.loads(pickled)
    return _with_name(cls(*parts), name)


def _named(whole: object) -> str:
    """Return a unique name of an object, preserved by pickling."""
    if "_name" not in vars(whole):
        _with_name(whole, uuid4().hex)
    return str(vars(whole)["_name"])


def _with_name(whole: object, name: str) -> object:
    object.__setattr__(whole, "_name", name)
    _known[name] = whole
    return whole


def _address(whole: object) -> Address | None:
    """Return module and name of an object; None for an object defined in a script."""
    module, path = whole.__module__, vars(whole).get("__qualname__", "")
    found = _at(sys.modules.get(module), path)
    return (module, path) if found is whole and module != "__main__" else None


def _imported(module: str, path: str) -> object:
    try:
        return _at(importlib.import_module(module), path)
    except Exception:  # the module does not exist, or importing it fails
        return None


def _at(found: object, path: str) -> object:
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


@contextmanager
def _by_value(parts: Sequence[object]) -> Iterator[None]:
    """Have cloudpickle include the definitions of the functions' own modules."""
    import cloudpickle

    registered = cloudpickle.list_registry_pickle_by_value()
    with ExitStack() as left:
        for module in {_module_of(part) for part in parts if callable(part)}:
            if module is not None and _users(module) and module.__name__ not in registered:
                cloudpickle.register_pickle_by_value(module)
                left.callback(cloudpickle.unregister_pickle_by_value, module)
        yield


def _module_of(function: object) -> ModuleType | None:
    while isinstance(function, partial):
        function = function.func
    return sys.modules.get(getattr(function, "__module__", None) or "")


def _users(module: ModuleType) -> bool:
    """Return True for a user's module, False for an installed package."""
    file = getattr(module, "__file__", None)
    top = module.__name__.partition(".")[0]
    installed = {"site-packages", "dist-packages"}
    return (
        file is not None
        and module.__name__ != "__main__"
        and top not in (*sys.stdlib_module_names, __name__.partition(".")[0])
        and not installed & set(Path(file).parts)
    )
