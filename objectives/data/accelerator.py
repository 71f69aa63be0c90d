"""Sums over a chunk of rows, computed by jax on an accelerator.

A chunk is transferred in its own dtype and converted to float64 on the device, which halves the
transfer of float32 data. Only d x d or d x r arrays are transferred back.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.array_types import Cells, Given
from ldr.solvers.checks import choice
from ldr.solvers.errors import DeviceWarning, warn

if TYPE_CHECKING:
    from jax import Device

DEVICES = ("cpu", "gpu")

Array = npt.NDArray[np.float64]


@cache
def _enable_x64() -> Callable[[bool], AbstractContextManager[object]]:
    import jax

    # Versions of jax before 0.8 have `enable_x64` in jax.experimental.
    return jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64


def float64() -> AbstractContextManager[object]:
    """Return a context in which jax computes in float64; the global flag does not change."""
    return _enable_x64()(True)


@dataclass(frozen=True)
class Accelerator:
    """The first device of a jax platform, found in each process separately.

    - platform: "gpu", or "cpu" for tests of jax on the processor
    """

    platform: str

    @property
    def device(self) -> Device:
        """jax's Device object."""
        return _devices(self.platform)[0]

    def class_sums(
        self, X: Cells, pilots: Array, codes: npt.NDArray[np.intp] | None
    ) -> tuple[Array, Array]:
        """Return class sums and total scatter of the rows minus a shift (pilot) of each class.

        Without codes all rows are one class.
        """
        codes = np.zeros(len(X), dtype=np.intp) if codes is None else codes
        return self._run("class_sums", X, pilots, codes)

    def lagged(self, X: Cells, shift: Array, lag: int) -> tuple[Array, ...]:
        """Return sums over rows z = x - shift of z and zz', and over pairs at a lag.

        The sums over pairs are those of z_t z_{t+lag}', of z_t and of z_{t+lag}.
        """
        return self._run("lagged", X, shift, lag=min(lag, len(X)))

    def scatter_times(self, X: Cells, mean: Array, V: Array) -> Array:
        """Return (X - 1m')'(X - 1m')V, shape (d, r)."""
        return self._run("scatter_times", X, mean, V)

    def _run(self, name: str, *arrays: Cells, **options: int) -> Given:
        import jax

        with float64():
            placed = jax.device_put(arrays, self.device)
            found = _kernels()[name](*placed, **options)
            # jax's arrays are read-only, so that writable copies are returned.
            return jax.tree.map(np.array, found)


@cache
def _devices(platform: str) -> list[Device]:
    import jax

    return jax.devices(platform)


@cache
def _kernels() -> dict[str, Callable[..., object]]:
    import jax
    import jax.numpy as jnp

    def class_sums(X: jax.Array, pilots: jax.Array, codes: jax.Array) -> tuple[jax.Array, ...]:
        Z = X.astype(jnp.float64) - pilots[codes]
        return jax.ops.segment_sum(Z, codes, len(pilots)), Z.T @ Z

    def lagged(X: jax.Array, shift: jax.Array, lag: int) -> tuple[jax.Array, ...]:
        Z = X.astype(jnp.float64) - shift
        before, after = Z[: len(Z) - lag], Z[lag:]
        sums = before.sum(axis=0), after.sum(axis=0)
        return Z.sum(axis=0), Z.T @ Z, before.T @ after, *sums

    def scatter_times(X: jax.Array, mean: jax.Array, V: jax.Array) -> jax.Array:
        Z = X.astype(jnp.float64) - mean
        return Z.T @ (Z @ V)

    return {
        "class_sums": jax.jit(class_sums),
        "lagged": jax.jit(lagged, static_argnames="lag"),
        "scatter_times": jax.jit(scatter_times),
    }


def accelerator(device: str) -> Accelerator | None:
    """Return the accelerator with the name `device`; None for NumPy on the processor.

    Warns
    -----
    ldr.errors.DeviceWarning
        jax, or a device of this kind, is missing; the processor is used.
    """
    choice("device", device, DEVICES)
    if device == "cpu":
        return None
    try:
        _devices(device)
    except ImportError:
        reason = "jax is not installed"
    except RuntimeError as error:
        reason = f"jax finds no such device ({str(error).splitlines()[0]})"
    else:
        return Accelerator(device)
    warn(f"device={device!r} was requested, but {reason}: the CPU is used", DeviceWarning)
    return None
