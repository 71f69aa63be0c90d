"""Sums of objectives: values, derivatives, manifolds, solvers, and what is refused."""

import pickle

import numpy as np
import pytest

import ldr
from ldr.errors import ArgumentError, DataError, SingularError
from ldr.inputs import as_data
from ldr.objectives import (
    OLPP,
    PCA,
    PLS,
    PPCA,
    SDR,
    SFA,
    SIR,
    ContrastivePCA,
    DistanceMDS,
    FactorAnalysis,
    LeastSquares,
    OrthogonalCCA,
    OrthogonalGCPCA,
    OrthogonalLDA,
    OrthogonalMAF,
    RidgeRegression,
    SignalNoise,
    SparsePCA,
)
from ldr.objectives.objective import L1
from ldr.solvers import solver_names
from tests.objectives.methods import LABELS, NOISE, VIEWS, X

D = X.shape[1]
WIDE = np.random.default_rng(1).standard_normal((20, 30))


@ldr.objective(
    manifold="stiefel",
    backend="numpy",
    gradient=lambda M, X: 4 * X.T @ (X @ M) ** 3 / len(X),
    hessian=lambda M, X, V: 12 * X.T @ ((X @ M) ** 2 * (X @ V)) / len(X),
)
def fourth_moment(M, X):
    return np.sum((X @ M) ** 4) / len(X)


@ldr.objective(
    manifold="euclidean", backend="numpy", gradient=lambda M, X: 2 * M - X[: len(M), : M.shape[1]]
)
def near(M, X):
    return np.sum(M**2) - np.sum(M * X[: len(M), : M.shape[1]])


SUMS = {
    "traces": (0.7 * PCA() + 0.3 * OLPP(), X, "grassmann"),
    "min and max": (0.7 * PCA() + 30 * OrthogonalLDA(), X, "grassmann"),
    "both max": (OrthogonalLDA() + 2 * OrthogonalMAF(), X, "grassmann"),
    "against": (OrthogonalLDA() / 2 - OrthogonalMAF(), X, "grassmann"),
    "kernels": (SDR() + 0.1 * OrthogonalLDA(), X, "grassmann"),
    "custom": (fourth_moment + PCA() / 10, X, "stiefel"),
    "normalised": (ldr.normalised("pca") + 0.5 * ldr.normalised(OrthogonalLDA()), X, "grassmann"),
    "kernel version": (
        ldr.kernel(PCA() + OrthogonalLDA(ridge=0.1), "rbf", gamma=0.01, components=12),
        X,
        "grassmann",
    ),
    "two views": (OrthogonalCCA() + 0.1 * PLS(), VIEWS, "stiefel x stiefel"),
    "background": (PCA() - 3 * SignalNoise(), (X, NOISE), "grassmann"),
    "unconstrained": (near + 2 * near, X, "euclidean"),
    "a penalty": (PCA() + OrthogonalLDA() + ldr.l1(3.0), X, "stiefel"),
    "of a likelihood": (PPCA() + ldr.l1(3.0), X, "euclidean x euclidean"),
    "fewer rows": (PCA() + OrthogonalLDA(ridge=0.5), WIDE, "grassmann"),
}


def labels_of(data):
    return LABELS[: len(data[0] if isinstance(data, tuple) else data)]


def bound(objective, data, r=2):
    return objective.bind(as_data(objective, data, labels_of(data)), r)


@pytest.mark.smoke
@pytest.mark.parametrize("key", SUMS)
def test_derivatives_and_manifold(key):
    objective, data, manifold = SUMS[key]
    found = ldr.check(objective, data, 2, y=labels_of(data))
    assert found.passed, found
    assert found.declared_manifold == manifold


