"""One example for each paper whose experiments are rerun, small enough to read."""

from docs.example import Example

EXAMPLES = (
    Example(
        "better-and-worse",
        "A better optimum, a worse answer",
        "Cunningham and Ghahramani (2015) solve the trace ratio of orthogonal-lda, which the usual "
        "eigenvectors do not. What is the gain worth?",
        """
import ldr
from sklearn.datasets import load_digits

X, y = load_digits(return_X_y=True)
result = ldr.solve("orthogonal-lda", X, 5, y=y)
print(f"eigenvector heuristic {result.baseline:.3f}, optimum {result.value:.3f}")
found = ldr.compare(["orthogonal-lda", "lda", "pca"], X, y, 5, random_state=0)
for text in found.findings:
    print(text)
figure = found.plot()
""",
        "The optimum of the ratio is twice the heuristic's, and worse for telling digits apart: a "
        "sum of variances between classes is largest where a few classes are very far out. "
        "Whitened directions (lda) count every pair. The value is proved; that it is "
        "the question, no proof says.",
    ),
    Example(
        "a-square-that-means-do-not-see",
        "A square that means do not see",
        "Burges (2010): y depends on the square of one column and on another. Which methods see "
        "which?",
        """
import numpy as np
import ldr

rng = np.random.default_rng(0)
X = rng.standard_normal((20_000, 10))
y = X[:, 0] ** 2 + X[:, 1] + 0.1 * rng.standard_normal(len(X))
for name in ("sir", "save", "phd", "directional-regression"):
    result = ldr.solve(name, X, 2, y=y)
    plane = np.linalg.qr(result.P.T)[0]
    first, second = np.linalg.norm(plane[:2], axis=1)
    print(f"{name:22}  cosine with x1 {first:.3f}, with x2 {second:.3f}")
figure = result.plot_projection(X[::10], y[::10])
""",
        "Means of slices (sir) are blind to a square, second moments (phd) to what is straight. "
        "Covariances of slices (save) and directional regression find both; the picture is a "
        "parabola seen from above.",
    ),
    Example(
        "a-turned-six",
        "A six, turned",
        "Lawrence (2012): a drawn six turned through 360 degrees has one degree of freedom. How "
        "many coordinates does a linear map need?",
        """
import numpy as np
import pandas as pd
import ldr
from scipy.ndimage import rotate, zoom
from sklearn.datasets import load_digits

six = zoom(load_digits().images[6], 4)
angles = pd.Series(np.arange(0, 360, 3), name="angle")
images = np.array([rotate(six, angle, reshape=False).ravel() for angle in angles])
shares = ldr.solve("pca", images, 40).components["explained_variance_ratio"].cumsum()
for r in (2, 6, 12, 40):
    print(f"{r:2} coordinates have {shares.iloc[r - 1]:.3f} of the variance of 1024 pixels")
figure = ldr.solve("pca", images, 2).plot_projection(images, angles)
""",
        "The circle of images is a closed curve, which is seen in two coordinates, coloured by "
        "the angle and run through twice, and is bent through many more: twelve keep 97 %. What "
        "is curved costs linear maps dimensions, not their sight.",
    ),
    Example(
        "thrown-at-random",
        "Distances, thrown at random",
        "Johnson and Lindenstrauss: a random map to few dimensions keeps all distances, whatever "
        "the data. When is it enough, and when is a fitted map better?",
        """
import numpy as np
import ldr
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits

digits = load_digits()
X = digits.data[:500]
rng = np.random.default_rng(0)
for m in (2, 10, 40):
    maps = {
        "random": rng.standard_normal((m, X.shape[1])) / np.sqrt(m),
        "pca": ldr.solve("pca", X, m).P,
        "mds-stress": ldr.solve("mds-stress", X, m).P,
    }
    for name, P in maps.items():
        kept = pdist(X @ P.T) / pdist(X)
        print(f"{m:2} dimensions, {name:10}: {kept.mean():.2f} +- {kept.std():.2f} of a distance")
figure = ldr.solve("mds-stress", X, 2).plot_projection(X, digits.target[:500].astype(str))
""",
        "A random map errs by sqrt(1 / 2m) of a distance either way, whatever the data; an "
        "orthonormal one only shrinks, pca and the optimum of the stress alike. With ten "
        "dimensions both are nearer, and in forty the digits have no more to lose.",
    ),
    Example(
        "one-graph-many-names",
        "One graph, many names",
        "Kokiopoulou, Chen and Saad (2011): with the graph of the classes, methods of different "
        "names are one. Which?",
        """
import ldr
from sklearn.datasets import load_wine

wine = load_wine(as_frame=True)
X, y = wine.data / wine.data.std(), wine.target_names[wine.target]
found = {
    name: ldr.solve(name, X, 2, y=y, graph="classes") for name in ("lpp", "npe", "olpp", "onpp")
}
found["lda"] = ldr.solve("lda", X, 2, y=y)
for a, b in (("lpp", "npe"), ("lpp", "lda"), ("olpp", "onpp"), ("olpp", "lpp")):
    angle = ldr.subspaces.distance(found[a].P.T, found[b].P.T, "largest-angle")
    print(f"{a} and {b}: {'one plane' if angle < 1e-12 else f'{angle:.2f} radians apart'}")
figure = found["olpp"].plot_projection(X, y)
""",
        "Locality preserving projections, neighbourhood preserving embedding and Fisher's "
        "discriminant analysis are one plane, to the last digits; so are the two orthogonal ones, "
        "another plane, which the picture shows.",
    ),
)
