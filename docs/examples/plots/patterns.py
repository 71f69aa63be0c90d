import matplotlib.pyplot as plt

C = np.cov(X.rows.T)
patterns = np.linalg.solve(result.P @ C @ result.P.T, result.P @ C)
figure, axes = plt.subplots(1, 2, figsize=(7, 3.2), layout="constrained")
for k, ax in enumerate(axes):  # how a source reaches the 4 x 4 channels
    picture = ax.imshow(
        patterns[k].reshape(4, 4) / abs(patterns).max(), cmap="RdBu_r", vmin=-1, vmax=1
    )
    ax.set(title=f"pattern of $y_{k + 1}$", xticks=[], yticks=[])
figure.colorbar(picture, ax=axes, label="weight of the channel")
