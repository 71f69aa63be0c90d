from sklearn.datasets import load_breast_cancer

tumours = load_breast_cancer()  # 569 of them, 30 measurements
Z, diagnosis = tumours.data / tumours.data.std(axis=0), tumours.target_names[tumours.target]
X = Z[diagnosis == "malignant"], Z[diagnosis == "benign"]  # against a background
