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
    *("autograd", "dask", "distributed", "jax", "numpy", "matplotlib", "pandas", "pymanopt"),
    *("rich", "scipy.optimize", "scipy.sparse.csgraph", "scipy.sparse.linalg", "scipy.spatial"),
    *("scipy.special", "scipy.stats", "sklearn", "typer"),
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
    "scipy.sparse",
    *(f"ldr.objectives.{name}" for name in ("custom.function", "kernel", "sdr")),
    *(f"ldr.objectives.families.{name}" for name in ("row_sum",)),
    *(f"ldr.objectives.families.{name}" for name in ("composite",)),
    *(f"ldr.objectives.statistics.{name}" for name in ("row_spaces",)),
    *(f"ldr.solvers.{name}" for name in ("registry", "stochastic", "proximal_gradient")),
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


# The core without the packages of extras: methods are solved, all else says what to install.
WITHOUT_EXTRAS = """
import sys
from importlib.machinery import PathFinder

BLOCKED = {
    "autograd", "dask", "distributed", "jax", "jinja2", "matplotlib", "pandas", "pyarrow",
    "pymanopt", "rich", "typer",
}

class Missing(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing)
import numpy as np
import ldr
from ldr.__main__ import main
from ldr.cli.cluster import connected

X, y = np.random.default_rng(0).normal(size=(60, 5)), np.arange(60) % 3
for name in ("pca", "lda", "sfa", "fa", "ica", "nca", "robust-pca", "sdr", "sparse-pca"):
    assert ldr.solve(name, X, 2, y=y if name in ("lda", "nca", "sdr") else None).value
assert str(ldr.path("pca", X, [1, 2], folds=3)) and str(ldr.bootstrap("pca", X, 2, draws=5))
assert ldr.LDA(2).fit(X, y).transform(X).shape == (60, 2)
found = ldr.solve("orthogonal-lda", X, 2, y=y)
for extra, refused in {
    "jax": lambda: ldr.layer("pca", 2),
    "jax ": lambda: found.sensitivity(X, y),
    " jax": lambda: ldr.objective(manifold="grassmann")(lambda M, X: (X @ M).sum()),
    "pymanopt": lambda: ldr.solve("orthogonal-lda", X, 2, y=y, solver="pymanopt:trust-region"),
    "plot": lambda: ldr.plots.projection(found, X, y),
    "plot ": lambda: ldr.report.html(found, X, y),
    "cli": lambda: ldr.observers.Progress(),
    "cli ": main,
    "files": lambda: ldr.solve("pca", "table.csv", 1),
    "dask": lambda: connected("tcp://127.0.0.1:1").__enter__(),
}.items():
    try:
        refused()
    except (ldr.errors.ArgumentError, SystemExit) as error:
        wanted = f"is not installed: pip install 'ldr-manifold[{extra.strip()}]'"
        assert wanted in str(error), (extra, error)
    else:
        raise AssertionError(extra)
"""


def test_the_core_needs_no_extra(tmp_path):
    (tmp_path / "table.csv").write_text("a,b\n1,2\n3,5\n4,4\n")
    run_python(WITHOUT_EXTRAS, tmp_path)
