import numpy as np
from scipy.signal import lfilter

rng = np.random.default_rng(0)  # a simulated EEG: 60 trials of a second, 100 Hz, 16 channels
channels = np.stack(np.meshgrid(range(4), range(4)), axis=2).reshape(16, 1, 2)
field = np.exp(-0.4 * ((channels - rng.uniform(0, 3, (10, 2))) ** 2).sum(axis=2))
y = rng.uniform(0, 10, 60)  # reaction times, with which the power of a rhythm rises
t, phase = np.arange(100) / 100, rng.uniform(0, 1, (60, 1))
activity = lfilter([1.0], [1.0, -0.9], rng.standard_normal((60, 10, 100)))
activity[:, 0] += 3 * np.sqrt(y)[:, None] * np.cos(20 * np.pi * (t + phase))
signals = np.einsum("cs,kst->ktc", field, activity)
X = ldr.trials(signals + 0.3 * rng.standard_normal(signals.shape), "times, channels")
