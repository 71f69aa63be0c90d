"""Sums computed by jax on a device: the same numbers as by NumPy. Without a device, a warning."""

import sys
from dataclasses import replace

import numpy as np
import pytest

import ldr
from ldr.errors import ArgumentError, DeviceWarning
from ldr.objectives import statistics
from ldr.objectives.data import data as samples_module
from ldr.objectives.data.accelerator import Accelerator, accelerator
from ldr.objectives.data.opening import as_samples
from ldr.objectives.statistics.covariance import CovarianceOperator
from tests.objectives.statistics.references import DATA

jax = pytest.importorskip("jax")

PROCESSOR = Accelerator("cpu")  # jax's own, which is always there
NAMES = ("centred", "mean 1e8", "mixed means", "float32", "integers", "random walk")


@pytest.fixture(params=NAMES, ids=str)
def both(request, monkeypatch):
    """The same samples for NumPy and for jax, in several pieces."""
    monkeypatch.setattr(samples_module, "BLOCK_NUMBERS", 4000)
    plain = as_samples(DATA[request.param])
    return plain, replace(plain, accelerator=PROCESSOR)


def test_products(both):
    V = np.random.default_rng(0).standard_normal((5, 2))
    expected, found = (CovarianceOperator.of(s) @ V for s in both)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())


def test_jax_stays_in_single_precision_elsewhere():
    statistics.moments(replace(as_samples(np.eye(5)), accelerator=PROCESSOR))
    assert jax.numpy.ones(3).dtype == np.float32


def test_a_solution_on_a_device_that_is_not_there():
    try:
        jax.devices("gpu")
    except RuntimeError:
        pass
    else:
        pytest.skip("there is a device")
    X = DATA["centred"]
    with pytest.warns(
        DeviceWarning, match="device='gpu' was requested, but jax finds no such device"
    ):
        result = ldr.solve("pca", X, 2, device="gpu")
    assert result.value == ldr.solve("pca", X, 2).value
    assert accelerator("cpu") is None


def test_a_device_that_jax_finds_or_that_no_jax_looks_for(monkeypatch):
    monkeypatch.setattr("ldr.objectives.data.accelerator._devices", lambda device: [device])
    assert accelerator("gpu") == Accelerator("gpu")
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.warns(DeviceWarning, match="but jax is not installed: the CPU is used"):
        assert accelerator("gpu") is None


def test_an_unknown_device():
    with pytest.raises(ArgumentError, match="device must be 'cpu' or 'gpu', got 'tpu'"):
        ldr.solve("pca", DATA["centred"], 2, device="tpu")


@pytest.mark.parametrize("sum_over_rows", [False, True])
def test_objectives_of_ones_own_are_computed_there(monkeypatch, sum_over_rows):
    """On jax's processor, as a device that was requested."""
    placed = []
    put = jax.device_put

    def watched(array, device=None):
        placed.append(device)
        return put(array, device)

    @ldr.objective(manifold="grassmann", sense="max", sum_over_rows=sum_over_rows)
    def spread(M, X):
        return jax.numpy.sum((X @ M) ** 2)

    monkeypatch.setattr(jax, "device_put", watched)
    monkeypatch.setattr("ldr.objectives.data.accelerator.accelerator", lambda _: PROCESSOR)
    found = ldr.solve(spread, DATA["centred"], 2, device="gpu")
    assert placed
    assert all(device == PROCESSOR.device for device in placed)
    monkeypatch.undo()
    expected = ldr.solve("pca", DATA["centred"], 2)
    S = np.cov(DATA["centred"].T, bias=True) * len(DATA["centred"])
    assert found.value == pytest.approx(np.trace(S) - expected.value, rel=1e-10)
