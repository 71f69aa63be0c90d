"""How many problems, which ones, and what a failure says."""

import os
import warnings
import zlib

import numpy as np

import ldr
from ldr import errors

SEED = int(os.environ.get("LDR_SEED", "0"))
SIZE = float(os.environ.get("LDR_SIZE", "1"))

# What bad input may be answered with.
REFUSALS = tuple(getattr(errors, name) for name in errors.__all__ if name.endswith("Error"))


def generator(*key):
    """Random numbers of one problem: the same for the same key, another stream for any other."""
    words = [zlib.crc32(part.encode()) if isinstance(part, str) else int(part) for part in key]
    return np.random.default_rng(words)


def maker(make):
    """`make` with all that it takes but the random numbers, which come first."""
    return lambda *given, **traits: lambda rng: make(rng, *given, **traits)


def solved(objective, X, r, **options):
    """`ldr.solve` without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ldr.solve(objective, X, r, random_state=0, **options)


def count(number):
    """That many problems, times LDR_SIZE."""
    return max(1, round(number * SIZE))


def report(violations):
    """What went wrong, a line each, the first ones only."""
    shown = violations[:20]
    more = [f"... and {len(violations) - len(shown)} more"] if len(violations) > len(shown) else []
    return "\n".join([f"{len(violations)} violations", *map(str, shown), *more])
