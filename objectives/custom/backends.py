"""Derivatives of a user's function, by jax, by autograd or hand-written.

A backend returns the value, the gradient and the Hessian as a linear operator. Functions in jax are
compiled once for each shape of the arguments; the number of cached shapes is bounded.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from itertools import count
from threading import Timer
from typing import Any, TypeAlias

import numpy as np

from ldr.objectives.data.accelerator import Accelerator, float64
from ldr.solvers.errors import ObjectiveError
from ldr.solvers.manifolds import Array
from ldr.solvers.problem import read_only

Function = Callable[..., Any]
# An array of jax, autograd or NumPy.
Traced: TypeAlias = Any

# Largest number of cached programs: one for each shape of the data, each of some megabytes.
KEPT_SHAPES = 8
# Number of shapes of data after which jax's caches are cleared: a shape takes 150 KiB in them.
MANY_SHAPES = 100
# Number of operations above which a Hessian takes seconds to compile (6 ms an operation).
LONG = 300
# Seconds of compilation after which a message recommends how to avoid compilations.
PATIENCE = 5.0

_shapes = count(1)
_tally: ContextVar[Counter[str] | None] = ContextVar("tally", default=None)


@contextmanager
def compilations() -> Iterator[Counter[str]]:
    """Count the programs that jax compiles in the context, under the key "compilation"."""
    tally: Counter[str] = Counter()
    token = _tally.set(tally)
    try:
        yield tally
    finally:
        _tally.reset(token)


class Programs:
    """Programs compiled by jax: f(M, data) and its derivatives in M, for data of fixed shape.

    - value_and_gradient(M, *data)
    - product(M, V, *data): Hessian product, the forward derivative of the gradient along V, without
      intermediate results of the size of X
    - pullback(M, *data): function that multiplies by the Hessian at M. Intermediate results that do
      not depend on V are stored: if f forms X'X, a product never uses X.
    - along(pullback, V): the pullback applied to V, a Hessian product
    """

    def __init__(self, function: Function, tell: Callable[[], None]) -> None:
        import jax

        if next(_shapes) % MANY_SHAPES == 0:
            jax.clear_caches()

        # A new function object lets jax release the programs cached for the old one.
        def f(M: Traced, *data: Traced) -> Traced:
            return function(M, *data)

        def gradient(M: Traced, *data: Traced) -> Traced:
            return jax.grad(f)(M, *data)

        self._f, self._tell = f, tell
        self._functions: dict[str, Function] = {
            "value_and_gradient": jax.value_and_grad(f),
            "product": lambda M, V, *data: jax.jvp(lambda N: gradient(N, *data), (M,), (V,))[1],
            "pullback": lambda M, *data: jax.vjp(lambda N: gradient(N, *data), M)[1],
            "along": lambda pullback, V: pullback(V)[0],
        }
        self._compiled: dict[str, Function] = {}
        self._returned: Traced = None
        self.hessian_is_long = False

    def call(self, name: str, *arguments: Traced) -> Traced:
        """Call a program by name; the first call compiles the program."""
        if name not in self._compiled:
            self._compiled[name] = self._compile(name, arguments)
        return self._compiled[name](*arguments)

    def _compile(self, name: str, arguments: tuple[Traced, ...]) -> Function:
        import jax

        teller = Timer(PATIENCE, self._tell)
        teller.daemon = True
        teller.start()
        try:
            traced = jax.jit(self._functions[name]).trace(*arguments)
            if name == "value_and_gradient":
                self.hessian_is_long = _operations(traced.jaxpr.jaxpr) > LONG
            compiled: Function = traced.lower().compile()
        finally:
            teller.cancel()
        tally = _tally.get()
        if tally is not None:
            tally["compilation"] += 1
        return compiled

    def returned(self, M: Traced, *data: Traced) -> Traced:
        """Return the shape and dtype of f's value, as jax's ShapeDtypeStruct."""
        import jax

        if self._returned is None:
            self._returned = jax.eval_shape(self._f, M, *data)
        return self._returned

    @property
    def hessian_is_dear(self) -> bool:
        """True if the Hessian is not compiled yet and the compilation would take seconds."""
        return self.hessian_is_long and "along" not in self._compiled


def _operations(jaxpr: Traced) -> int:
    """Count the operations of a program, each inside a loop or call once."""
    inner = (
        getattr(found, "jaxpr", found)
        for equation in jaxpr.eqns
        for given in equation.params.values()
        for found in (given if isinstance(given, (tuple, list)) else (given,))
    )
    return len(jaxpr.eqns) + sum(_operations(one) for one in inner if hasattr(one, "eqns"))


def _tell(name: str) -> None:
    logging.getLogger("ldr").warning(
        "jax has been compiling objective %r for %g s. jax compiles every pass of a Python loop "
        "separately: jax.lax.map, jax.lax.scan or jax.lax.fori_loop compile the loop once; "
        "backend='autograd' compiles nothing. If JAX_COMPILATION_CACHE_DIR is a folder, jax stores "
        "compiled functions there for other processes.",
        name,
        PATIENCE,
    )


Arguments = tuple[Traced, ...]


class Backend(ABC):
    """Values and derivatives of f; `data` are f's arguments after M, as `place` returns them.

    - function: f
    - differentiates: True if the gradient is derived automatically
    - derives_hessian: True if the Hessian is derived automatically from the gradient
    - has_hessian: True if Hessian products exist
    """

    function: Function
    differentiates: bool = False
    derives_hessian: bool = True
    has_hessian: bool = True

    def place(self, *data: object, accelerator: Accelerator | None = None) -> Arguments:
        """Convert the data to arrays of f's library, on the device; called once for a problem."""
        return data

    def returned(self, M: Array, data: Arguments, called: Callable[[], Traced]) -> Traced:
        """Return f(M), or an object with its shape and dtype; `called` is the call of f."""
        return called()

    @abstractmethod
    def evaluate(self, M: Array, data: Arguments) -> tuple[Callable[[], Traced], ...]:
        """Return two functions without arguments, which give f(M) and the gradient (d x r)."""

    @abstractmethod
    def hessian(self, M: Array, data: Arguments) -> Callable[[Array], Array]:
        """Return the map from V to the Hessian product (d x r) at M."""

    def first_product_is_dear(self, M: Array, data: Arguments) -> bool:
        """Return True if the first Hessian product costs as much as hundreds of gradients."""
        return False

    def hessian_vector(self, M: Array, V: Array, data: Arguments) -> Array:
        """Return a single Hessian product; nothing is cached."""
        return self.hessian(M, data)(V)


