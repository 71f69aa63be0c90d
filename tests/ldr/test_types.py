"""Types of public calls, as a type checker sees them."""

import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ldr
from ldr.objectives import REGISTRY

PROGRAM = """
import numpy as np
import ldr

X = np.eye(5)
result: ldr.Result = ldr.solve("orthogonal-maf", X, "auto", lag=2, tolerance=1e-8)
ldr.solve("pca", X, "many")
ldr.solve("pca", X, 2, toleranse=1e-8)
ldr.solve("orthogonal-maf", X, 2, lag="two")
found = ldr.solve("pca", X, 2)
reveal_type((found.M, found.P, found.mean, found.transform(X)))
reveal_type((result.M, result.P))
first, second = result.transform((X, X))
"""


def test_the_parameters_of_all_methods_are_known():
    stub = Path(ldr.__file__).with_name("method_parameters.pyi").read_text(encoding="utf-8")
    listed = re.findall(r"^    (\w+): ", stub, flags=re.MULTILINE)
    fields = {field.name for cls in REGISTRY.values() for field in dataclasses.fields(cls)}
    assert listed == sorted(fields)


@pytest.mark.slow
def test_misspelt_options_and_dimensions_that_are_none_are_errors_and_matrices_are_arrays(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900)
    found = re.findall(r"program\.py:(\d+): error: .*\[([\w-]+)\]", done.stdout)
    assert found == [("7", "arg-type"), ("8", "call-arg"), ("9", "arg-type")], done.stdout
    shown = re.findall(r"program\.py:(\d+): note: Revealed type is \"(.*)\"", done.stdout)
    assert [number for number, _ in shown] == ["11", "12"]
    assert shown[0][1].count("ndarray[") == 4 and "Any, Any" in shown[1][1], shown
