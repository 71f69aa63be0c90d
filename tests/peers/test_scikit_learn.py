"""scikit-learn's own tests pass with our classes, but for those that are listed with a reason."""

import subprocess

import pytest
import sklearn

from tests.peers.__main__ import run
from tests.peers.scikit_learn import FILES, VERSION


@pytest.mark.slow
@pytest.mark.skipif(not sklearn.__version__.startswith(VERSION), reason="other tests")
@pytest.mark.parametrize("name", FILES)
def test_their_tests_with_our_classes(name):
    done = run(name, stdout=subprocess.PIPE, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout[-4000:]
