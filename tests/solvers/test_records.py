"""Dataclasses written later are those of the standard library, whoever asks first."""

import copy
import dataclasses
import importlib
import inspect
import pickle
import sys
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from ldr.solvers.records import dataclass
from tests.house import modules

OPTIONS = [{}, {"eq": False}, {"frozen": True}, {"frozen": True, "eq": False}]


def classes(decorator, **options):
    """A base and classes derived from it, one of which is not decorated."""

    @decorator(**options)
    class Base:
        a: int
        b: list = dataclasses.field(default_factory=list, compare=False)

    @decorator(**options)
    class Derived(Base):
        c: float = dataclasses.field(default=2.0, kw_only=True)
        d: int = dataclasses.field(init=False, default=7)

        def __post_init__(self):
            object.__setattr__(self, "sum", self.a + self.c)

    class Plain(Base):
        def __init__(self, a):
            super().__init__(a, [a])

    @decorator(**options)
    class Compared(Base):
        def __eq__(self, other):
            return True

    return Base, Derived, Plain, Compared


def raised(call):
    try:
        call()
    except Exception as error:
        return type(error), str(error)
    return None


ASKED = {
    "repr": repr,
    "vars": vars,
    "hash": lambda it: raised(lambda: hash(it)) or hash(it) == hash(copy.copy(it)),
    "equal to its copy": lambda it: it == copy.copy(it),
    "set": lambda it: raised(lambda: setattr(it, "a", 3)),
    "set what is no field": lambda it: raised(lambda: setattr(it, "other", 3)),
    "delete": lambda it: raised(lambda: delattr(it, "a")),
    "delete what is no field": lambda it: raised(lambda: delattr(it, "other")),
    "replace": lambda it: raised(lambda: dataclasses.replace(it, a=4)),
    "fields": lambda it: [(f.name, f.type, f.kw_only) for f in dataclasses.fields(it)],
    "signature": lambda it: str(inspect.signature(type(it))),
    "match": lambda it: type(it).__match_args__,
}
MADE = {"class attributes": lambda it: (vars(type(it)).get("c"), hasattr(type(it), "b"))}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("ask", [*ASKED.values(), *MADE.values()], ids=[*ASKED, *MADE])
def test_it_is_what_the_standard_library_writes(ask, options):
    for made, expected in zip(
        classes(dataclass, **options), classes(dataclasses.dataclass, **options), strict=True
    ):
        assert ask(made(1)) == ask(expected(1))


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_whoever_comes_without_init_finds_it_written(ask):
    """As out of a pickle, in a process that has made no instance."""
    for made, expected in zip(
        classes(dataclass, frozen=True), classes(dataclasses.dataclass, frozen=True), strict=True
    ):
        bare, usual = made.__new__(made), expected.__new__(expected)
        vars(bare).update(a=1, b=[], c=2.0, d=7)
        vars(usual).update(a=1, b=[], c=2.0, d=7)
        assert ask(bare) == ask(usual)


def test_nothing_is_written_before_it_is_asked_for():
    @dataclass
    class Wrong:
        values: list = []  # noqa: RUF012

    for ask in (Wrong, lambda: dataclasses.fields(Wrong), lambda: inspect.signature(Wrong)):
        with pytest.raises(ValueError, match="mutable default"):
            ask()


def test_options_that_make_another_class_or_more_methods_are_refused():
    for option in ("slots", "order", "unsafe_hash", "weakref_slot", "kw_only", "match_args"):
        with pytest.raises(TypeError, match=option):
            dataclass(**{option: True})


def test_what_nobody_is_told_twice():
    told = []

    class Telling(ABC):
        def __init_subclass__(cls):
            told.append(cls)

        @abstractmethod
        def f(self): ...

    @dataclass(frozen=True)
    class Half(Telling):
        x: int

    @dataclass(frozen=True)
    class Whole(Half):
        def f(self):
            return self.x

    with pytest.raises(TypeError, match="abstract"):
        Half(1)
    assert Whole(2).f() == 2
    assert told == [Half, Whole]


@dataclass(frozen=True)
class Pickled:
    x: int


def test_pickles():
    assert pickle.loads(pickle.dumps(Pickled(3))) == Pickled(3)


def test_threads_that_make_the_first_instances_together():
    usual, threads = sys.getswitchinterval(), 4
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(threads) as pool:
            for _ in range(30):
                barrier, (_, Derived, *_) = Barrier(threads), classes(dataclass, frozen=True)

                def make(a, barrier=barrier, Derived=Derived):
                    barrier.wait(60)
                    return Derived(a, c=1.0)

                made = list(pool.map(make, range(threads)))
                assert [it.sum for it in made] == [1.0, 2.0, 3.0, 4.0]
                assert made[0] == Derived(0, c=1.0) != made[1]
    finally:
        sys.setswitchinterval(usual)


def test_every_class_of_the_library_can_be_written():
    """What `dataclass` refuses, as a mutable default, would be seen at the first instance only."""
    names = [name for name in modules() if name.startswith("ldr") and "__main__" not in name]
    found = [it for name in names for it in vars(importlib.import_module(name)).values()]
    assert sum(inspect.isclass(it) and dataclasses.is_dataclass(it) for it in found) > len(names)
