import numpy as np
from sklearn.datasets import load_sample_images

photographs = [image[:420, ::40, 1] for image in load_sample_images().images]
lines = np.concatenate([image - image.mean(axis=0) for image in photographs])
X = ldr.trials(lines.reshape(60, 14, 16), "times, channels")
y = np.repeat(["temple", "flower"], 30)  # of sixty strips, fourteen lines of sixteen pixels each
