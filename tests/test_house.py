"""The house stands: no circles, imports go down, nothing is left out of the package."""

import ast
import inspect
import re
import tomllib

import pytest

from ldr.objectives import REGISTRY
from tests.house import PACKAGES, ROOT, circle, floor, imports, modules, plan

# Files that are longer than a reader likes, each for the reason given.
LONG = {
    "experiments/other_papers/guided_tour.py": "one paper, one page",
    "experiments/other_papers/trace_optimization.py": "one paper, one page",
    "experiments/other_papers/probabilistic.py": "one paper, one page",
}
MOST_LINES = 400

# Modules of the rooms without doors that say Any, each for the reason given.
ANYTHING = {
    "ldr.solvers.solver": "whatever a solver remembers",
    "ldr.solvers.records": "classes, whatever is in them",
    "ldr.solvers.pymanopt_problems": "points, as pymanopt writes them",
    "ldr.solvers.manifolds.manifold": "multipliers, which each manifold knows",
    "ldr.plots.drawn": "what a summary holds",
    "ldr.sensitivity.formulas": "arrays that jax traces",
    "ldr.sensitivity.ratio": "forms of the rows, or arrays that jax traces",
    "ldr.objectives.families.row_sum": "a number, or several in an array",
    "ldr.objectives.families.nested": "what the user gives",
}


def test_no_module_imports_itself_by_way_of_others():
    assert circle(imports()) == []


def test_a_circle_would_be_found():
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": set()})) == {"a", "b", "c"}


def test_floors_import_downwards_only():
    upward = [
        (name, target)
        for name, targets in imports().items()
        for target in targets
        if floor(target) > floor(name)
    ]
    assert upward == []


def test_late_and_type_checking_imports_count(tmp_path):
    assert "ldr.plots" in imports()["ldr.result"], "imported in a function"
    assert "ldr.plots.drawn" in imports()["ldr.report"]


def test_every_folder_is_in_the_package():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    known = modules()
    folders = {
        name
        for name, path in known.items()
        if path.stem == "__init__" and name.split(".")[0] == "ldr"
    }
    assert set(listed["packages"]) == folders == set(listed["package-dir"])
    for name, folder in listed["package-dir"].items():
        assert (ROOT / folder).samefile(known[name].parent)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_file_is_long_without_a_reason(package):
    long = {
        str(path.relative_to(ROOT))
        for name, path in modules().items()
        if name.split(".")[0] == package and len(path.read_text().splitlines()) > MOST_LINES
    }
    assert long <= set(LONG), "longer than a reader likes: split it"


def test_anything_comes_in_by_the_doors_only():
    rooms = ("ldr.solvers", "ldr.objectives.families", "ldr.objectives.statistics")
    rooms += ("ldr.inference", "ldr.plots", "ldr.sensitivity", "ldr.testing")
    inside = {
        name
        for name, path in modules().items()
        if name.startswith(rooms) and re.search(r"import [^\n]*\bAny\b", path.read_text())
    }
    assert inside <= set(ANYTHING), "a type says more than Any: see CONTRIBUTING.md"


@pytest.mark.parametrize("name", ["lda", "classical-lda", "maf", "cca", "lpp", "npe", "pca"])
def test_what_a_page_binds_is_read_at_a_glance(name):
    assert len(inspect.getsource(REGISTRY[name].bind).splitlines()) <= 11


def test_the_plan_of_the_rooms_is_the_one_that_contributors_read():
    page = (ROOT / "CONTRIBUTING.md").read_text()
    assert plan() in page, "put what python -m tests.house prints into CONTRIBUTING.md"


def test_no_test_waits_for_ever():
    waits = (".wait", ".join", ".communicate", ".result")
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and "timeout" not in [key.arg for key in call.keywords]:
                done, where = ast.unparse(call.func), f"{path}:{call.lineno}"
                assert done != "subprocess.run" and (call.args or not done.endswith(waits)), where
