"""Ctrl-C at random times: it ends every loop within a pass over the data, with a warning."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from tests.adversarial.campaign import SEED, count, report

INTERRUPTS = 200
# Seconds after which a loop will not end any more.
HUNG = 60.0


class Child:
    """A process of `loops`."""

    def __init__(self):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.adversarial.loops"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=environment,
        )  # fmt: skip
        self.loops = int(self._line())

    def _line(self):
        hung = threading.Timer(HUNG, self.process.kill)
        hung.start()
        line = self.process.stdout.readline()
        hung.cancel()
        if not line:
            raise AssertionError(
                f"the process died: {self.process.communicate(timeout=HUNG)[1][-3000:]}"
            )
        return line

    def trial(self, number, wait, again):
        """How the loop ended that Ctrl-C was sent to; once more where there is an `again`."""
        self._say(number)
        assert self._line() == "begun\n"
        time.sleep(wait)
        sent = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        if again is not None:
            time.sleep(again)
            self.process.send_signal(signal.SIGINT)
        found = json.loads(self._line())
        self._say("next")
        found["passes"] = sum(moment > sent for moment in found["begun"])
        return found

    def _say(self, word):
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        with self.process.stdout, self.process.stderr:
            errors = self.process.stderr.read()
            return self.process.wait(60), errors


def interrupted(interrupts):
    """Faults of so many interrupts, and how many loops ended in which way."""
    rng = np.random.default_rng([SEED, 9])
    child, faults, ends = Child(), [], {}
    for number in range(interrupts):
        wait, again = rng.exponential(0.1), rng.uniform(0.001, 0.3)
        twice = number // child.loops % 4 == 3
        found = child.trial(number, wait, again if twice else None)
        ends[found["ended"]] = ends.get(found["ended"], 0) + 1
        fine = (
            found["ended"] in ("told", "KeyboardInterrupt")
            and found["passes"] <= 1 + 1  # one a thread that works at starts
            and found["threads"] == 1
            and found["blas"]
        )
        if not fine:
            faults.append(f"{number} (loop {number % child.loops}), after {wait:.3f} s: {found}")
    code, errors = child.close()
    if code or "Fatal" in errors:
        faults.append(f"exit code {code}: {errors[-2000:]}")
    print(ends, len(faults))
    return faults


@pytest.mark.slow
def test_every_interrupt_ends_its_loop_and_is_told_of():
    faults = interrupted(count(INTERRUPTS))
    assert not faults, report(faults)
