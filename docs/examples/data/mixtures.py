import numpy as np

rng = np.random.default_rng(0)  # two rhythms of pulses and normal noise reach six channels
t = np.arange(1000)
pulses, bursts = (t % 43 / 43) ** 6, np.sin(t) * (t % 61 < 12)
sources = np.column_stack([pulses, bursts, 0.3 * rng.standard_normal(1000)])
X = sources @ rng.uniform(-1, 1, (3, 6)) + 0.02 * rng.standard_normal((1000, 6))
