from sklearn.datasets import load_diabetes

X, y = load_diabetes(return_X_y=True)  # 442 patients, 10 measurements, a score of the disease
