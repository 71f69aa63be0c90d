from sklearn.datasets import load_digits

X, y = load_digits(n_class=3, return_X_y=True)  # 537 images of 0, 1 and 2
X = 1.0 * (X > 8)  # which of 64 pixels are bright
