"""Dataclasses that are read when they are first asked for, and compile `__init__` alone.

`dataclasses.dataclass` compiles some six functions a class, a third of a millisecond, and a first
call imports twice as many classes as it makes instances of. Here it reads the fields, once somebody
asks for them; `__init__` is written for the first instance; what shows, compares and freezes
instances goes through their fields, and is not compiled at all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, FrozenInstanceError, field, fields, replace
from functools import partial
from inspect import get_annotations
from operator import attrgetter
from reprlib import recursive_repr
from threading import RLock
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "field", "fields", "replace"]


class _Factory:
    """The default that a signature shows of what a factory makes."""

    def __repr__(self) -> str:
        return "<factory>"


_MADE = _Factory()
_asking = RLock()


class _Asked:
    """An attribute of a class that is made when it is first asked for."""

    def __init__(self, cls: type, name: str, make: Callable[[type], Any]) -> None:
        self.cls, self.name, self.make = cls, name, make

    def __get__(self, instance: object, owner: type | None = None) -> object:
        with _asking:
            if vars(self.cls)[self.name] is self:
                setattr(self.cls, self.name, self.make(self.cls))
        made = vars(self.cls)[self.name]
        return made.__get__(instance, owner) if callable(made) else made


def _matched(cls: Any) -> tuple[str, ...]:
    return tuple(f.name for f in fields(cls) if f.init and not f.kw_only)


def _init(cls: type) -> Callable[..., None]:
    taken = sorted((f for f in fields(cls) if f.init), key=attrgetter("kw_only"))
    keywords = [f for f in taken if f.kw_only]
    known: dict[str, Any] = {"__name__": cls.__module__, "_set": object.__setattr__, "_made": _MADE}

    def parameters() -> Iterator[str]:
        yield "self"
        for f in taken:
            if keywords and f is keywords[0]:
                yield "*"
            if f.default is MISSING and f.default_factory is MISSING:
                yield f.name
            else:
                known[f"_default_{f.name}"] = _MADE if f.default is MISSING else f.default
                yield f"{f.name}=_default_{f.name}"

    def statements() -> Iterator[str]:
        for f in fields(cls):
            value = f.name
            if f.default_factory is not MISSING:
                known[f"_make_{f.name}"] = f.default_factory
                made = f"_make_{f.name}()"
                value = f"{made} if {f.name} is _made else {f.name}" if f.init else made
            elif not f.init:
                continue
            yield f"_set(self, {f.name!r}, {value})"
        yield "self.__post_init__()" if hasattr(cls, "__post_init__") else "pass"

    exec(f"def __init__({', '.join(parameters())}):\n " + "\n ".join(statements()), known)
    init: Callable[..., None] = known["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {f.name: f.type for f in taken} | {"return": None}
    return init


def _shown_and_compared(cls: Any) -> dict[str, Callable[..., Any]]:
    """What goes through the fields of the class."""

    @recursive_repr()
    def __repr__(self: object) -> str:
        shown = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(cls) if f.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def compared(it: object) -> tuple[object, ...]:
        return tuple(getattr(it, f.name) for f in fields(cls) if f.compare)

    def __eq__(self: object, other: object) -> bool:
        return compared(self) == compared(other) if type(other) is type(self) else NotImplemented

    def __hash__(self: object) -> int:
        names = (f.name for f in fields(cls) if (f.compare if f.hash is None else f.hash))
        return hash(tuple(getattr(self, name) for name in names))

    return {"__repr__": __repr__, "__eq__": __eq__, "__hash__": __hash__}


def _frozen(cls: Any) -> dict[str, Callable[..., None]]:
    def refuse(self: object, name: str, verb: str) -> None:
        if type(self) is cls or name in cls.__dataclass_fields__:
            raise FrozenInstanceError(f"cannot {verb} field {name!r}")

    def __setattr__(self: object, name: str, value: object) -> None:
        refuse(self, name, "assign to")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: object, name: str) -> None:
        refuse(self, name, "delete")
        super(cls, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _read(cls: Any, options: dict[str, bool]) -> dict[str, Field[Any]]:
    """The fields, as the standard library reads them of a class that has them alone."""
    own = get_annotations(cls)
    body = {name: vars(cls)[name] for name in own if name in vars(cls)}
    alone: Any = type(cls.__name__, (), {"__doc__": "-", "__annotations__": own, **body})
    alone.__module__ = cls.__module__
    dataclasses.dataclass(init=False, repr=False, eq=False)(alone)
    every: dict[str, Field[Any]] = {}
    for base in reversed(cls.__mro__[1:]):
        every |= getattr(base, "__dataclass_fields__", {})
    every |= alone.__dataclass_fields__
    for name, given in body.items():
        if not isinstance(given, Field):
            continue
        if given.default is MISSING:
            delattr(cls, name)
        else:
            setattr(cls, name, given.default)
    cls.__dataclass_params__ = alone.__dataclass_params__
    for option, value in options.items():
        setattr(cls.__dataclass_params__, option, value)
    return every


if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, *, init=True, repr=True, eq=True, frozen=False):
        """`dataclasses.dataclass`, later."""
        options = {"init": init, "repr": repr, "eq": eq, "frozen": frozen}
        if cls is None:
            return partial(dataclass, **options)
        later = {
            "__dataclass_fields__": partial(_read, options=options),
            "__match_args__": _matched,
        }
        if init:
            later["__init__"] = _init
        given = _shown_and_compared(cls)
        if not repr:
            del given["__repr__"]
        if not eq:
            del given["__eq__"], given["__hash__"]
        elif not frozen:
            given["__hash__"] = None
        if frozen:
            given |= _frozen(cls)
        given |= {name: _Asked(cls, name, make) for name, make in later.items()}
        for name, it in given.items():
            if vars(cls).get(name) is None:  # as `__hash__` is where `__eq__` is one's own
                setattr(cls, name, it)
        return cls
