"""Names of methods that changed still serve, and warn."""

import json

import numpy as np
import pytest

import ldr
from ldr.objectives.registry import CHANGED, CHANGED_CLASSES, RENAMED, RENAMED_CLASSES


@pytest.mark.parametrize("name", RENAMED)
def test_a_former_name_serves_and_warns(name):
    with pytest.warns(FutureWarning, match=f"is now called {RENAMED[name]!r}"):
        assert ldr.objectives.named(name).name == RENAMED[name]


@pytest.mark.filterwarnings("default::FutureWarning")
@pytest.mark.parametrize("name", CHANGED)
def test_a_name_that_changed_its_meaning_warns(name):
    with pytest.warns(FutureWarning, match=f"until version 0.9 this name meant {CHANGED[name]!r}"):
        assert ldr.objectives.named(name).name == name


@pytest.mark.parametrize("name", RENAMED_CLASSES)
@pytest.mark.parametrize("module", [ldr, ldr.objectives])
def test_a_former_class_serves_and_warns(module, name):
    with pytest.warns(FutureWarning, match=f"is now called {RENAMED_CLASSES[name]!r}"):
        assert getattr(module, name).__name__ == RENAMED_CLASSES[name]
    with pytest.raises(AttributeError, match="NoMethod"):
        module.NoMethod  # noqa: B018


@pytest.mark.filterwarnings("default::FutureWarning")
@pytest.mark.parametrize("name", CHANGED_CLASSES)
def test_a_class_that_changed_its_meaning_warns(name):
    with pytest.warns(FutureWarning, match=f"this name meant {CHANGED_CLASSES[name]!r}"):
        assert getattr(ldr.objectives, name).__name__ == name


def test_a_model_of_before_keeps_its_method(tmp_path):
    X, y = np.random.default_rng(0).standard_normal((30, 4)), np.arange(30) % 3
    result = ldr.solve("orthogonal-lda", X, 2, y=y)
    result.save(tmp_path / "now.npz")
    with np.load(tmp_path / "now.npz") as archive:
        arrays = dict(archive)
    header = json.loads(str(arrays["ldr_model"][()]))
    text = json.dumps({**header, "format": 1}).replace("orthogonal-lda", "lda")
    np.savez(tmp_path / "then.npz", **{**arrays, "ldr_model": np.array(text)})
    assert ldr.load(tmp_path / "then.npz").objective == result.objective


@pytest.mark.filterwarnings("error::FutureWarning")
def test_names_that_the_user_did_not_give_do_not_warn():
    X, y = np.random.default_rng(0).standard_normal((30, 4)), np.arange(30) % 3
    assert "lda" in [each.name for each in ldr.compare(None, X, y, 2, folds=2).methods]
    assert "cca" in [each.name for each in ldr.compare(None, (X, X[:, :3]), r=1, folds=2).methods]
    assert ldr.LDA(2).fit(X, y).score(X, y) > 0