@pytest.mark.parametrize("weights", [(0.7, 0.3), (2.0, -1.0), (-1.0, 0.0)])
@pytest.mark.parametrize(
    ("first", "second", "data"),
    [
        (PCA(), OLPP(), X),
        (PCA(), OrthogonalLDA(), X),
        (OrthogonalLDA(), OrthogonalMAF(), X),
        (SDR(), PCA(), X),
        (fourth_moment, OrthogonalLDA(), X),
        (OrthogonalCCA(), PLS(), VIEWS),
        (PCA(), OrthogonalLDA(ridge=0.5), WIDE),
        (PCA(), OrthogonalLDA(), np.hstack([X, X[:, :2]])),
        (
            ContrastivePCA(),
            OrthogonalGCPCA(),
            (WIDE[:6], WIDE[6:13]),
        ),  # of which the second leaves less
        (ldr.normalised(fourth_moment + PCA()), OrthogonalLDA(), np.hstack([X, X[:, :2]])),
    ],
    ids=lambda p: getattr(p, "name", ""),
)
def test_the_value_is_the_weighted_sum_of_the_values(first, second, data, weights):
    a, b = weights
    together = a * first + b * second
    problem = bound(together, data)
    M = problem.random_point(np.random.default_rng(0))
    values = []
    for part in (first, second):
        alone = bound(part, data)
        values.append(alone.reported(alone.value(alone.lower(problem.lift(M)))))
    signs = [1.0 if together.sense == part.sense else -1.0 for part in (first, second)]
    assert together.sense == (first.sense if first.sense == second.sense else "min")
    expected = a * signs[0] * values[0] + b * signs[1] * values[1]
    size = abs(a * values[0]) + abs(b * values[1])
    assert problem.reported(problem.value(M)) == pytest.approx(expected, abs=1e-10 * size)


def test_a_penalty_counts_against_both_senses():
    for objective, sign in ((PCA(), 1.0), (OrthogonalLDA(), -1.0)):
        problem, alone = bound(objective + ldr.l1(0.4), X), bound(objective, X)
        M = problem.random_point(np.random.default_rng(0))
        expected = alone.reported(alone.value(M)) + sign * 0.4 * np.abs(M).sum()
        assert problem.reported(problem.value(M)) == pytest.approx(expected, rel=1e-12)


def test_simple_sums_are_their_terms():
    pca = PCA()
    negative = -pca
    assert -negative is pca and 1 * pca is pca and pca / 1 is pca
    assert (pca + OrthogonalLDA()) - OrthogonalLDA() != pca  # terms are not cancelled
    assert 2 * (pca + ldr.l1(3)) == 2 * pca + ldr.l1(6)
    assert ldr.l1(1) + pca + ldr.l1(2) == pca + ldr.l1(3)
    assert 2 * SparsePCA(3.0) == 2 * PCA() + ldr.l1(6.0)
    assert np.float64(0.5) * pca == pca / 2
    assert 0.5 * ldr.l1(3.0) == L1(1.5) == ldr.l1(3.0) / 2
    assert sum([pca, OrthogonalLDA(), 2 * pca]) == pca + OrthogonalLDA() + 2 * pca


@pytest.mark.smoke
def test_traces_stay_exact():
    alone = ldr.solve("pca", X, 2)
    for objective in (2 * PCA(), PCA() + 0 * OrthogonalLDA(), PCA() + PCA(), PCA() + 0 * OLPP()):
        result = ldr.solve(objective, X, 2, y=LABELS)
        assert result.certificate.kind == "global" and result.solver == "closed-form"
        factor = 1.0 if "0" in result.objective.name else 2.0
        assert result.value == pytest.approx(factor * alone.value, rel=1e-12)
    least = ldr.solve(-PCA(), X, 2)
    C = np.cov(X.T, bias=True) * len(X)
    assert -least.value == pytest.approx(np.trace(C) - np.linalg.eigvalsh(C)[:2].sum(), rel=1e-12)


# pymanopt's first-order solvers take up to a minute each: its trust region stands for them.
# Those of one family are left out, and pymanopt's first-order ones, which take minutes.
SPECIAL = {
    "self-consistent-field",
    "variable-projection",
    "em",
    "imputation",
    "svrg",
    "coordinate-descent",
}
SPECIAL |= {"coordinate-descent", "pymanopt:conjugate-gradient", "pymanopt:steepest-descent"}
GENERAL = [name for name in solver_names() if name not in SPECIAL]


