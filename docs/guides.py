"""When to use each method, and an example on real data: what the registry cannot say itself.

Every method of the registry has an entry here (a test sees to it). The rest of its page, formula,
parameters, source, comes from the registry.
"""

from __future__ import annotations

from dataclasses import dataclass

# Programs that define the data of the examples. All of them come with scikit-learn.
DATA = {
    "wine": """
from sklearn.datasets import load_wine

wine = load_wine()  # 178 wines, 13 measurements, 3 cultivars
X, y = wine.data / wine.data.std(axis=0), wine.target_names[wine.target]
""",
    "some labels": """
import numpy as np
from sklearn.datasets import load_wine

wine = load_wine()  # 178 wines, 13 measurements, 3 cultivars
X, cultivar = wine.data / wine.data.std(axis=0), wine.target
y = np.where(np.arange(len(X)) % 5 == 0, cultivar, -1)  # one label in five is known
""",
    "distances": """
from sklearn.datasets import load_wine
from sklearn.metrics import pairwise_distances

wine = load_wine()  # 178 wines, 13 measurements, 3 cultivars
X = pairwise_distances(wine.data / wine.data.std(axis=0), metric="cityblock")
y = wine.target_names[wine.target]
""",
    "tumours": """
from sklearn.datasets import load_breast_cancer

tumours = load_breast_cancer()  # 569 of them, 30 measurements, 2 diagnoses
X, y = tumours.data / tumours.data.std(axis=0), tumours.target_names[tumours.target]
""",
    "two views": """
from sklearn.datasets import load_breast_cancer

tumours = load_breast_cancer()  # 569 of them, 2 diagnoses
Z, y = tumours.data / tumours.data.std(axis=0), tumours.target_names[tumours.target]
X = Z[:, :10], Z[:, 20:]  # ten measurements, summarised in two ways
""",
    "three views": """
from sklearn.datasets import load_breast_cancer

tumours = load_breast_cancer()  # 569 of them, 2 diagnoses
Z, y = tumours.data / tumours.data.std(axis=0), tumours.target_names[tumours.target]
X = {"means": Z[:, :10], "errors": Z[:, 10:20], "extremes": Z[:, 20:]}  # of ten measurements
""",
    "background": """
from sklearn.datasets import load_breast_cancer

tumours = load_breast_cancer()  # 569 of them, 30 measurements
Z, diagnosis = tumours.data / tumours.data.std(axis=0), tumours.target_names[tumours.target]
X = Z[diagnosis == "malignant"], Z[diagnosis == "benign"]  # against a background
""",
    "patients": """
from sklearn.datasets import load_diabetes

X, y = load_diabetes(return_X_y=True)  # 442 patients, 10 measurements, a score of the disease
""",
    "trials": """
import numpy as np
from sklearn.datasets import load_sample_images

photographs = [image[:420, ::40, 1] for image in load_sample_images().images]
X = np.concatenate([lines - lines.mean(axis=0) for lines in photographs]).reshape(60, 14, 16)
y = np.repeat(["temple", "flower"], 30)  # of sixty strips, fourteen lines of sixteen pixels each
""",
    "strips": """
import numpy as np
from sklearn.datasets import load_sample_image

lines = load_sample_image("china.jpg")[:420, ::40, 1]
X = (lines - lines.mean(axis=0)).reshape(30, 14, 16)
y = np.arange(30)  # how far down each strip of the photograph lies
""",
    "pixels": """
import numpy as np
from sklearn.datasets import load_digits

images, digit = load_digits(return_X_y=True)  # 1797 digits of 8 x 8 pixels
X = images.reshape(-1, 8)  # a row a line of an image
y = np.column_stack([np.repeat(digit, 8), np.tile(np.arange(8), len(digit))])
means = np.vstack([images[digit == k].mean(axis=0).reshape(8, 8) for k in range(10)])
""",
    "bright pixels": """
from sklearn.datasets import load_digits

X, y = load_digits(n_class=3, return_X_y=True)  # 537 images of 0, 1 and 2
X = 1.0 * (X > 8)  # which of 64 pixels are bright
""",
    "lines": """
from sklearn.datasets import load_sample_image

X = load_sample_image("china.jpg")[:, ::20, 1]  # 427 lines of a photograph, from top to bottom
""",
}

