"""Derivatives of a function f(M, X) or f(M, X, y): by jax, by autograd, or written by hand.

Each backend gives the same three things at M: the value, the gradient (only when it is asked for)
and the Hessian as a linear operator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from ldr.objectives.data.accelerator import Accelerator, float64
from ldr.solvers.errors import ObjectiveError
from ldr.solvers.manifolds import Array
from ldr.solvers.riemannian import read_only

Function = Callable[..., Any]
Arguments = tuple[Any, ...]


class Backend(ABC):
    """How f is differentiated. `data` are f's arguments after M, as `place` gives them.

    Attributes
    ----------
    name : str
        As the user says it.
    function : callable
        f.
    differentiates : bool
        Whether it derives the gradient itself, by rules that cannot be wrong in silence.
    has_hessian : bool
        Whether it has Hessian products.
    """

    name: str
    function: Function
    differentiates: bool = False
    has_hessian: bool = True

    def place(self, *data: object, accelerator: Accelerator | None = None) -> Arguments:
        """The data where and how f takes them, once a problem."""
        return data

    def returned(self, M: Array, data: Arguments) -> Any:
        """What f returns at M, or at least something of the same shape and dtype."""
        return _called(self.function, M, *data)

    @abstractmethod
    def evaluate(self, M: Array, data: Arguments) -> tuple[float, Callable[[], Array]]:
        """The value at M, and the gradient (d x r) as a function to call where it is needed."""

    def gradient(self, M: Array, data: Arguments) -> Array | None:
        """The gradient without the value, where it costs less; else None."""
        return None

    @abstractmethod
    def hessian(self, M: Array, data: Arguments) -> Callable[[Array], Array]:
        """The map from V to the Hessian product (d x r) at M."""

    def hessian_vector(self, M: Array, V: Array, data: Arguments) -> Array:
        """One product, where nothing of the Hessian at M is worth keeping."""
        return self.hessian(M, data)(V)


@dataclass(frozen=True)
class Jax(Backend):
    """f written with jax.numpy; float64 within the x64 context, so that no global flag is touched.

    Compiled once for each shape of the data and kept as long as the objective: X is an argument of
    the compiled function, not part of it. Value and gradient come from one call.

    Parameters
    ----------
    function : callable
    """

    function: Function
    name = "jax"
    differentiates = True

    def place(self, *data: object, accelerator: Accelerator | None = None) -> Arguments:
        import jax

        device = None if accelerator is None else accelerator.device
        with float64():
            return tuple(jax.device_put(array, device) for array in data)

    def returned(self, M: Array, data: Arguments) -> Any:
        import jax

        try:
            with float64():
                return jax.eval_shape(self.function, M, *data)
        except (jax.errors.JAXTypeError, jax.errors.JAXIndexError) as error:
            raise ObjectiveError(
                f"objective {_name(self.function)!r} cannot be traced by jax: it hands traced "
                "arrays to numpy, float() or an `if`, or selects rows by a mask. Use jax.numpy "
                "(jnp.where for choices) inside the function, or declare backend='autograd' or "
                f"backend='numpy'. jax says: {_first_line(error)}"
            ) from error
        except TypeError as error:
            if "item assignment" not in str(error):
                raise
            raise _changes_arguments(self.function) from error

    def evaluate(self, M: Array, data: Arguments) -> tuple[float, Callable[[], Array]]:
        with float64():
            value, gradient = self._value_and_gradient(M, *data)
            return float(value), partial(np.asarray, gradient, np.float64)

    def hessian(self, M: Array, data: Arguments) -> Callable[[Array], Array]:
        with float64():
            pullback = self._gradient_pullback(M, *data)

        def product(V: Array) -> Array:
            with float64():
                return np.asarray(self._apply(pullback, V), np.float64)

        return product

    def hessian_vector(self, M: Array, V: Array, data: Arguments) -> Array:
        with float64():
            return np.asarray(self._product(M, V, *data), np.float64)

    @cached_property
    def _value_and_gradient(self) -> Function:
        import jax

        return jax.jit(jax.value_and_grad(self.function))

    @cached_property
    def _product(self) -> Function:
        """The derivative of the gradient along V, which holds on to nothing of the size of X."""
        import jax

        def product(M: object, V: object, *data: object) -> Any:
            return jax.jvp(lambda N: jax.grad(self.function)(N, *data), (M,), (V,))[1]

        return jax.jit(product)

    @cached_property
    def _gradient_pullback(self) -> Function:
        """The transposed derivative of the gradient at M, which is the Hessian, being symmetric.

        It holds what does not depend on V, so that each product costs only what does: where f
        forms X'X, a product never sees X.
        """
        import jax

        def pullback(M: object, *data: object) -> Any:
            return jax.vjp(lambda N: jax.grad(self.function)(N, *data), M)[1]

        return jax.jit(pullback)

    @cached_property
    def _apply(self) -> Function:
        import jax

        return jax.jit(lambda pullback, V: pullback(V)[0])


@dataclass(frozen=True)
class Autograd(Backend):
    """f written with autograd.numpy; the tape of value and of gradient is made once a point.

    Parameters
    ----------
    function : callable
    """

    function: Function
    name = "autograd"

    def evaluate(self, M: Array, data: Arguments) -> tuple[float, Callable[[], Array]]:
        from autograd import make_vjp

        pullback, value = self._traced(make_vjp, M, data)
        return float(value), lambda: pullback(1.0)

    def hessian(self, M: Array, data: Arguments) -> Callable[[Array], Array]:
        from autograd.differential_operators import make_hvp

        product: Callable[[Array], Array] = self._traced(make_hvp, M, data)[0]
        return product

    def _traced(self, operator: Function, M: Array, data: Arguments) -> Any:
        try:
            return operator(lambda N: self.function(N, *data))(M)
        except (TypeError, ValueError, AttributeError) as error:
            if "ArrayBox" not in str(error):
                raise
            raise ObjectiveError(
                f"objective {_name(self.function)!r} cannot be traced by autograd: use "
                "autograd.numpy inside the function, or declare backend='numpy' with gradient=. "
                f"autograd says: {_first_line(error)}"
            ) from error


@dataclass(frozen=True)
class HandWritten(Backend):
    """f, its gradient g(M, X) and perhaps its Hessian product h(M, X, V), all of them NumPy.

    Parameters
    ----------
    function : callable
    gradient_function : callable
        g(M, X), or g(M, X, y).
    hessian_function : callable, optional
        h(M, X, V), or h(M, X, y, V).
    """

    function: Function
    gradient_function: Function
    hessian_function: Function | None = None
    name = "numpy"

    @property
    def has_hessian(self) -> bool:  # type: ignore[override]
        return self.hessian_function is not None

    def evaluate(self, M: Array, data: Arguments) -> tuple[float, Callable[[], Array]]:
        return float(_called(self.function, M, *data)), lambda: self.gradient(M, data)

    def gradient(self, M: Array, data: Arguments) -> Array:
        return np.asarray(_called(self.gradient_function, M, *data), np.float64)

    def hessian(self, M: Array, data: Arguments) -> Callable[[Array], Array]:
        function = self.hessian_function
        if function is None:
            raise NotImplementedError(f"objective {_name(self.function)!r} has no Hessian product")
        return lambda V: np.asarray(_called(function, M, *data, read_only(V)), np.float64)


def _called(function: Function, M: Array, *rest: object) -> Any:
    """What a function of the user's returns; what it is given cannot be written to."""
    try:
        return function(read_only(M), *rest)
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        raise _changes_arguments(function) from error


def _changes_arguments(function: Function) -> ObjectiveError:
    return ObjectiveError(
        f"{_name(function)!r} writes into its arguments, which belong to the solver: write into a "
        "copy instead, M = M.copy() (or M.at[...].set(...) of jax)"
    )


def _name(function: Function) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