@pytest.mark.parametrize("key", ["traces", "min and max", "custom", "two views", "fewer rows"])
def test_every_solver_reaches_the_same_value(key):
    objective, data, _ = SUMS[key]
    y = labels_of(data)
    best = ldr.solve(objective, data, 2, y=y, solver="trust-region").M
    blocks = best if isinstance(best, tuple) else (best,)
    rng = np.random.default_rng(0)
    # near enough to the optimum that local ones do not matter
    near_best = tuple(M + 0.05 * rng.standard_normal(M.shape) for M in blocks)
    start = near_best if len(blocks) > 1 else near_best[0]
    values = {
        name: ldr.solve(
            objective, data, 2, y=y, solver=name, start=start, tolerance=1e-9, certify=False
        ).value
        for name in GENERAL
    }
    assert "pymanopt:trust-region" in values and len(values) == 8
    assert np.ptp(list(values.values())) <= 1e-9 * abs(values["trust-region"]), values


@pytest.mark.parametrize("key", SUMS)
def test_solutions_are_no_worse_than_any_terms_heuristic(key):
    objective, data, _ = SUMS[key]
    result = ldr.solve(objective, data, 2, y=labels_of(data))
    assert result.converged
    assert result.certificate.kind in ("global", "local"), result
    if result.baseline is not None:
        assert result.improvement >= -1e-12


def test_the_restriction_is_to_what_all_terms_leave():
    """The sum lives in the range of the total scatter: lda leaves it, pca has all columns."""
    collinear = np.hstack([X, X[:, :2] @ [[1.0], [2.0]]])
    result = ldr.solve(PCA() / 100 + OrthogonalLDA(), collinear, 2, y=LABELS)
    null = np.zeros(D + 1)
    null[:2], null[-1] = (1, 2), -1
    assert np.abs(null @ result.M).max() < 1e-10
    assert any("rank" in note for note in result.notes)


def test_normalised_is_0_at_the_best_and_1_at_a_typical_m():
    for objective, y in (("pca", None), ("orthogonal-lda", LABELS), ("sdr", X[:, 0]), (near, None)):
        normalised = ldr.normalised(objective)
        problem = normalised.bind(as_data(normalised, X, y), 2)
        assert normalised.sense == "min"
        result = ldr.solve(normalised, X, 2, y=y)
        assert abs(result.value) < 1e-7
        rng = np.random.default_rng(0)
        values = [problem.reported(problem.value(problem.random_point(rng))) for _ in range(21)]
        assert np.median(values) == pytest.approx(1.0, rel=1e-9)
        assert any("normalised: 0 is the best value" in note for note in result.notes)
    with pytest.raises(DataError, match=r"its optimal value .* equals its median value"):
        ldr.solve(ldr.normalised("pca"), X, D)


def test_weights_of_normalised_terms_trade_one_for_the_other():
    pca, lda = ldr.normalised("pca"), ldr.normalised("orthogonal-lda")
    own = [bound(pca, X), bound(lda, X)]
    values = []
    for weight in (0.05, 0.5, 0.95):
        M = ldr.solve(weight * pca + (1 - weight) * lda, X, 2, y=LABELS, starts=3).M
        values.append([p.reported(p.value(p.lower([M]))) for p in own])
    values = np.array(values)
    assert (np.diff(values[:, 0]) <= 1e-9).all() and (np.diff(values[:, 1]) >= -1e-9).all()
    assert values[0, 0] > 0.01 and values[-1, 1] > 0.01


def test_reprs_are_code_and_sums_are_pickled():
    objective = 0.7 * PCA() - OrthogonalMAF(lag=2) / 4 + ldr.l1(0.1)
    names = {"PCA": PCA, "OrthogonalMAF": OrthogonalMAF, "l1": ldr.l1, "normalised": ldr.normalised}
    assert eval(repr(objective), names) == objective
    assert objective.formula == "min 0.7 pca + 0.25 orthogonal-maf + l1(0.1)"
    assert (-PCA()).formula == "min -pca" and repr(-PCA()) == "-PCA()"
    assert (OrthogonalLDA() + ldr.l1(0.1)).formula == "max orthogonal-lda - l1(0.1)"
    nested = ldr.normalised(PCA()) + OrthogonalLDA()
    for one in (objective, nested, fourth_moment + PCA()):
        copy = pickle.loads(pickle.dumps(one))
        assert copy == one and repr(copy) == repr(one) and copy.needs == one.needs
    assert "0.7 * PCA()" in repr(ldr.solve(0.7 * PCA() + OrthogonalLDA(), X, 2, y=LABELS))
    assert (PCA() + OrthogonalLDA()).needs == ("labels",)