# What the picture shows, where it is not the rows solved for, coloured by y.
_PLOTS = {
    "background": "result.plot_projection(Z, diagnosis)",
    "some labels": "result.plot_projection(X, wine.target_names[cultivar])",
    "lines": "result.plot_projection(X)",
    "pixels": "result.plot_projection(means, np.repeat(np.arange(10), 8))",
    "trials": "result.plot_projection(X.reshape(-1, 16), np.repeat(y, 14))",
    "strips": "result.plot_projection(X.reshape(-1, 16), np.repeat(y, 14))",
}


@dataclass(frozen=True)
class Guide:
    """When to use a method, and how.

    Attributes
    ----------
    when : str
        A sentence or two.
    data : str
        Of the example; a key of `DATA`.
    arguments : str
        Of `ldr.solve` in the example, after the objective and X.
    """

    when: str
    data: str
    arguments: str = "2"

    def solution(self, name: str) -> str:
        """The example up to the result, as a program."""
        call = f'result = ldr.solve("{name}", X, {self.arguments})'
        return f"import ldr\n{DATA[self.data].strip()}\n\n{call}\nprint(result)\n"

    @property
    def plot(self) -> str:
        """The expression that draws the picture."""
        return _PLOTS.get(self.data, "result.plot_projection(X, y)")


