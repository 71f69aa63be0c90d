"""The programs in a text of the documentation, run one after the other."""

import contextlib
import io
import re
import sys
from types import ModuleType

import jax
import pytest


def run_programs(path, at_least, most=None):
    """Run the python blocks of a Markdown file; each must print the text block that follows it."""
    programs = programs_of(path.read_text(encoding="utf-8"))[:most]
    assert len(programs) >= at_least
    module, precision = ModuleType(path.stem), jax.config.jax_enable_x64
    sys.modules[path.stem] = module  # so that its classes can be pickled
    try:
        for program, expected in programs:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(program, path.name, "exec"), vars(module))
            same_up_to_rounding(printed.getvalue(), expected)
    finally:
        del sys.modules[path.stem]  # and nothing that was imported on the way
        jax.config.update("jax_enable_x64", precision)  # `import pymanopt` has jax count in double


def programs_of(text):
    """Each python block, and what it prints: the text block that follows, or nothing."""
    pattern = r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?"
    return re.findall(pattern, text, flags=re.DOTALL)


def same_up_to_rounding(printed, expected):
    """Words equal, numbers nearly; times, counts of iterations and rounding levels are free."""
    number = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")
    free = re.compile(
        r"[-+.e\d]+ s\b|\d+ iterations|"
        r"(gap at most|difference|relative error|slope|stationarity) [-+.e\d]+"
    )
    printed, expected = (free.sub("_", text) for text in (printed, expected))
    assert number.sub("#", printed).split() == number.sub("#", expected).split()
    for a, b in zip(number.findall(printed), number.findall(expected), strict=True):
        assert float(a) == pytest.approx(float(b), rel=1e-6, abs=1e-9)


# A file with an objective of a user's own.
OBJECTIVE = """
import ldr

@ldr.objective(manifold="grassmann", sense="max", backend="numpy",
               gradient=lambda M, X: 2 * X.T @ (X @ M) / len(X))
def variance(M, X):
    return ((X @ M) ** 2).sum() / len(X)
"""
