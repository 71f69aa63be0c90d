"""Dataclasses whose methods are written when they are first asked for.

`dataclasses.dataclass` compiles some six functions a class, a third of a millisecond, and a first
call imports twice as many classes as it makes instances of, most of which nobody compares. Here
`__init__` is written for the first instance, or for who reads the fields, and what shows and
compares instances when that is asked for; until then what they will be stands in their place, so
that whoever comes another way, out of a pickle say, finds them too.
"""

from __future__ import annotations

import dataclasses
from dataclasses import field, fields, replace
from threading import RLock
from typing import TYPE_CHECKING

__all__ = ["dataclass", "field", "fields", "replace"]

_WRITES = {
    "init": ("__init__",),
    "repr": ("__repr__",),
    "eq": ("__eq__", "__hash__"),
    "frozen": ("__setattr__", "__delattr__"),
}
_SHOWN = {*_WRITES["repr"], *_WRITES["eq"]}
_writing = RLock()


class _Twin:
    """The first base of a class's twin, of which the other bases are not told."""

    def __init_subclass__(cls) -> None:
        pass


class _Record:
    """A class as its author wrote it, and the options of `dataclass`."""

    def __init__(self, cls: type, options: dict[str, bool]) -> None:
        self.cls, self.options = cls, options
        self.body = {k: v for k, v in vars(cls).items() if k not in ("__dict__", "__weakref__")}

    def write(self, shown: bool) -> None:
        """Make a twin of the class a dataclass, and give the class what the twin was given.

        So that a name is never without a value, which another thread may ask for at any time.
        """
        twin = type(self.cls)(self.cls.__name__, (_Twin, *self.cls.__bases__), dict(self.body))
        before = dict(vars(twin))
        others = {"init": False} if shown else {"repr": False, "eq": False}
        after = vars(dataclasses.dataclass(**self.options | others)(twin))
        for name in before.keys() - after.keys() if not shown else ():
            delattr(self.cls, name)
        waiting = {name for name, it in vars(self.cls).items() if isinstance(it, _Unwritten)}
        for name, it in after.items():
            given = name in waiting or before.get(name, waiting) is not it
            if given and (name in _SHOWN) is shown:
                for cell in getattr(it, "__closure__", None) or ():
                    if cell.cell_contents is twin:  # what is frozen asks whose instance it is of
                        cell.cell_contents = self.cls
                setattr(self.cls, name, it)


class _Unwritten:
    """What a class will be given under this name."""

    def __init__(self, record: _Record, name: str) -> None:
        self.record, self.name = record, name

    def __get__(self, instance: object, owner: type | None = None) -> object:
        with _writing:
            if vars(self.record.cls)[self.name] is self:
                self.record.write(self.name in _SHOWN)
        written = vars(self.record.cls)[self.name]
        return written.__get__(instance, owner) if hasattr(written, "__get__") else written


if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, *, init=True, repr=True, eq=True, frozen=False):
        """`dataclasses.dataclass`, later."""
        options = {"init": init, "repr": repr, "eq": eq, "frozen": frozen}
        if cls is None:
            return lambda cls: dataclass(cls, **options)
        record = _Record(cls, options)
        names = (name for option, names in _WRITES.items() if options[option] for name in names)
        for name in ("__dataclass_fields__", "__match_args__", *names):
            if record.body.get(name) is None:  # as `__hash__` is where `__eq__` is one's own
                setattr(cls, name, _Unwritten(record, name))
        return cls