@dataclass(frozen=True)
class Jax(Backend):
    """f written with jax.numpy, in float64 by a context that leaves the global flag unchanged.

    Programs are compiled once for each shape of the data, since X is an argument of the compiled
    function. The objective caches the last `KEPT_SHAPES` programs. One call of a compiled program
    returns the value and the gradient.
    """

    function: Function
    differentiates = True

    def place(self, *data: object, accelerator: Accelerator | None = None) -> Arguments:
        import jax

        device = None if accelerator is None else accelerator.device
        with float64():
            return tuple(jax.device_put(array, device) for array in data)

    def returned(self, M: Array, data: Arguments, called: Callable[[], Traced]) -> Traced:
        import jax

        try:
            with float64():
                return self.programs(M, *data).returned(M, *data)
        except (jax.errors.JAXTypeError, jax.errors.JAXIndexError) as error:
            raise ObjectiveError(
                f"objective {name_of(self.function)!r} cannot be traced by jax: it passes traced "
                "arrays to numpy, float() or an `if`, or selects rows by a mask. Use jax.numpy "
                "(jnp.where for choices) inside the function, or declare backend='autograd' or "
                f"backend='numpy'. jax says: {_first_line(error)}"
            ) from error
        except TypeError as error:
            if "item assignment" not in str(error):
                raise
            raise _changes_arguments(self.function) from error

    def evaluate(self, M: Array, data: Arguments) -> tuple[Callable[[], Traced], ...]:
        with float64():
            value, gradient = self.programs(M, *data).call("value_and_gradient", M, *data)
            return lambda: value, partial(np.asarray, gradient, np.float64)

    def hessian(self, M: Array, data: Arguments) -> Callable[[Array], Array]:
        programs = self.programs(M, *data)
        with float64():
            pullback = programs.call("pullback", M, *data)

        def product(V: Array) -> Array:
            with float64():
                return np.asarray(programs.call("along", pullback, V), np.float64)

        return product

    def hessian_vector(self, M: Array, V: Array, data: Arguments) -> Array:
        with float64():
            return np.asarray(self.programs(M, *data).call("product", M, V, *data), np.float64)

    def first_product_is_dear(self, M: Array, data: Arguments) -> bool:
        return self.programs(M, *data).hessian_is_dear

    def programs(self, *arguments: Traced) -> Programs:
        """Return the programs for the shapes, types and devices of the arguments."""
        kinds = tuple((a.shape, a.dtype, getattr(a, "device", None)) for a in arguments)
        return self._of_kinds(kinds)

    @cached_property
    def _of_kinds(self) -> Callable[[tuple[Traced, ...]], Programs]:
        function, tell = (
            self.compiled_function,
            cache(partial(_tell, name_of(self.function))),
        )  # `cache` makes the message appear only once
        return lru_cache(KEPT_SHAPES)(lambda kinds: Programs(function, tell))

    @property
    def compiled_function(self) -> Function:
        """The function that jax compiles; its arguments are the arrays that `place` returns."""
        return self.function


