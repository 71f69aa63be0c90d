"""Short runs a few times: what runs first on a waking machine is slower."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

RUNS = 3
SHORT = 2.0  # seconds

Outcome = TypeVar("Outcome")


def a_few(run: Callable[[], Outcome], seconds: Callable[[Outcome], float]) -> list[Outcome]:
    """The outcomes of some runs where the first was short, else of one."""
    outcomes = [run()]
    while len(outcomes) < RUNS and seconds(outcomes[0]) < SHORT:
        outcomes.append(run())
    return outcomes
