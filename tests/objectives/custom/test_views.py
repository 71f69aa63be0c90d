"""Functions of one's own of several views, against the methods of the registry."""

import numpy as np
import pytest

import ldr
from ldr.errors import ArgumentError, ObjectiveError
from ldr.inputs import as_data
from tests.objectives.methods import THREE_VIEWS, VIEWS

PAIRS = ((0, 1), (0, 2), (1, 2))


def of_jax():
    @ldr.objective(views=3, sense="max")
    def covary(M1, M2, M3, X1, X2, X3):
        Y = X1 @ M1, X2 @ M2, X3 @ M3
        return sum((Y[i] * Y[j]).sum() for i, j in PAIRS) / len(X1)

    return covary


def of_autograd():
    @ldr.objective(views=3, sense="max", backend="autograd")
    def covary(M1, M2, M3, X1, X2, X3):
        import autograd.numpy as anp

        Y = anp.dot(X1, M1), anp.dot(X2, M2), anp.dot(X3, M3)
        return sum(anp.sum(Y[i] * Y[j]) for i, j in PAIRS) / len(X1)

    return covary


def of_numpy():
    def gradient(M1, M2, M3, X1, X2, X3):
        Y = X1 @ M1, X2 @ M2, X3 @ M3
        return [X.T @ (sum(Y) - own) / len(X1) for X, own in zip((X1, X2, X3), Y, strict=True)]

    def hessian(M1, M2, M3, X1, X2, X3, V1, V2, V3):
        return gradient(V1, V2, V3, X1, X2, X3)

    @ldr.objective(views=3, sense="max", backend="numpy", gradient=gradient, hessian=hessian)
    def covary(M1, M2, M3, X1, X2, X3):
        Y = X1 @ M1, X2 @ M2, X3 @ M3
        return sum(np.sum(Y[i] * Y[j]) for i, j in PAIRS) / len(X1)

    return covary


@pytest.mark.parametrize("make", [of_jax, of_autograd, of_numpy])
def test_a_function_of_three_views_is_maxdiff(make):
    """From the start that maxdiff has, the same optimum; the rotation of all is free."""
    own, X = make(), tuple(view[:60] for view in THREE_VIEWS)
    exact = ldr.solve("maxdiff", X, 2)
    found = ldr.solve(own, X, 2, start=ldr.solve("maxdiff", X, 2, start="random").M)
    assert found.value == pytest.approx(exact.value, rel=1e-9)
    assert [P.shape for P in found.P] == [P.shape for P in exact.P]
    scores = found.transform(X)
    assert own(*found.M, *(x - x.mean(axis=0) for x in X)) == pytest.approx(found.value)
    pairs = sum(np.sum(scores[i] * scores[j]) for i, j in PAIRS) / 60
    assert found.value == pytest.approx(pairs, rel=1e-12)
    report = ldr.check(own, X, 2)
    assert report.passed and "stiefel x stiefel x stiefel" in str(report)


def test_sums_over_the_rows_of_two_views_add_up_in_pieces(tmp_path):
    @ldr.objective(views=2, manifold="stiefel", sum_over_rows=True)
    def apart(Ma, Mb, Xa, Xb):
        return ((Xa @ Ma - Xb @ Mb) ** 2).sum()

    X = tuple(view[:60] for view in VIEWS)
    weights = np.arange(60) % 3
    problem, files, weighted, repeated = (
        apart.bind(as_data(apart, *given), 2)
        for given in (
            (X, None),
            (tuple(saved(tmp_path / f"{i}.npy", view) for i, view in enumerate(X)), None),
            (X, None, weights),
            (tuple(np.repeat(view, weights, axis=0) for view in X), None),
        )
    )
    M = problem.random_point(np.random.default_rng(0))
    V = problem.manifold.random_tangent(M, np.random.default_rng(1))
    for one, other in ((problem, files), (weighted, repeated)):
        assert one.value(M) == pytest.approx(other.value(M), rel=1e-10)
        for of in (lambda at: at.gradient, lambda at: at.hessian_vector(V)):
            expected = of(one.at(M))
            np.testing.assert_allclose(of(other.at(M)), expected, atol=1e-9 * abs(expected).max())


def saved(path, X):
    np.save(path, X)
    return str(path)


def test_the_manifold_of_each_view_is_told_by_itself():
    @ldr.objective(views=2, sense="max")
    def half(Ma, Mb, Xa, Xb):
        return ((Xa @ Ma) ** 2).sum() + (Xb @ Mb)[:, 0].sum() ** 2 + ((Xb @ Mb)[:, 0] ** 2).sum()

    found = ldr.solve(half, VIEWS, 2, random_state=0)
    assert any("f(MQ) = f(M) of view 1" in note for note in found.notes)
    assert any("f(MQ) != f(M) of view 2" in note for note in found.notes)


def test_with_a_response():
    @ldr.objective(views=2, sense="max", manifold="stiefel")
    def agree(Ma, Mb, Xa, Xb, y):
        return (((Xa @ Ma) * (Xb @ Mb))[:, 0] * y).sum()

    y = np.arange(len(VIEWS[0]), dtype=float)
    found = ldr.solve(agree, VIEWS, 1, y=y, random_state=0)
    Ya, Yb = found.transform(VIEWS)
    assert found.value == pytest.approx(float(np.sum(Ya[:, 0] * Yb[:, 0] * y)), rel=1e-10)


def test_views_that_do_not_fit_the_function():
    with pytest.raises(ArgumentError, match=r"expected f\(M1, M2, X1, X2\) or"):
        ldr.objective(views=2)(lambda M, X: 0.0)
    with pytest.raises(ArgumentError, match="views must be"):
        ldr.objective(views=0)(lambda M, X: 0.0)
    with pytest.raises(ldr.errors.DataError, match="pair of arrays"):
        ldr.solve(ldr.objective(views=2)(lambda Ma, Mb, Xa, Xb: Ma.sum()), THREE_VIEWS, 1)
    wrong = ldr.objective(views=2, backend="numpy", gradient=lambda Ma, Mb, Xa, Xb: Ma)(
        lambda Ma, Mb, Xa, Xb: np.sum(Ma)
    )
    with pytest.raises(ObjectiveError, match="expected a matrix for each view"):
        ldr.solve(wrong, VIEWS, 1)
