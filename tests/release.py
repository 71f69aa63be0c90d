"""Build the distributions, check them, and try the wheel as a stranger: python -m tests.release.

The wheel is installed in two virtual environments: with all extras the demonstration runs, each
door answers, and no file of the checkout is seen; without extras it is small, solves, and names the
extra that is missing. The unpacked archive of the sources runs its smoke tests on every version of
Python in `PYTHONS`, and once with the oldest dependencies. Nothing is uploaded. With --tag the
commit gets the version's tag at the end; without, the command is printed. `--pythons 3.13` tries
that version alone, `--pythons` none, and neither the oldest dependencies.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]

_TRY = """
import json, pathlib, ldr
from sklearn.datasets import load_wine
assert ldr.__version__ == {version!r}, ldr.__version__
assert not pathlib.Path(ldr.__file__).is_relative_to({root!r}), ldr.__file__
X, y = load_wine(return_X_y=True)
result = ldr.solve("orthogonal-lda", X, 2, y=y, standardise=True)
assert result.certificate.kind == "global"
result.write_report("report.html", X, y)
result.save("model.npz")
assert (ldr.load("model.npz").P == result.P).all()
print(len(ldr.objectives.list()), "methods,", ldr.OrthogonalLDA(2).fit(X, y).score(X, y))
"""

_LIGHT = """
import ldr
from sklearn.datasets import load_wine
X, y = load_wine(return_X_y=True)
assert ldr.OrthogonalLDA(2).fit(X, y).result_.certificate.kind == "global"
try:
    ldr.solve("pca", X, 2).plot_projection(X)
    raise AssertionError("the environment has matplotlib")
except ldr.errors.ArgumentError as error:
    assert "ldr-manifold[plot]" in str(error), error
"""
PYTHONS = ("3.11", "3.12", "3.13")
# Bytes of an environment with the wheel and what it requires, without extras.
LIGHT = 330 * 10**6


def version() -> str:
    """The one that CITATION.cff and the package say; CHANGELOG.md must begin with it."""
    import ldr

    cited = (ROOT / "CITATION.cff").read_text().split("\nversion: ")[1].split()[0]
    newest = (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1].split()[0]
    assert ldr.__version__ == cited == newest, (ldr.__version__, cited, newest)
    return ldr.__version__


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def smoke(python: str, archive: str, place: Path) -> None:
    """Run the smoke tests of the unpacked archive on a version of Python."""
    folder = place / python
    subprocess.run([shutil.which(f"python{python}"), "-m", "venv", str(folder)], check=True)
    run = [str(folder / "bin" / "python"), "-m"]
    shutil.unpack_archive(archive, folder, filter="data")
    (unpacked,) = folder.glob("ldr_manifold-*")
    subprocess.run([*run, "pip", "install", "--quiet", f"{unpacked}[test]"], check=True)
    subprocess.run([*run, "pytest", "-q", "-m", "smoke", "tests"], cwd=unpacked, check=True)
    print(f"Python {python}: the smoke tests pass", flush=True)


def tag(number: str, made: bool) -> None:
    """Give the commit the tag of its version, or print how."""
    changed = subprocess.check_output(["git", "status", "--porcelain"], cwd=ROOT, text=True)
    command = ["git", "tag", "--annotate", f"v{number}", "--message", f"Version {number}"]
    if made and not changed:
        subprocess.run(command, cwd=ROOT, check=True)
    else:
        why = "files are not committed" if changed else "without --tag"
        print(f"no tag was made ({why}); it is made by: {' '.join(command)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tag", action="store_true")
    parser.add_argument("--pythons", nargs="*", default=[*PYTHONS, "oldest"])
    given = parser.parse_args()
    number = version()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    os.environ.pop("PYTHONPATH", None)  # where this checkout may be
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        names = ("build", "try", "light")
        for name in names:
            subprocess.run([sys.executable, "-m", "venv", str(place / name)], check=True)
        build, tried, light = (str(place / name / "bin" / "python") for name in names)
        subprocess.run([build, "-m", "pip", "install", "--quiet", "build", "twine"], check=True)
        subprocess.run(
            [build, "-m", "build", "--outdir", str(place / "dist"), str(ROOT)], check=True
        )
        made = sorted(map(str, (place / "dist").iterdir()))
        subprocess.run([build, "-m", "twine", "check", "--strict", *made], check=True)
        wheel = next(path for path in made if path.endswith(".whl"))
        archive = next(path for path in made if path.endswith(".tar.gz"))
        with tarfile.open(archive) as sources:
            held = {name.partition("/")[2] for name in sources.getnames()}
        needed = {"CHANGELOG.md", "LICENSE", "conftest.py", "tests/release.py", "docs/conf.py"}
        assert {*needed, "ldr/objectives/pca.py"} <= held
        before = size(place / "light")
        subprocess.run([light, "-m", "pip", "install", "--quiet", wheel], check=True)
        assert size(place / "light") - before <= LIGHT, size(place / "light") - before
        subprocess.run([light, "-c", _LIGHT], cwd=place, check=True)
        subprocess.run([tried, "-m", "pip", "install", "--quiet", f"{wheel}[all]"], check=True)
        program = _TRY.format(version=number, root=str(ROOT))
        subprocess.run([tried, "-c", program], cwd=place, check=True)
        subprocess.run([str(place / "try" / "bin" / "ldr"), "demo"], cwd=place, check=True)
        for python in given.pythons:
            if python != "oldest":
                smoke(python, archive, place)
        if "oldest" in given.pythons:
            lowest = [sys.executable, "-m", "tests.lowest", "-q", "-m", "smoke", "tests"]
            subprocess.run(lowest, cwd=ROOT, check=True)
        print(f"{project['name']} {number} is ready:", *(Path(path).name for path in made))
    tag(number, given.tag)


if __name__ == "__main__":
    main()
