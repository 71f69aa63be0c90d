"""Pickles of an earlier version are read as this one would make them, or refused in words."""

import copy
import dataclasses
import inspect
import pickle
from pathlib import Path

import pytest

import ldr
from ldr.errors import DataError
from ldr.objectives import LDA, MAF
from ldr.solvers.pickles import Pickled

# Of the version before rooms, by name: what it was is pickled inside, so that each opens alone.
EARLIER = pickle.loads(Path(__file__).with_name("earlier.pickle").read_bytes())

READ = {
    "estimator": ldr.OrthogonalLDA(3, ridge=0.5),
    "objective": LDA(0.5),
    "normalised": ldr.normalised(MAF()),
}
REFUSED = {
    "result": DataError,
    "path": DataError,
    "fitted estimator": DataError,
    "result of a sum": ModuleNotFoundError,
    "moved objective": ModuleNotFoundError,
    "solver": ModuleNotFoundError,
}


@pytest.mark.parametrize("name", READ)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
def test_what_is_read_is_as_this_version_makes_it(name):
    again, expected = pickle.loads(EARLIER[name]), READ[name]
    assert repr(again) == repr(expected) and vars(again) == vars(expected)


@pytest.mark.parametrize(("name", "error"), REFUSED.items())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
def test_what_is_refused_is_refused_in_words(name, error):
    with pytest.raises(error, match=r"another version of ldr wrote that pickle.* keep P and mean"):
        pickle.loads(EARLIER[name])


def test_a_class_that_stands_elsewhere_is_found():
    assert pickle.loads(EARLIER["parallel analysis"]).null.shape == (2, 3)
    assert set(EARLIER) == {*READ, *REFUSED, "parallel analysis"}


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


def test_new_fields_have_their_defaults_and_others_are_named():
    made = object.__new__(Grown)
    made.__setstate__({"size": 3})
    assert made == Grown(3) == copy.deepcopy(made)
    for state, named in (({"unit": 2.0}, "size"), ({"size": 3, "height": 4}, "height")):
        with pytest.raises(DataError, match=rf"a pickled Grown has other .* \({named}\): another"):
            object.__new__(Grown).__setstate__(state)


def test_objectives_of_another_version_lack_no_parameter():
    with pytest.raises(DataError, match=r"a pickled Sum: .*'terms'; another version of ldr"):
        object.__new__(ldr.objectives.Sum).__setstate__({"penalty": None})
