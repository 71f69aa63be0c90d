"""`import ldr` stays light, and the house is one package."""

import importlib
import pkgutil
import subprocess
import sys
from importlib import metadata
from inspect import ismodule

import pytest

import ldr

HEAVY = [
    "autograd",
    "dask",
    "distributed",
    "jax",
    "numpy",
    "matplotlib",
    "pandas",
    "pymanopt",
    "rich",
    "scipy.optimize",
    "scipy.sparse.csgraph",
    "scipy.sparse.linalg",
    "scipy.spatial",
    "scipy.special",
    "scipy.stats",
    "sklearn",
    "typer",
]


def run_python(program, folder):
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    ).stdout


@pytest.mark.smoke
def test_import_loads_nothing_heavy(tmp_path):
    program = f"import sys, ldr; print([m for m in {HEAVY} if m in sys.modules])"
    assert run_python(program, tmp_path).strip() == "[]"


def test_using_every_name_loads_nothing_heavy(tmp_path):
    # Beyond scipy.linalg, of which versions differ in what else they load; and beyond the
    # estimators, whose base classes are scikit-learn's.
    program = (
        "import sys, scipy.linalg; before = set(sys.modules); import ldr; "
        "stub = open(ldr.__file__ + 'i').read(); "
        "listed = stub.split('from .estimators import (')[1].split(')')[0]; "
        "estimators = {'estimators', *listed.replace(',', ' ').split()}; "
        "[getattr(ldr, name) for name in ldr.__all__ if name not in estimators]; "
        f"print([m for m in {HEAVY} if m in set(sys.modules) - before])"
    )
    assert run_python(program, tmp_path).strip() == "[]"


# What a first solve has no use for: SciPy's sparse matrices, and of the library's own modules,
# beside the other pages.
OF_OTHERS = [
    "ldr.inference.parallel_analysis",
    "scipy.sparse",
    *(f"ldr.objectives.{name}" for name in ("custom.function", "kernel", "sdr")),
    *(f"ldr.objectives.families.{name}" for name in ("row_sum",)),
    *(f"ldr.objectives.families.{name}" for name in ("composite",)),
    *(f"ldr.objectives.statistics.{name}" for name in ("row_spaces",)),
    *(f"ldr.solvers.{name}" for name in ("registry", "stochastic", "nonsmooth.proximal_gradient")),
    *(f"ldr.solvers.{name}" for name in ("manifolds.support",)),
    "ldr.objectives.slices",
]


@pytest.mark.parametrize("method", ["orthogonal-lda", "pca", "wda"])
def test_a_first_solve_loads_its_own_page_alone(method, tmp_path):
    labels = "" if method == "pca" else ", y=np.arange(30) % 3"
    program = (
        "import sys, numpy as np, scipy.linalg; before = set(sys.modules); import ldr; "
        "X = np.random.default_rng(0).normal(size=(30, 4)); "
        f"ldr.solve({method!r}, X, 1{labels}); "
        "pages = set(ldr.objectives.registry.PAGES.values()); "
        f"others = pages.union({OF_OTHERS}, {HEAVY}); "
        "print(sorted(others & set(sys.modules) - before))"
    )
    page = method.removeprefix("orthogonal-")
    assert run_python(program, tmp_path).strip() == f"['ldr.objectives.{page}']"


@pytest.mark.parametrize("room", ["", ".solvers", ".solvers.manifolds", ".objectives.statistics"])
def test_no_name_of_a_lazy_room_is_one_of_its_modules_too(room):
    """The import of the module would take the name's place."""
    package = importlib.import_module("ldr" + room)
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    values = {name for name in package.__all__ if not ismodule(getattr(package, name))}
    assert not modules & values


def test_floors_are_one_package_from_any_folder(tmp_path):
    program = (
        "import sys, ldr, ldr.objectives.lda, ldr.solvers.manifolds; "
        "print(ldr.objectives.OrthogonalLDA is ldr.objectives.lda.OrthogonalLDA, "
        "'objectives' in sys.modules, 'solvers' in sys.modules)"
    )
    assert run_python(program, tmp_path).split() == ["True", "False", "False"]


def test_version_is_the_distributions():
    try:
        installed = metadata.version("ldr-manifold")
    except metadata.PackageNotFoundError:
        pytest.skip("ldr is not installed")
    assert installed == ldr.__version__
