"""scikit-learn's own tests with our classes: python -m tests.peers [pca nca lda pls ica fa].

Words with a dash go on to pytest, as in ``python -m tests.peers lda --runxfail``.
"""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import sklearn

from tests.peers.scikit_learn import FILES, VERSION

HERE = Path(__file__).parent


def run(name, *options, **how):
    """Run the tests of a file in a process of its own, which puts our class in place of theirs."""
    command = [sys.executable, "-m", "pytest", "-c", str(HERE / "pytest.ini")]
    command += ["-p", "tests.peers.plugin", "-p", "no:cacheprovider", "--peer", name, "-q"]
    command += ["--import-mode=importlib", *options, find_spec(FILES[name].tests).origin]
    return subprocess.run(command, check=False, cwd=HERE.parents[1], **how)


def main():
    options = [word for word in sys.argv[1:] if word.startswith("-")]
    names = [word for word in sys.argv[1:] if word not in options] or list(FILES)
    if not sklearn.__version__.startswith(VERSION):
        print(f"scikit-learn is {sklearn.__version__}, the expected failures are of {VERSION}")
    return max([run(name, *options).returncode for name in names])


if __name__ == "__main__":
    sys.exit(main())
