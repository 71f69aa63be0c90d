import matplotlib.pyplot as plt

figure, (above, below) = plt.subplots(2, 1, figsize=(7, 4.4), sharex=True, layout="constrained")
for k, colour in enumerate(("#0072b2", "#e69f00"), start=1):
    above.plot(X[:200, k], color=colour, label=f"channel {k}")
    below.plot(result.transform(X)[:200, k - 1], color=colour, label=f"$y_{k}$")
for ax, of in ((above, "mixtures"), (below, "components")):
    ax.set(ylabel=of)
    ax.legend(loc="upper right")
below.set(xlabel="time")
