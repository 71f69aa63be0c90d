"""Time lags."""

from __future__ import annotations

from ldr.solvers.errors import ArgumentError


def check_lag(lag: int) -> None:
    """Refuse a lag that is not a positive whole number."""
    if isinstance(lag, bool) or not isinstance(lag, int) or lag < 1:
        raise ArgumentError(f"lag must be a whole number >= 1, got {lag!r}")
