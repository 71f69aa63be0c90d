"""Imports go down without circles, the package is whole, and the library does not grow unseen."""

import ast
import re
import tomllib

from tests.house import LARGEST, ROOT, circle, constants, counts, floor, imports, modules


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


def test_imports_in_functions_count_and_those_for_type_checkers_do_not():
    assert "ldr.plots" in imports()["ldr.result"], "imported in a function"
    assert "ldr.result" not in imports()["ldr.plots"]


def test_sizes_rise_only_with_their_number():
    larger = {name: count for name, count in counts().items() if count > LARGEST[name]}
    assert larger == {}, "remove code, or raise the number in tests/house.py in this commit"


def test_headings_of_docstrings_are_underlined():
    """Otherwise numpydoc takes a section for text of the section before."""
    bare = re.compile(
        r"^( *)(Parameters|Returns|Raises|Warns|Notes|Examples|Attributes)\n(?!\1--)", re.M
    )
    texts = {name: path.read_text(encoding="utf-8") for name, path in modules().items()}
    assert [name for name, text in texts.items() if bare.search(text)] == []


def test_tuned_constants_are_counted():
    text = "A = 3\nB = 2**20\nC: float = -1e-8\nD = 'a'\nE = [1, 2]\nF = True\nG = A + 1"
    assert constants(text) == ["A", "B", "C"]


def test_every_folder_is_in_the_package():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    known = modules()
    folders = {
        name
        for name, path in known.items()
        if path.stem == "__init__" and name.split(".")[0] == "ldr"
    }
    assert set(listed["packages"]) == folders == set(listed["package-dir"])
    if not (ROOT / "ldr" / "objectives").is_symlink():
        return  # in an unpacked archive it is a folder of the same files
    for name, folder in listed["package-dir"].items():
        assert (ROOT / folder).samefile(known[name].parent)


def test_no_test_waits_for_ever():
    waits = ("wait", "join", "communicate", "result")
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for call in ast.walk(ast.parse(path.read_text())):
            name = getattr(getattr(call, "func", None), "attr", "")
            if name in ("run", *waits) and "timeout" not in [key.arg for key in call.keywords]:
                where = f"{path}:{call.lineno}"
                assert ast.unparse(call.func) != "subprocess.run", where
                assert call.args or name not in waits, where
