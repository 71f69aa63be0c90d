import numpy as np
from scipy.signal import lfilter

rng = np.random.default_rng(0)  # a simulated EEG: 60 trials of a second, 100 Hz, 16 channels
channels = np.stack(np.meshgrid(range(4), range(4)), axis=2).reshape(16, 1, 2)
sources = [(0, 1.5), (3, 1.5), *rng.uniform(0, 3, (8, 2))]  # two rhythms and other activity
field = np.exp(-0.4 * ((channels - sources) ** 2).sum(axis=2))  # at each channel
y = np.repeat(["left", "right"], 30)  # the moved hand: the rhythm of its side is stronger
t, phase = np.arange(100) / 100, rng.uniform(0, 1, (60, 1))
activity = lfilter([1.0], [1.0, -0.9], rng.standard_normal((60, 10, 100)))
for source, hand in enumerate(("left", "right")):
    activity[:, source] += np.where(y == hand, 6, 2)[:, None] * np.cos(20 * np.pi * (t + phase))
activity[30:, 2] += 6 * np.exp(-(((t - 0.3) / 0.05) ** 2))  # evoked by the right hand
signals = np.einsum("cs,kst->ktc", field, activity)
X = ldr.trials(signals + 0.3 * rng.standard_normal(signals.shape), "times, channels")
