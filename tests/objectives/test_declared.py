"""What objectives declare of themselves, against what their problems do; and what reads it."""

import copy
import dataclasses

import numpy as np
import pytest
import scipy.sparse

import ldr
from ldr.errors import ArgumentError, DataError
from ldr.inputs import as_data
from ldr.objectives import (
    ICA,
    MAF,
    PCA,
    SDR,
    SFA,
    SIR,
    LogDetPCA,
    MDSStress,
    OrthogonalLDA,
    RobustPCA,
)
from ldr.objectives.docstrings import described
from ldr.objectives.objective import Objective, without_penalty
from ldr.objectives.parameters import Need, number
from ldr.objectives.problem import Certificate
from ldr.objectives.registry import REGISTRY, named
from ldr.objectives.statistics import covariance
from tests.objectives.methods import LABELS, RANDOM, RESPONSE, X, name_of


def is_transposed(bound):
    """Whether the map is P = M' at a random point."""
    M = bound.random_point(np.random.default_rng(0))
    pairs = list(zip(bound.maps(M), bound.lift(M), strict=True))
    return all(P.shape == N.T.shape and np.allclose(P, N.T, rtol=1e-8) for P, N in pairs)


def test_a_docstring_describes_every_parameter_whichever_base_has_it():
    for cls in REGISTRY.values():
        names = [field.name for field in dataclasses.fields(cls)]
        for documented in (cls, ldr.estimators.ESTIMATORS[cls.name]):
            entries = described(documented.__doc__)
            assert [name for name in entries if name in names] == names, cls
            assert not any("See `" in entry for entry in entries.values()), cls
        assert cls.__doc__.count("\nSource: ") == 1, cls
        attributes = ldr.estimators.ESTIMATORS[cls.name].__doc__.split("Attributes\n")[1]
        assert "explained_variance_" in attributes.split("See Also")[0], cls


def test_what_nobody_set_is_not_shown():
    assert repr(OrthogonalLDA()) == "OrthogonalLDA()"
    assert (
        repr(OrthogonalLDA(ridge=0.1, nested=[2, 1])) == "OrthogonalLDA(ridge=0.1, nested=(1, 2))"
    )
    assert repr(0.5 * OrthogonalLDA(ridge=0.0) + PCA()) == "0.5 * OrthogonalLDA() + PCA()"
    assert repr(ldr.solvers.LBFGS(memory=3)) == "LBFGS(memory=3)"


def test_a_gap_says_what_is_known():
    kinds = [Certificate.of_gap(gap, 1e-8, "", "", "no bound").kind for gap in (0.0, 1.0, np.inf)]
    assert kinds == ["global", "bound", "none"]
    assert Certificate.of_gap(np.inf, 1e-8, "", "").kind == "bound"


def test_parameters_of_ones_own_bases_are_described_once():
    @dataclasses.dataclass(frozen=True)
    class Own(PCA):
        """Summary.

        Parameters
        ----------
        scale, shift : float
            Of the rows.

            More of them.

        Notes
        -----
        None.
        """

        scale: float = number(1.0, positive=True)
        shift: float = number(0.0)

    @dataclasses.dataclass(frozen=True)
    class Further(Own):
        """Summary."""

    assert list(described(Further.__doc__)) == ["scale", "shift"]
    assert Further.__doc__.count("scale, shift : float") == 1
    assert "Notes" not in Further.__doc__ and Own.__doc__.count("Notes") == 1
    with pytest.raises(ArgumentError, match="scale must be a finite number > 0, got 0"):
        Further(scale=0)
    assert type(Further(shift=np.float32(2)).shift) is float


def test_the_map_and_sparse_data():
    for key, (data, y, parameters) in RANDOM.items():
        objective = named(name_of(key), **parameters)
        transposed = objective.traits.transposed
        assert is_transposed(objective.bind(as_data(objective, data, y), 2)) == transposed, key
        if "distances" not in objective.needs:
            assert ldr.kernel(objective).traits.transposed == transposed, key
        assert (2 * objective).traits.transposed == transposed, key
        views = data if isinstance(data, tuple) else (np.nan_to_num(data),)
        sparse = tuple(scipy.sparse.csr_array(view) for view in views)
        given = as_data(objective, sparse if len(sparse) > 1 else sparse[0], y)
        if objective.traits.sparse:
            objective.bind(given, 2)
        else:
            with pytest.raises(DataError, match="X is sparse"):
                objective.bind(given, 2)


@pytest.mark.parametrize(
    ("objective", "sparse"),
    [
        (PCA() + 0.1 * OrthogonalLDA(), True),
        (2 * ICA(), False),
        (MDSStress() + RobustPCA(), False),
        (PCA() + RobustPCA(), False),
        (0.5 * MDSStress() + ldr.l1(1.0), False),
        (ldr.normalised("orthogonal-lda"), True),
        (ldr.normalised(SDR()) + PCA(), False),
        (ldr.kernel("sdr"), True),
        (SFA(degree=2), False),
        ("ica", False),
        (ldr.objective(lambda M, X: 0.0), False),
        (ldr.objective(lambda M, X: 0.0, backend="numpy", gradient=lambda M, X: M), False),
        (
            ldr.objective(lambda M, X: 0.0, backend="numpy", gradient=lambda M, X: M, center=False),
            True,
        ),
    ],
)
def test_estimators_claim_sparse_data_where_every_term_takes_them(objective, sparse):
    assert ldr.Reducer(objective).__sklearn_tags__().input_tags.sparse == sparse


