"""Time lags."""

from __future__ import annotations

from ldr.solvers.checks import whole


def check_lag(lag: int) -> None:
    """Refuse a lag that is not a positive whole number."""
    whole("lag", lag, 1)
