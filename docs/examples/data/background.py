import numpy as np
from sklearn.datasets import load_breast_cancer

tumours = load_breast_cancer()  # 569 of them, 30 measurements, which are skewed
logarithms = np.log1p(tumours.data)
Z, diagnosis = logarithms / logarithms.std(axis=0), tumours.target_names[tumours.target]
X = Z[diagnosis == "malignant"], Z[diagnosis == "benign"]  # against a background
