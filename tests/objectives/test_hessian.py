"""phd and gkdr: the directions of statsmodels, the definition, and what both refuse."""

import numpy as np
import pytest

import ldr
from ldr.errors import DataError
from tests import real_data

RNG = np.random.default_rng(0)
Z = RNG.standard_normal((400, 5))
X = Z @ RNG.standard_normal((5, 5)) + 3.0
BENT = Z[:, 0] ** 2 - 0.5 * Z[:, 1] ** 2 + 0.1 * RNG.standard_normal(400)


def angle(A, B):
    A, B = np.linalg.qr(A)[0], np.linalg.qr(B)[0]
    return np.linalg.norm(A - B @ (B.T @ A), 2)


@pytest.mark.parametrize("data", [(X, BENT), real_data.diabetes()], ids=["bent", "diabetes"])
def test_phd_is_statsmodels(data):
    """Its covariance is over n - 1, which is a factor of its eigenvalues."""
    dimred = pytest.importorskip(
        "statsmodels.regression.dimred", reason="statsmodels is not installed: phd has no peer"
    )
    rows, y = data
    n = len(rows)
    theirs = dimred.PHD(y, rows).fit()
    ours = ldr.solve("phd", rows, 2, y=y)
    np.testing.assert_allclose(
        ours.components["curvature"], np.real(theirs.eigs[:2]) * n / (n - 1), rtol=1e-8
    )
    assert angle(ours.P.T, np.real(theirs.params[:, :2])) < 1e-7
    assert ours.value == pytest.approx(np.abs(theirs.eigs[:2]).sum() * n / (n - 1), rel=1e-8)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.ones(400), "y is constant"),
        (X[:, :2], "y has 2 columns, but phd takes a single response"),
        (np.array(["a", "b"] * 200), "expected numbers"),
    ],
)
def test_what_phd_refuses(y, words):
    with pytest.raises(DataError, match=words):
        ldr.solve("phd", X, 2, y=y)


def test_what_gkdr_refuses():
    with pytest.raises(DataError, match="give width= a value"):
        ldr.solve("gkdr", np.vstack([np.zeros((30, 2)), np.eye(2)]), 1, y=np.arange(32.0))


def test_gkdr_is_the_definition():
    rows, y = X[:40], BENT[:40]
    epsilon, width, of_y = 0.02, 2.5, 0.7

    def gram(A, sigma):
        return np.exp(-((A[:, None] - A) ** 2).sum(axis=-1) / (2 * sigma**2))

    K, Ky = gram(rows, width), gram(y[:, None], of_y)
    inverse = np.linalg.inv(K + 40 * epsilon * np.eye(40))
    G = np.zeros((5, 5))
    for x, k in zip(rows, K, strict=True):
        D = (rows - x) * k[:, None] / width**2
        G += D.T @ inverse @ Ky @ inverse @ D / 40
    values, vectors = np.linalg.eigh(G)
    result = ldr.solve("gkdr", rows, 2, y=y, epsilon=epsilon, width=width, response_width=of_y)
    np.testing.assert_allclose(result.components["eigenvalue"], values[:2:-1], rtol=1e-8)
    assert angle(result.M, vectors[:, 3:]) < 1e-7
