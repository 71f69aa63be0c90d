from sklearn.datasets import load_breast_cancer

tumours = load_breast_cancer()  # 569 of them, 2 diagnoses
Z, y = tumours.data / tumours.data.std(axis=0), tumours.target_names[tumours.target]
X = Z[:, :10], Z[:, 20:]  # ten measurements, summarised in two ways