GUIDES = {
    "pca": Guide(
        "The first look at any data, and the usual step before another method. Columns in "
        "different units should be divided by their standard deviations first.",
        "wine",
    ),
    "mds": Guide(
        "Inner products of the rows are to be kept. Of a linear map the answer is that of pca; "
        "use mds-distances where only distances are known.",
        "wine",
    ),
    "mds-distances": Guide(
        "There are no rows, only the distances between them.",
        "distances",
    ),
    "autocovariance": Guide(
        "Rows are in time order, and what varies much and lasts is wanted; maf is its "
        "counterpart that does not care how much a direction varies.",
        "lines",
    ),
    "sfa": Guide(
        "Rows are in time order, and what drives them changes slowly. With whiten=True a "
        "direction is not slow just because it hardly varies; that is what is usually wanted.",
        "lines",
        "2, whiten=True",
    ),
    "squared-difference": Guide(
        "Rows are in time order, and the largest, or the smallest, changes over a lag are wanted.",
        "lines",
    ),
    "olpp": Guide(
        "Neighbours are to stay neighbours, and the directions are to be orthonormal. No scale is "
        "fixed, so directions of small variance win; see orthogonal-lpp.",
        "wine",
    ),
    "onpp": Guide(
        "Each row is to remain the same combination of its neighbours, and the directions are to "
        "be orthonormal.",
        "wine",
    ),
    "signal-noise": Guide(
        "A sample of the noise alone was measured, and the difference of variances is wanted; "
        "opca is the ratio.",
        "background",
    ),
    "contrastive-pca": Guide(
        "What varies in one sample but not in a background sample is wanted; alpha says how much "
        "the background counts.",
        "background",
        "2, alpha=1.0",
    ),
    "pls": Guide(
        "Two views, and directions of large covariance: unlike cca it is not led astray by "
        "directions that hardly vary, and needs no inverse.",
        "two views",
    ),
    "classical-lda": Guide(
        "The textbook's discriminant analysis, whose directions are uncorrelated within classes "
        "but not orthogonal. A good step before a classifier.",
        "wine",
        "2, y=y",
    ),
    "classical-cca": Guide(
        "The textbook's canonical correlations, whose coordinates are uncorrelated but whose "
        "directions are not orthogonal.",
        "two views",
    ),
    "lpp": Guide(
        "Neighbours are to stay neighbours, in coordinates of unit variance.",
        "wine",
    ),
    "npe": Guide(
        "Each row is to remain the same combination of its neighbours, in coordinates of unit "
        "variance: a linear version of locally linear embedding.",
        "wine",
    ),
    "classical-maf": Guide(
        "The textbook's maximum autocorrelation factors, which are uncorrelated but not "
        "orthogonal.",
        "lines",
    ),
    "sir": Guide(
        "A response depends on few directions of X, and X is roughly elliptical. Fast, and blind "
        "to dependence that is symmetric around the mean; save and sdr see that too.",
        "patients",
        "2, y=y",
    ),
    "save": Guide(
        "A response depends on few directions, perhaps through the variance or symmetrically. It "
        "needs more rows than sir.",
        "patients",
        "2, y=y",
    ),
    "directional-regression": Guide(
        "As save, with fewer rows: the response may say something of the mean of X or of its "
        "spread.",
        "patients",
        "2, y=y",
    ),
    "phd": Guide(
        "A response bends along few directions, up or down, which a linear fit and sir miss; "
        "normal columns.",
        "patients",
        "2, y=y",
    ),
    "opca": Guide(
        "A sample of the noise alone was measured, and the largest ratio of signal to noise is "
        "wanted.",
        "background",
    ),
    "semi-supervised-da": Guide(
        "Few rows have labels (the others have -1), and many have none.",
        "some labels",
        "2, y=y",
    ),
    "lda": Guide(
        "Classes are to be seen apart, in an orthogonal projection that keeps angles and "
        "distances honest. Take leading principal components first if some columns hardly vary.",
        "wine",
        "2, y=y",
    ),
    "maf": Guide(
        "Rows are in time or space order, and what stays correlated from one to the next is "
        "wanted, however little it varies.",
        "lines",
    ),
    "tica": Guide(
        "Rows are in time order, and the slowest processes are wanted, as of the states of a "
        "molecule; autocorrelations never exceed 1, as those of classical-maf may.",
        "lines",
    ),
    "vamp": Guide(
        "Rows are in time order, and what tells how they go on is wanted, whether or not the "
        "process looks the same backwards. Its score on held-out rows chooses lag and columns.",
        "lines",
    ),
    "csp": Guide(
        "Trials of two classes or more differ in how strong signals are, not in their mean, as "
        "band-passed EEG does; `ldr.log_power(result, X)` are the features for a classifier.",
        "trials",
        "2, y=y",
    ),
    "spoc": Guide(
        "The power of a signal goes up or down with a quantity that is known for each trial.",
        "strips",
        "2, y=y",
    ),
    "xdawn": Guide(
        "Trials that are aligned at an event share a response, which noise hides in every single "
        "one; target= names the class whose response is wanted.",
        "trials",
        '2, y=y, target="temple"',
    ),
    "ssd": Guide(
        "What oscillates in a known band of frequencies is wanted, in trials or in one long "
        "series, and what lies beside the band is noise.",
        "lines",
        "2, signal=(0.04, 0.08), noise=(0.02, 0.16)",
    ),
    "gcpca": Guide(
        "What varies in one sample but not in a background sample is wanted, in orthonormal "
        "directions and without an alpha to choose.",
        "background",
    ),
    "classical-gcpca": Guide(
        "As gcpca, whose directions are uncorrelated over both samples but not orthogonal.",
        "background",
    ),
    "dca": Guide(
        "Rows are in time order, and a few coordinates are wanted whose own past says most of "
        "their own future, also where they turn about one another and are not slow.",
        "lines",
        "2, window=3",
    ),
    "foreca": Guide(
        "Rows are in time order, and what can be forecast is wanted, slow or not: whatever has "
        "its power at few frequencies.",
        "lines",
    ),
    "orthogonal-lpp": Guide(
        "Neighbours are to stay neighbours relative to the spread, in an orthogonal projection.",
        "wine",
    ),
    "orthogonal-npe": Guide(
        "Each row is to remain the same combination of its neighbours, relative to the spread, in "
        "an orthogonal projection.",
        "wine",
    ),
    "orthogonal-sfa": Guide(
        "Slowness relative to the variance, in an orthogonal projection.",
        "lines",
    ),
    "cca": Guide(
        "What two views share is to be seen in orthogonal projections of both.",
        "two views",
    ),
    "maxdiff": Guide(
        "Three views of the same rows or more, and what they have in common counts by its size: "
        "pls of any number of views.",
        "three views",
    ),
    "maxbet": Guide(
        "Several views are to be shown in one space, say the brains of several people who saw the "
        "same film, and each view's own variance counts too.",
        "three views",
    ),
    "orthogonal-mcca": Guide(
        "What three views or more share, whatever their units and variances, is to be seen in "
        "orthogonal projections of all.",
        "three views",
    ),
    "mcca": Guide(
        "What three views or more share, as many say multiset or generalised cca: the directions "
        "of each view need not be orthogonal, the optimum is known.",
        "three views",
    ),
    "reduced-rank-regression": Guide(
        "Many responses are to be predicted through few coordinates of X.",
        "two views",
    ),
    "least-squares": Guide(
        "One or several responses are to be predicted, and the projection is the prediction.",
        "patients",
        "1, y=y",
    ),
    "ridge-regression": Guide(
        "As least-squares, where columns are nearly collinear or rows are few.",
        "patients",
        "1, y=y, penalty=0.1",
    ),
    "lasso": Guide(
        "As least-squares, where few columns matter and it should be seen which.",
        "patients",
        "1, y=y, penalty=200.0",
    ),
    "principal-components-regression": Guide(
        "A response is to be predicted from the leading principal components alone.",
        "patients",
        "2, y=y",
    ),
    "pls-regression": Guide(
        "As principal-components-regression, with directions that vary with the responses: many "
        "columns that say the same, and few rows.",
        "patients",
        "2, y=y",
    ),
    "exponential-family-pca": Guide(
        'As pca, where entries are 0 and 1 (logistic pca) or, with family="poisson", counts; some '
        "may be missing.",
        "bright pixels",
    ),
    "ppca": Guide(
        "A likelihood is wanted: to choose r, to compare models, to score new rows.",
        "wine",
    ),
    "sdr": Guide(
        "A response depends on few directions in a way that is not known: no shape of the "
        "dependence is assumed. Costly in the number of rows; there are local optima.",
        "wine",
        "2, y=y",
    ),
    "fa": Guide(
        "As ppca, where every column has a noise of its own: questionnaires, sensors. It does not "
        "depend on the columns' units.",
        "wine",
    ),
    "sparse-lda": Guide(
        "As lda, where each direction should use few columns. ldr.regularisation_path shows what "
        "each zero costs.",
        "wine",
        "2, y=y",
    ),
    "sparse-cca": Guide(
        "As cca, where each direction should use few columns of either view.",
        "two views",
        "1",
    ),
    "mds-stress": Guide(
        "The distances themselves are to be kept, as closely as r dimensions allow.",
        "wine",
    ),
    "gkdr": Guide(
        "As sdr, in one step: no starts, no local optima; near it where the response is smooth.",
        "wine",
        "2, y=y",
    ),
    "dpca": Guide(
        "Rows are of an experiment with several factors (stimulus, decision, time), and each "
        "factor's own part of them is to be seen, free of the others'.",
        "pixels",
        "2, y=y, of=((0,), (0, 1))",
    ),
    "hsic": Guide(
        "The projection is to depend on a response in whatever way; cheaper than sdr, which also "
        "asks that nothing else be needed to predict it.",
        "wine",
        "2, y=y",
    ),
    "dynamics": Guide(
        "Rows are in time order, and a plane is wanted whose motion a linear law explains; "
        "skew=True looks for rotations.",
        "lines",
    ),
    "uica": Guide(
        "Fewer sources than columns are wanted, and a likelihood of them.",
        "wine",
    ),
    "ica": Guide(
        "Columns are mixtures of independent sources, none or one of which is Gaussian.",
        "wine",
    ),
    "lmnn": Guide(
        "A nearest-neighbour classifier is to work well after the projection, with a margin.",
        "wine",
        "2, y=y",
    ),
    "nca": Guide(
        "A nearest-neighbour classifier is to work well after the projection.",
        "wine",
        "2, y=y",
    ),
    "wda": Guide(
        "As lda, where classes have several clusters or other shapes: near rows count, as far as "
        "reg says. Columns in different units should be standardised.",
        "wine",
        "2, y=y",
    ),
    "robust-pca": Guide(
        "As pca, where some rows are outliers that should not count.",
        "tumours",
    ),
    "log-det-pca": Guide(
        "As pca, where the volume (the entropy of normal data) is to be kept, not the sum of "
        "variances. The optimum is the same; the value is another.",
        "wine",
    ),
    "sparse-pca": Guide(
        "As pca, where each direction should use few columns, so that it can be read.",
        "wine",
        "2, penalty=40.0",
    ),
}
