"""Examples on data that come with scikit-learn: photographs, drawn digits, wines, cells."""

from docs.example import Example

EXAMPLES = (
    Example(
        "mixed-photographs",
        "Two photographs, each seen twice",
        "Two cameras see the same two pictures through one another: can they be taken apart?",
        """
import numpy as np
import ldr
from sklearn.datasets import load_sample_images

photographs = [image[::2, ::2].mean(axis=2) for image in load_sample_images().images]
sources = np.column_stack([image.ravel() for image in photographs])
mixed = sources @ np.array([[0.6, 0.4], [0.45, 0.55]]).T
for name in ("pca", "ica"):
    result = ldr.solve(name, mixed, 2, random_state=0)
    found = result.transform(mixed)
    print(name, "correlations with the photographs:")
    print(abs(np.corrcoef(found.T, sources.T)[:2, 2:]).round(3))
figure = result.plot_projection(mixed[::200])
""",
        "Principal components of the two mixtures are mixtures again. The two least Gaussian "
        "directions are the photographs, to a correlation of .998: the picture has their grey "
        "values along its axes.",
    ),
    Example(
        "digits-on-a-photograph",
        "Faint digits before a photograph",
        "Zeros and ones, drawn faintly over patches of a photograph: pca sees the photograph. "
        "What has the data that the photograph has not?",
        """
import numpy as np
import ldr
from sklearn.datasets import load_digits, load_sample_image
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

digits, label = load_digits(return_X_y=True)
digits, label = digits[label < 2], label[label < 2]
photograph = load_sample_image("china.jpg").mean(axis=2)
rng = np.random.default_rng(0)


def patches(count):
    corners = zip(rng.integers(0, 419, count), rng.integers(0, 632, count))
    return np.array([photograph[i : i + 8, j : j + 8].ravel() for i, j in corners])


X, background = patches(len(digits)) + 2.5 * digits, patches(2000)
for name, given in (("pca", X), ("gcpca", (X, background))):
    result = ldr.solve(name, given, 2)
    scores = cross_val_score(KNeighborsClassifier(5), result.transform(X), label)
    print(f"{name}: told apart by their neighbours in {scores.mean():.3f} of all cases")
figure = result.plot_projection(X, label.astype(str))
""",
        "In the plane of pca zeros and ones are told apart as by a coin. Against other patches of "
        "the same photograph, which have no digits, nine in ten are: no label was used, only what "
        "is not wanted.",
    ),
    Example(
        "few-columns",
        "Thirty measurements of a cell, or sixteen",
        "The two largest components of breast cancer cells weigh all thirty columns. How much is "
        "lost if they weigh fewer?",
        """
import ldr
from sklearn.datasets import load_breast_cancer

X = load_breast_cancer(as_frame=True).data
plain = ldr.solve("pca", X, 2, standardise=True)
path = ldr.regularisation_path("sparse-pca", X, 2, [500, 1000, 1500, 2000], standardise=True)
for result in (plain, *path.results):
    used = int((result.M != 0).any(axis=1).sum())
    explained = result.components["explained_variance_ratio"].sum()
    print(f"{used:2} columns explain {explained:.3f} of the variance")
figure = ldr.plots.loadings(path.results[-1])
""",
        "Twenty-three columns explain .52 where all explain .63. With sixteen, in the picture, the "
        "first component is the size of the cells and how dented they are, and the second has "
        "shrunk to one column: so large a penalty takes a component away.",
    ),
    Example(
        "wines-four-ways",
        "Three cultivars, seen by four methods",
        "Thirteen measurements of wines: which plane tells the cultivars of new wines apart?",
        """
import ldr
from sklearn.datasets import load_wine

wine = load_wine(as_frame=True)
cultivar = wine.target_names[wine.target]
found = ldr.compare(
    ["wda", "lda", "orthogonal-lda", "pca"],
    wine.data, cultivar, 2, standardise=True, random_state=0,
)
for text in found.findings:
    print(text)
figure = found.plot()
""",
        "All planes do well, and the differences are within the noise of five folds. Wasserstein "
        "discriminant analysis keeps the shape of the classes; the best is a heuristic, whose "
        "objective's optimum is not better: choose by held-out rows, not by names.",
    ),
)