@dataclass(frozen=True)
class Autograd(Backend):
    """f written with autograd.numpy; the gradient is derived by reverse mode."""

    function: Function

    def evaluate(self, M: Array, data: Arguments) -> tuple[Callable[[], Traced], ...]:
        from autograd import make_vjp

        value = partial(_called, self.function, M, *data)
        return value, lambda: self._traced(make_vjp, M, data)[0](1.0)

    def hessian(self, M: Array, data: Arguments) -> Callable[[Array], Array]:
        from autograd.differential_operators import make_hvp

        product: Callable[[Array], Array] = self._traced(make_hvp, M, data)[0]
        return product

    def _traced(self, operator: Function, M: Array, data: Arguments) -> Traced:
        try:
            return operator(lambda N: self.function(N, *data))(M)
        except (TypeError, ValueError, AttributeError) as error:
            # NumPy's functions take autograd's boxes for objects.
            if "ArrayBox" not in str(error) and "dtype('O')" not in str(error):
                raise
            raise ObjectiveError(
                f"objective {name_of(self.function)!r} cannot be traced by autograd: use "
                "autograd.numpy inside the function, or declare backend='numpy' with gradient=. "
                f"autograd says: {_first_line(error)}"
            ) from error


@dataclass(frozen=True)
class HandWritten(Backend):
    """f with a gradient g(M, X) and optionally a Hessian product h(M, X, V), in NumPy.

    - gradient_function: g(M, X), or g(M, X, y)
    - hessian_function: h(M, X, V), or h(M, X, y, V)
    """

    function: Function
    gradient_function: Function
    hessian_function: Function | None = None
    derives_hessian = False

    @property
    def has_hessian(self) -> bool:  # type: ignore[override]
        return self.hessian_function is not None

    def evaluate(self, M: Array, data: Arguments) -> tuple[Callable[[], Traced], ...]:
        gradient = self.gradient_function
        value = partial(_called, self.function, M, *data)
        return value, lambda: self._matrix("gradient", M, _called(gradient, M, *data))

    def hessian(self, M: Array, data: Arguments) -> Callable[[Array], Array]:
        function = self.hessian_function
        if function is None:
            raise NotImplementedError(
                f"objective {name_of(self.function)!r} has no Hessian product"
            )
        return lambda V: self._matrix(
            "Hessian product", M, _called(function, M, *data, read_only(V))
        )

    def _matrix(self, what: str, M: Array, returned: Traced) -> Array:
        Z = np.asarray(returned)
        if Z.shape != M.shape or Z.dtype.kind not in "biuf":
            raise ObjectiveError(
                f"the {what} of {name_of(self.function)!r} has shape {Z.shape} and type {Z.dtype}, "
                f"expected real numbers of the shape of M, {M.shape}"
            )
        return Z.astype(np.float64, copy=False)


def _called(function: Function, M: Array, *rest: object) -> Traced:
    """Call a user's function with read-only arguments, and return its result."""
    try:
        return function(read_only(M), *rest)
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        raise _changes_arguments(function) from error


def _changes_arguments(function: Function) -> ObjectiveError:
    return ObjectiveError(
        f"{name_of(function)!r} changes its arguments in place: change a copy instead, M = "
        "M.copy(), or with jax use M.at[...].set(...)"
    )


def name_of(function: Function) -> str:
    """Return the function's name, or the class name of a callable object."""
    return str(getattr(function, "__name__", type(function).__name__))


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
