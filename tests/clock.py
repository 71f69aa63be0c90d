"""A clock for time limits that counts passes over the data, or looks at the clock."""

from dataclasses import replace

from ldr.objectives.data.opening import as_samples
from ldr.solvers import deadline


class Clock:
    """It stands still but for passes over slow rows and looks at the clock."""

    def __init__(self, monkeypatch, a_pass=1.0, a_look=0.0):
        self.now, self.a_pass, self._a_look = 0.0, a_pass, a_look
        monkeypatch.setattr(deadline, "monotonic", self._look)

    def _look(self):
        self.now += self._a_look
        return self.now

    def rows(self, file):
        """Rows of a file, each of which takes its share of a pass."""
        samples = as_samples(file)
        return replace(samples, array=SlowRows(samples.array, self))


class SlowRows:
    def __init__(self, rows, clock):
        self._rows, self._clock = rows, clock
        self._a_row = clock.a_pass / rows.shape[0]

    def __getattr__(self, name):
        return getattr(self._rows, name)

    def blocks(self, start=0):
        for block in self._rows.blocks(start):
            self._clock.now += len(block) * self._a_row
            yield block

    def read(self, start, stop):
        self._clock.now += (stop - start) * self._a_row
        return self._rows.read(start, stop)
