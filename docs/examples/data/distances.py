from sklearn.datasets import load_wine
from sklearn.metrics import pairwise_distances

wine = load_wine()  # 178 wines, 13 measurements, 3 cultivars
X = pairwise_distances(wine.data / wine.data.std(axis=0), metric="cityblock")
y = wine.target_names[wine.target]
