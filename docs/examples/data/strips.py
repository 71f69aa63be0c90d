import numpy as np
from sklearn.datasets import load_sample_image

lines = load_sample_image("china.jpg")[:420, ::40, 1]
X = ldr.trials((lines - lines.mean(axis=0)).reshape(30, 14, 16), "times, channels")
y = np.arange(30)  # how far down each strip of the photograph lies
