"""BLAS routines that add into an array in place and let other threads of Python work meanwhile.

SciPy's wrappers of them hold Python's lock, and NumPy's product needs an array of its own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np

from ldr.solvers.manifolds import Array

# A routine of Fortran takes the addresses of all its arguments.
Routine = Callable[..., None]


@cache
def _routine(name: str, arguments: int) -> Routine:
    from scipy.linalg import cython_blas

    python, capsule = ctypes.pythonapi, cython_blas.__pyx_capi__[name]
    signature = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)
    address = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    said = signature(("PyCapsule_GetName", python))(capsule)
    place = address(("PyCapsule_GetPointer", python))(capsule, said)
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(place)


def add_square(total: Array, V: Array, weight: float) -> Array:
    """Upper triangle of total + weight V'V, in place (total in Fortran order)."""
    V = np.ascontiguousarray(V)
    d, rows, weighs, one = _integer(len(total)), _integer(len(V)), _real(weight), _real(1.0)
    syrk = _routine("dsyrk", 10)
    syrk(b"U", b"N", d, rows, weighs, V.ctypes.data, d, one, total.ctypes.data, d)
    return total


def add_product(total: Array, Z: Array, Y: Array) -> Array:
    """total + Z'Y, in place (total in Fortran order)."""
    Z, Y = np.ascontiguousarray(Z), np.ascontiguousarray(Y)
    d, e, rows, one = _integer(Z.shape[1]), _integer(Y.shape[1]), _integer(len(Z)), _real(1.0)
    z, y = Z.ctypes.data, Y.ctypes.data
    _routine("dgemm", 13)(b"N", b"T", d, e, rows, one, z, d, y, e, one, total.ctypes.data, d)
    return total


def _integer(value: int) -> object:
    return ctypes.byref(ctypes.c_int(value))


def _real(value: float) -> object:
    return ctypes.byref(ctypes.c_double(value))
