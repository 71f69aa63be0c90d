"""Pickles of another version are refused in words."""

import copy
import dataclasses
import inspect
import pickle

import pytest

import ldr
from ldr.errors import DataError
from ldr.solvers.checks import Pickled


def test_what_users_are_given_knows_pickles_of_other_versions():
    for value in (getattr(ldr, name) for name in ldr.__all__):
        if inspect.isclass(value) and dataclasses.is_dataclass(value):
            assert issubclass(value, Pickled)


@dataclasses.dataclass(frozen=True)
class Grown(Pickled):
    """Something that has had another field before."""

    size: int
    names: list = dataclasses.field(default_factory=list)
    unit: float = 1.0


def test_pickles_with_other_fields_are_refused_and_the_fields_are_named():
    made = Grown(3)
    assert pickle.loads(pickle.dumps(made)) == made == copy.deepcopy(made)
    whole = {"size": 3, "names": [], "unit": 1.0}
    for state, named in (({"size": 3, "names": []}, "unit"), ({**whole, "height": 4}, "height")):
        words = rf"the pickled Grown .* attributes differ: {named}. .* save the arrays P and mean"
        with pytest.raises(DataError, match=words):
            object.__new__(Grown).__setstate__(state)


def test_objectives_of_another_version_lack_no_parameter():
    with pytest.raises(DataError, match=r"the pickled Sum was written by another version.*terms"):
        object.__new__(ldr.objectives.Sum).__setstate__({"penalty": None})


def test_sums_and_kernels_are_copied_and_pickled():
    both = 0.7 * ldr.objectives.PCA() + 0.3 * ldr.objectives.OrthogonalLDA()
    for objective in (both, both + ldr.l1(0.1), ldr.kernel("pca")):
        again = pickle.loads(pickle.dumps(objective))
        assert again == objective == copy.copy(objective)
        assert (again.name, again.formula) == (objective.name, objective.formula)
