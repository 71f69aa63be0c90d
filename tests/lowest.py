"""The tests against the oldest versions that pyproject.toml declares: python -m tests.lowest.

Makes a virtual environment of its own, and hands what it is given on to pytest.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def lowest() -> list[str]:
    """Every declared requirement, pinned to the version that it must at least have."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    names = [*re.findall(r"\w+", extras["all"][0].partition("[")[2]), "test"]
    declared = [*project["dependencies"], *(each for name in names for each in extras[name])]
    return [each.replace(">=", "==") for each in declared if not each.startswith(project["name"])]


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = str(Path(folder) / "bin" / "python")
        install = [python, "-m", "pip", "install", "--quiet"]
        subprocess.run([*install, *lowest()], check=True)
        subprocess.run([*install, "--no-deps", "-e", str(ROOT)], check=True)
        # their own requirements are new, and deprecate what they do
        tests = [python, "-m", "pytest", "-W", "ignore::DeprecationWarning", *sys.argv[1:]]
        return subprocess.run(tests, cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