def test_named_estimators_claim_what_their_parameters_allow():
    assert ldr.SFA().__sklearn_tags__().input_tags.sparse
    assert not ldr.SFA(degree=2).__sklearn_tags__().input_tags.sparse
    assert ldr.SFA(degree=7).__sklearn_tags__().input_tags.sparse  # refused by fit


@pytest.mark.parametrize("other", [MAF(), SIR(), SFA(whiten=True), named("ppca"), ICA()])
def test_maps_that_are_not_transposed_do_not_add_up_whatever_the_data(other):
    """Of white data the map happens to be M'; before there are data it is known not to be."""
    for add in (
        lambda: PCA() + other,
        lambda: 2 * other - OrthogonalLDA(),
        lambda: sum([PCA(), other]),
    ):
        with pytest.raises(
            ArgumentError, match=r"cannot be a term of a sum: .* the transpose of M"
        ):
            add()
    assert (2 * other + ldr.l1(0.0)).traits.transposed is False


def test_plots_compare_maps_that_are_transposed():
    white = np.linalg.qr(X - X.mean(axis=0))[0] * np.sqrt(len(X))
    with pytest.raises(ArgumentError, match=r"cannot be compared with its baseline"):
        ldr.plots.compare(ldr.solve("maf", white, 2), white)


def test_the_heuristic_is_named_once_and_its_exactness_apart():
    for cls in REGISTRY.values():
        assert "exact" not in cls().baseline
    assert (PCA() + ldr.objectives.OLPP()).exact == "no"
    assert (3 * LogDetPCA()).exact == "yes"
    assert (PCA() + LogDetPCA()).baseline == "the best of: top eigenvectors of the covariance"


def test_a_multiple_says_what_its_objective_says(monkeypatch):
    monkeypatch.setattr(covariance, "DENSE", 50)
    wide = scipy.sparse.random_array((60, 200), density=0.05, rng=0, format="csr")
    one, two = (ldr.solve(objective, wide, 2) for objective in (PCA(), 2 * PCA()))
    assert "block Krylov" in one.notes[-1]
    assert two.notes == one.notes
    assert two.value == pytest.approx(2 * one.value, rel=1e-12)


def test_a_multiple_starts_where_its_objective_starts():
    objective = SDR(annealing=(4.0,))
    with pytest.warns(ldr.errors.ConvergenceWarning, match="iteration limit"):
        one, two = (
            ldr.solve(o, X[:, :4], 1, y=RESPONSE, max_iterations=3, certify=False)
            for o in (objective, 2 * objective)
        )
    assert one.starts is not None and two.starts is not None
    assert two.starts.values == pytest.approx([2 * value for value in one.starts.values], rel=1e-8)
    bound = (2 * objective).bind(as_data(objective, X, RESPONSE), 1)
    assert len(bound.easier) == 1
    assert ldr.solve(2 * OrthogonalLDA(), X, 2, y=LABELS).starts is None


def test_a_class_of_ones_own_that_says_nothing():
    class Plain(PCA):
        pass

    class NoDataclass(Objective):
        def bind(self, data, r):
            raise NotImplementedError

    assert Plain.__doc__ is None and repr(Plain()) == "Plain()"
    noted = NoDataclass()
    vars(noted)["note"] = 1
    assert vars(copy.copy(noted)) == {"note": 1}
    assert without_penalty(PCA() + ldr.l1(1.0)) == without_penalty(PCA()) == PCA()


def test_needs_are_named_once():
    assert all(isinstance(need, Need) for cls in REGISTRY.values() for need in cls.needs)
    assert ldr.objectives.LPP(graph="classes").needs == ("graph", "labels")
    with pytest.raises(ArgumentError, match="`needs` has 'label', expected names among 'labels'"):

        class Wrong(PCA):
            needs = ("label",)


def test_traits_are_given_with_the_class():
    class Own(PCA, stacks=False):
        """A method with another trait than its base."""

    assert Own.traits == dataclasses.replace(PCA.traits, stacks=False) and PCA.traits.stacks
    with pytest.raises(
        ArgumentError, match="the unknown class argument wieghted=, expected one of"
    ):

        class Misspelt(PCA, wieghted=True):
            pass

    with pytest.raises(
        ArgumentError, match=r"is a class argument: write class Old\(Objective, sparse="
    ):

        class Old(PCA):
            sparse = False

    with pytest.raises(ArgumentError, match="predicts must be one of '', 'classes', 'response'"):

        class Unknown(PCA, predicts="labels"):
            pass

    with pytest.raises(AttributeError, match=r"'weighted'; it is objective\.traits\.weighted"):
        _ = PCA().weighted