def test_the_map_and_transform_are_those_of_m():
    result = ldr.solve(PCA() + OrthogonalLDA(), X, 2, y=LABELS)
    np.testing.assert_array_equal(result.P, result.M.T)
    np.testing.assert_allclose(result.transform(X), (X - X.mean(axis=0)) @ result.M, atol=1e-12)


def test_a_single_term_keeps_its_own_variable():
    """Of a weighted objective alone everything but the value is the objective's own."""
    for objective, data, y in (
        (SIR(), X, LABELS),
        (PPCA(), X, None),
        (SFA(whiten=True, degree=2), X[:, :3], None),
        (DistanceMDS(), np.linalg.norm(X[:, None] - X, axis=2), None),
        (LeastSquares(), X, X[:, :2] + 1.0),
    ):
        one, two = (ldr.solve(o, data, 2, y=y) for o in (objective, 2 * objective))
        assert two.value == pytest.approx(2 * one.value, rel=1e-10)
        assert two.certificate.kind == "global"
        np.testing.assert_allclose(
            np.abs(two.transform(data)), np.abs(one.transform(data)), atol=1e-7
        )
        assert two.parameters == pytest.approx(one.parameters)


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        (lambda: PCA() + SIR(), "cannot be a term of a sum: .* the transpose of M"),
        (lambda: PCA() + PPCA(), "the transpose of M"),
        (lambda: ldr.kernel("pca") + OrthogonalLDA(), "apply ldr.kernel to the whole sum"),
        (lambda: near + PCA(), "on different manifolds cannot be added"),
        (lambda: PCA() + OrthogonalCCA(), "cannot be added: the first takes 1 view"),
        (lambda: PCA() + DistanceMDS(), "cannot be added: one takes"),
        (lambda: SIR() + ldr.l1(1.0), "takes no penalty"),
        (lambda: ldr.kernel("pca") + ldr.l1(1.0), "takes no penalty"),
        (lambda: ldr.kernel("sparse-pca") + PCA(), "its own penalty"),
        (lambda: PCA() - ldr.l1(1.0), "convex"),
        (lambda: -(PCA() + ldr.l1(1.0)), "convex"),
        (lambda: PCA() * np.inf, "finite number, got inf"),
        (lambda: PCA() / 0, "divided by 0"),
        (lambda: ldr.l1(1.0) / 0, "divided by 0"),
        (lambda: ldr.l1(-1.0), "the weight of an l1 penalty must be a finite number >= 0"),
        (lambda: ldr.l1("much"), "the weight of an l1 penalty"),
        (lambda: ldr.normalised(PCA() + ldr.l1(1.0)), "takes no penalty: add the penalty to"),
        (lambda: ldr.normalised(SparsePCA(2.0)), "takes no penalty: add the penalty to"),
        (lambda: ldr.normalised(3), "must be a name or an Objective"),
    ],
)
def test_what_does_not_add_up_is_refused(objective, message):
    with pytest.raises(ArgumentError, match=message):
        ldr.solve(objective(), X, 2, y=LABELS)


def test_a_penalty_is_refused_where_leaving_the_span_would_pay():
    wide = WIDE
    for objective in (
        -OrthogonalLDA(ridge=0.5),
        -PCA(),
        PCA() + OLPP(),
        PPCA(),
        ldr.normalised(OrthogonalMAF() + OLPP()),
    ):
        with pytest.raises(ArgumentError, match="must stay in the span of the rows"):
            ldr.solve(objective + ldr.l1(1.0), wide, 2, y=labels_of(wide))
    with pytest.raises(SingularError):
        ldr.solve(PCA() + OrthogonalLDA(), wide, 2, y=labels_of(wide))


