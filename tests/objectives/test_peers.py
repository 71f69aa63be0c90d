"""Agreement with independent implementations."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.decomposition import KernelPCA
from sklearn.manifold import LocallyLinearEmbedding, SpectralEmbedding

import ldr
from ldr.objectives import graphs
from ldr.objectives.data.opening import as_samples
from tests import real_data


def angle(A, B):
    """Sine of the largest angle between the spans of two matrices of scores."""
    Qa, Qb = (np.linalg.qr(Z - Z.mean(axis=0))[0] for Z in (A, B))
    return np.linalg.norm(Qa - Qb @ (Qb.T @ Qa), 2)


def up_to_signs(A, B, rtol=1e-6):
    signs = np.sign(np.sum(A * B, axis=0))
    np.testing.assert_allclose(A * signs, B, atol=rtol * np.abs(B).max())


def test_classical_mds():
    manifold = pytest.importorskip("sklearn.manifold")
    if not hasattr(manifold, "ClassicalMDS"):
        pytest.skip("this scikit-learn has no classical MDS")
    X = real_data.wine()[0]
    D = squareform(pdist(X, "cityblock"))
    theirs = manifold.ClassicalMDS(n_components=3, metric="precomputed").fit_transform(D)
    up_to_signs(ldr.solve("mds-distances", D, 3).transform(D), theirs)


@pytest.mark.parametrize(
    ("metric", "parameters"),
    [("rbf", {"gamma": 0.05}), ("polynomial", {"degree": 2, "gamma": 0.1, "coef0": 1.0})],
)
def test_kernel_pca(metric, parameters):
    X = real_data.wine()[0]
    theirs = KernelPCA(4, kernel="poly" if metric == "polynomial" else metric, **parameters)
    train, new = X[::2], X[1::2]
    theirs.fit(train)
    ours = ldr.solve(ldr.kernel("pca", metric, **parameters), train, 4)
    up_to_signs(ours.transform(train), theirs.transform(train))
    up_to_signs(ours.transform(new), theirs.transform(new))


def test_laplacian_eigenmaps_by_the_kernel_route():
    """LPP of features that span all functions of the rows has no linear constraint left."""
    X = real_data.wine()[0]
    W = graphs.neighbour_graph(as_samples(X), 10, "median")
    theirs = SpectralEmbedding(3, affinity="precomputed", eigen_solver="arpack", random_state=0)
    lpp = ldr.objectives.LPP(graph=W, centre="degree")
    ours = ldr.solve(ldr.kernel(lpp, "rbf", gamma=0.5), X, 3)
    assert angle(ours.transform(X), theirs.fit_transform(W.toarray())) < 1e-6


def test_locally_linear_embedding_by_the_kernel_route():
    X = real_data.wine()[0]
    theirs = LocallyLinearEmbedding(
        n_neighbors=10, n_components=3, reg=1e-3, eigen_solver="dense"
    ).fit(X)
    W = graphs.lle_weights(as_samples(X), 10, 1e-3)
    npe = ldr.objectives.NPE(graph=W)
    ours = ldr.solve(ldr.kernel(npe, "rbf", gamma=0.5), X, 3)
    assert angle(ours.transform(X), theirs.embedding_) < 1e-6
    assert ours.value == pytest.approx(theirs.reconstruction_error_, rel=1e-6)
