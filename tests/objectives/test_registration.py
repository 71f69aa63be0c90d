"""A method is one file and a line: all else that knows the methods finds it by itself."""

import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]

METHOD = '''
from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.pca import PCA


@dataclass(frozen=True)
class Passing(PCA):
    """Here for a moment."""

    name = "passing"
    scale: float = 2.0
'''


def test_a_new_method_is_found_everywhere(tmp_path):
    (tmp_path / "passing.py").write_text(METHOD)
    program = """
        import sys
        sys.path[:0] = [{folder!r}, {root!r}]
        import ldr.objectives
        ldr.objectives.registry.PAGES["Passing"] = "passing"

        assert "passing" in [entry.name for entry in ldr.objectives.list()]
        from ldr.estimators import ESTIMATORS
        import ldr.estimators
        assert ldr.estimators.Passing(scale=3.0).scale == 3.0 and "passing" in ESTIMATORS
        from inspect import signature
        assert signature(ldr.estimators.Passing).parameters["scale"].default == 2.0
        from docs.pages import index
        assert "[passing](passing.md)" in index() and "Here for a moment." in index()
        from tests.objectives.methods import RANDOM
        assert "passing" in RANDOM
        from ldr.solving import solve
        assert solve("passing", [[1.0, 2.0], [3.0, 5.0], [4.0, 4.0]], 1).converged
    """
    program = textwrap.dedent(program).format(folder=str(tmp_path), root=str(ROOT))
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