@pytest.mark.parametrize(
    "expression",
    [
        lambda: PCA() + 1,
        lambda: PCA() + False,
        lambda: PCA() + 0.0,
        lambda: PCA() * PCA(),
        lambda: PCA() * "2",
        lambda: PCA() - "pca",
        lambda: PCA() * True,
        lambda: PCA + OrthogonalLDA(),
        lambda: PCA() / None,
        lambda: ldr.l1(1) + 2,
        lambda: ldr.l1(1) * "a",
        lambda: ldr.l1(1) / [1],
    ],
)
def test_other_types_are_type_errors(expression):
    with pytest.raises(TypeError):
        expression()


@pytest.mark.parametrize("objective", [PPCA(), FactorAnalysis()], ids=["ppca", "fa"])
@pytest.mark.parametrize("missing", [False, True])
def test_a_multiple_of_a_likelihood_keeps_its_model(objective, missing):
    rows = np.random.default_rng(0).standard_normal((60, 5)) @ np.diag([3.0, 2.0, 1.0, 1.0, 1.0])
    if missing:
        rows[::7, 1] = np.nan
    alone, twice = ldr.solve(objective, rows, 1), ldr.solve(2 * objective, rows, 1)
    assert twice.value == pytest.approx(2 * alone.value, rel=1e-10)
    assert twice.model.bic == pytest.approx(alone.model.bic, rel=1e-10)
    np.testing.assert_allclose(twice.mean, alone.mean, atol=1e-8)
    np.testing.assert_allclose(np.abs(twice.transform(rows)), np.abs(alone.transform(rows)), 1e-5)


def test_a_multiple_of_a_likelihood_says_what_it_says():
    rows = np.random.default_rng(0).standard_normal((40, 5))
    rows[:, 1] = rows[:, 0] + 1e-3 * rows[:, 1]
    alone, twice = (ldr.solve(w * FactorAnalysis(), rows, 1) for w in (1, 2))
    assert any("Heywood" in note for note in alone.notes)
    assert twice.notes == alone.notes


def test_the_improvement_of_normalised_is_in_its_own_unit():
    rows = np.random.default_rng(0).integers(-9, 9, (40, 5))  # the heuristic's value is rounding
    result = ldr.solve(ldr.normalised("pca"), rows, 2)
    assert abs(result.improvement) < 1e-12


@pytest.mark.parametrize("size", [1.0, 1e-10])
def test_different_centres_are_told_whatever_the_unit(size):
    X = size * (np.random.default_rng(0).exponential(size=(40, 5)) + 1.0)
    apart = "the terms subtract different means: the map subtracts the first mean"
    assert apart in ldr.solve(PCA() + ldr.objectives.RobustPCA(), X, 2).notes
    assert apart not in ldr.solve(PCA() + ldr.objectives.MDSStress(), X, 2).notes


def test_nothing_of_an_objective_keeps_its_columns_in_place():
    """A regression's columns belong to its responses, also where they count nothing."""
    X = np.random.default_rng(0).standard_normal((20, 3))
    nothing = ldr.solve(0 * RidgeRegression(penalty=1.0), X, 2, y=X[:, 0])
    assert nothing.value == 0.0
    assert nothing.M.shape == (3, 1)


@pytest.mark.parametrize("unit", [1.0, 2.0**330])
def test_the_gap_of_a_multiple_is_a_multiple_of_the_gap(unit):
    y = X[:, 0] + np.arange(len(X))
    for objective in (LeastSquares(), RidgeRegression(3.0), OrthogonalMAF()):
        one = ldr.solve(objective, unit * X, 1, y=unit * y).certificate
        twice = ldr.solve(2.0 * objective, unit * X, 1, y=unit * y).certificate
        assert twice.gap == pytest.approx(2.0 * one.gap, rel=1e-9), objective


@pytest.mark.parametrize("unit", [1.0, 1e-6])
def test_least_squares_with_a_penalty_are_the_lasso(unit):
    Y = X @ np.linspace(-1.0, 1.0, 2 * D).reshape(D, 2)
    ours = ldr.solve(LeastSquares() + ldr.l1(30.0 * unit), unit * X, 2, y=Y, certify=False)
    lasso = ldr.solve("lasso", unit * X, 2, y=Y, penalty=30.0 * unit)
    assert ours.value == pytest.approx(lasso.value, rel=1e-9) and (lasso.M == 0).any()
    np.testing.assert_array_equal(ours.M == 0, lasso.M == 0)
