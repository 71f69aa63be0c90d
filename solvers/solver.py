"""The solver protocol: initialise, step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from ldr.solvers.checks import Brief
from ldr.solvers.manifolds import Array
from ldr.solvers.problem import RiemannianPoint, RiemannianProblem
from ldr.solvers.run import Stopping
from ldr.solvers.status import Status


@dataclass(frozen=True)
class State:
    """Where a solver is: its point, and what it remembers (in subclasses).

    `halt` is set by a step that cannot go on; `iterations` is how many it took to get here.
    """

    point: RiemannianPoint
    halt: Status | None = field(default=None, kw_only=True)
    iterations: int = field(default=1, kw_only=True)


S = TypeVar("S", bound=State)


class Solver(Brief, ABC, Generic[S]):
    """An algorithm: `initialise` a state at a start, `step` it. Options are dataclass fields.

    `patience` is the number of steps in a row that may gain nothing before it counts as stalled;
    `handles_penalty` tells whether it minimises a problem's penalty too.
    """

    name: ClassVar[str]
    default_max_iterations: ClassVar[int]
    patience: ClassVar[int] = 50
    handles_penalty: ClassVar[bool] = False

    @abstractmethod
    def initialise(self, problem: RiemannianProblem, M: Array) -> S:
        """The state at the start M."""

    def step(self, problem: RiemannianProblem, state: S) -> S:
        """The next state; solvers whose `states` are those of another have no step of their own."""
        raise NotImplementedError(f"solver {self.name!r} runs as a whole and takes no single step")

    def states(self, problem: RiemannianProblem, M: Array, stopping: Stopping) -> Iterator[State]:
        """The start's state, then one state a step, without end."""
        return self.states_from(problem, self.initialise(problem, M))

    def states_from(self, problem: RiemannianProblem, state: S) -> Iterator[State]:
        """The state, then one state a step, without end."""
        while True:
            yield state
            state = self.step(problem, state)


# Whatever it remembers.
AnySolver: TypeAlias = Solver[Any]
