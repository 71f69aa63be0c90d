"""Every kind of problem by its key, whose first word is the method."""

from tests.adversarial import newer, problems
from tests.adversarial.campaign import SEED, generator
from tests.adversarial.problems import Problem

METHODS = problems.METHODS | newer.NEWER


def problem(method: str, index: int, seed: int = SEED) -> Problem:
    """The problem of that number."""
    return METHODS[method](generator("certified", method, seed, index))
