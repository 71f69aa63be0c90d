from sklearn.datasets import load_wine

wine = load_wine()  # 178 wines, 13 measurements, 3 cultivars
X, y = wine.data / wine.data.std(axis=0), wine.target_names[wine.target]
