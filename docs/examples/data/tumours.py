from sklearn.datasets import load_breast_cancer

tumours = load_breast_cancer()  # 569 of them, 30 measurements, 2 diagnoses
X, y = tumours.data / tumours.data.std(axis=0), tumours.target_names[tumours.target]
