"""Warnings that point at the user's own line."""

from __future__ import annotations

import sys
import warnings

# Doors call one another, and pipelines and searches call them: none of their lines is the user's.
_PASSED_THROUGH = {__name__.partition(".")[0], "joblib", "sklearn"}


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the innermost line that is outside this package and outside what calls it."""
    level, frame = 2, sys._getframe(1).f_back
    while frame is not None and _package(frame.f_globals) in _PASSED_THROUGH:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)


def _package(names: dict[str, object]) -> str:
    return str(names.get("__name__")).partition(".")[0]
