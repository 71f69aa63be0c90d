"""Benchmarks are programs of their own, in which jax counts in double precision everywhere."""

import jax
import pytest


@pytest.fixture(autouse=True)
def precision_elsewhere():
    before = jax.config.jax_enable_x64
    yield
    jax.config.update("jax_enable_x64", before)
