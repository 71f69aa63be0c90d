"""What jax compiles of a function: once for each shape of its arguments, bounded and counted."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, cached_property, lru_cache, partial
from itertools import count
from threading import Timer
from typing import Any, TypeAlias

Function = Callable[..., Any]
# An array of jax's, of autograd's or of NumPy's, or what a function makes of some.
Traced: TypeAlias = Any

# Shapes of arguments whose programs are kept, each of which takes megabytes.
KEPT_SHAPES = 8
# jax keeps some 150 KiB of each shape itself, of what it has traced: after so many shapes, of all
# functions together, it is told to forget.
MANY_SHAPES = 100
# Operations of value and gradient of which the Hessian takes seconds to compile, at 6 ms each.
LONG = 300
# Seconds of compiling after which it is told what to do.
PATIENCE = 5.0

_shapes = count(1)
_tally: ContextVar[Counter[str] | None] = ContextVar("tally", default=None)


@contextmanager
def compilations() -> Iterator[Counter[str]]:
    """Counts under "compilation" the programs that are compiled within."""
    tally: Counter[str] = Counter()
    token = _tally.set(tally)
    try:
        yield tally
    finally:
        _tally.reset(token)


class Program:
    """A function for arguments of one shape, compiled when it is first called."""

    def __init__(self, function: Function, tell: Callable[[], None]) -> None:
        self._function, self._tell = function, tell
        self._compiled: Function | None = None
        self.operations = 0

    def __call__(self, *arguments: Traced) -> Traced:
        if self._compiled is None:
            self._compiled = self._compile(arguments)
        return self._compiled(*arguments)

    @property
    def compiled(self) -> bool:
        """Whether it has been called."""
        return self._compiled is not None

    def _compile(self, arguments: tuple[Traced, ...]) -> Function:
        import jax

        teller = Timer(PATIENCE, self._tell)
        teller.daemon = True
        teller.start()
        try:
            traced = jax.jit(self._function).trace(*arguments)
            self.operations = _operations(traced.jaxpr.jaxpr)
            compiled: Function = traced.lower().compile()
        finally:
            teller.cancel()
        tally = _tally.get()
        if tally is not None:
            tally["compilation"] += 1
        return compiled


class Programs:
    """Those of f for arguments of one shape: derivatives with respect to the first, M."""

    def __init__(self, function: Function, tell: Callable[[], None]) -> None:
        import jax

        if next(_shapes) % MANY_SHAPES == 0:
            jax.clear_caches()

        def f(
            M: Traced, *data: Traced
        ) -> Traced:  # of its own, so that jax forgets what is not kept here
            return function(M, *data)

        def gradient(M: Traced, *data: Traced) -> Traced:
            return jax.grad(f)(M, *data)

        def product(M: Traced, V: Traced, *data: Traced) -> Traced:
            return jax.jvp(lambda N: gradient(N, *data), (M,), (V,))[1]

        def pullback(M: Traced, *data: Traced) -> Traced:
            return jax.vjp(lambda N: gradient(N, *data), M)[1]

        self._f = f
        self.value_and_gradient = Program(jax.value_and_grad(f), tell)
        # The derivative of the gradient along V, which holds on to nothing of the size of X.
        self.product = Program(product, tell)
        # The transposed derivative of the gradient at M, which is the Hessian, being symmetric. It
        # holds what does not depend on V, so that each product costs only what does: where f forms
        # X'X, a product never sees X.
        self.pullback = Program(pullback, tell)
        self.along = Program(lambda pullback, V: pullback(V)[0], tell)
        self._returned: Traced = None

    def returned(self, M: Traced, *data: Traced) -> Traced:
        """Something of the shape and dtype of what f returns."""
        import jax

        if self._returned is None:
            self._returned = jax.eval_shape(self._f, M, *data)
        return self._returned

    @property
    def hessian_is_dear(self) -> bool:
        """Whether compiling it would take seconds; it is not compiled, and the gradient is."""
        return self.value_and_gradient.operations > LONG and not self.along.compiled


class Compiler:
    """The programs of f, for the last few shapes of its arguments.

    Parameters
    ----------
    function : callable
    name : str
        In messages.
    """

    def __init__(self, function: Function, name: str) -> None:
        self._function, self._tell = function, cache(partial(_tell, name))  # once

    def programs(self, *arguments: Traced) -> Programs:
        """For arguments of this kind; arrays of jax stand on a device, those of NumPy do not."""
        kinds = tuple((a.shape, a.dtype, getattr(a, "device", None)) for a in arguments)
        return self._of_kinds(kinds)

    @cached_property
    def _of_kinds(self) -> Callable[[tuple[Traced, ...]], Programs]:
        return lru_cache(KEPT_SHAPES)(lambda kinds: Programs(self._function, self._tell))


def _operations(jaxpr: Traced) -> int:
    """How many there are in a program, those inside loops and calls once."""
    inner = (
        getattr(found, "jaxpr", found)
        for equation in jaxpr.eqns
        for given in equation.params.values()
        for found in (given if isinstance(given, (tuple, list)) else (given,))
    )
    return len(jaxpr.eqns) + sum(_operations(one) for one in inner if hasattr(one, "eqns"))


def _tell(name: str) -> None:
    logging.getLogger("ldr").warning(
        "jax has been compiling objective %r for %g s. A loop of Python over pairs or iterations "
        "is compiled as often as it runs: jax.lax.map, jax.lax.scan or jax.lax.fori_loop compile "
        "it once; backend='autograd' compiles nothing. With JAX_COMPILATION_CACHE_DIR set to a "
        "folder, jax keeps what it has compiled for other processes.",
        name,
        PATIENCE,
    )
