"""A thousand damages of each kind of file, and fifty kills while one is written."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import ldr
from tests.adversarial.campaign import count, generator, report
from tests.adversarial.damage import KINDS

pytestmark = pytest.mark.slow

_PROGRAM = [sys.executable, "-X", "faulthandler"]


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_answered_or_refused(kind):
    command = [*_PROGRAM, "-m", "tests.adversarial.damage", kind, str(count(1000))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done.stdout + done.stderr


# Writes models of two sizes in turn, each over the other, until it is killed.
_WRITES = """
import sys
import ldr
results = [ldr.load(name) for name in sys.argv[1:3]]
results[0].save(sys.argv[3])  # which imports what it needs
print("ready", flush=True)
while True:
    for result in results:
        result.save(sys.argv[3])
"""


@pytest.mark.skipif(os.name != "posix", reason="processes are killed by a signal")
def test_a_killed_write_leaves_the_old_file_or_the_new_one(tmp_path):
    """And what it left is removed by the next write."""
    rng, X = generator("killed writes"), np.random.default_rng(0).standard_normal((3000, 300))
    known, sources = {}, []
    for r in (2, 200):
        sources.append(tmp_path / f"{r}.npz")
        result = ldr.solve("pca", X, r)
        result.save(sources[-1])
        known[r] = result.P
    folder = tmp_path / "written"
    folder.mkdir()
    path, left, wrong = folder / "model.npz", 0, []
    for k in range(count(50)):
        command = [*_PROGRAM, "-c", _WRITES, *map(str, sources), str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
            time.sleep(rng.uniform(0.0, 0.1))
            process.send_signal(signal.SIGKILL)
            process.wait(60)
        left += len(os.listdir(folder)) - path.exists()
        if path.exists():
            found = ldr.load(path)
            if not np.array_equal(found.P, known[found.r]):
                wrong.append(f"kill {k}: another result")
        result.save(path)
        if os.listdir(folder) != ["model.npz"]:
            wrong.append(f"kill {k}: {os.listdir(folder)}")
    assert not wrong, report(wrong)
    assert left > 0, "no write was interrupted: nothing was tested"


def test_damages_differ_and_repeat():
    whole = Path(__file__).read_bytes()
    from tests.adversarial.damage import damaged

    made = [damaged(whole, generator("damage", "text", k)) for k in range(50)]
    assert len(set(made)) == 50
    assert made[7] == damaged(whole, generator("damage", "text", 7))
