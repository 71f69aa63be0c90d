from sklearn.datasets import load_breast_cancer

tumours = load_breast_cancer()  # 569 of them, 2 diagnoses
Z, y = tumours.data / tumours.data.std(axis=0), tumours.target_names[tumours.target]
X = {"means": Z[:, :10], "errors": Z[:, 10:20], "extremes": Z[:, 20:]}  # of ten measurements
