import numpy as np
from sklearn.datasets import load_digits

images, digit = load_digits(return_X_y=True)  # 1797 digits of 8 x 8 pixels
X = images.reshape(-1, 8)  # a row a line of an image
y = np.column_stack([np.repeat(digit, 8), np.tile(np.arange(8), len(digit))])
means = np.vstack([images[digit == k].mean(axis=0).reshape(8, 8) for k in range(10)])
