"""What a derivative of an optimum costs, in solves with its Hessian: every method, four sizes.

    python -m benchmarks.derivatives [ROWSxCOLUMNS ...] [KEY ...]

One Hessian solve is Hess u = v at the optimum by this library, the Hessian anew: of up to 400
numbers all its products and their eigenvectors, else conjugate gradients. The Hessian is that of
what the map is an optimum of. Where the problem that is solved last has a few numbers alone, and
what moves was found before, it is that of what was found: of csp of more classes Pham's criterion,
of pls-regression tr(w'SS'w) of each weight. gkdr's G is made of the solution of a linear system of
n equations: a solve with it, by Cholesky's factors, belongs to one with the Hessian.

One derivative is `sensitivity.along(dX).projector` after a first one, which compiles it. Both are
of the processor, one thread, the least of a few; "bound" counts the problems that the derivative
binds again. Kernels have a given width where rows are many: a default one, a median of distances,
jumps from pair to pair.
"""

from __future__ import annotations

import re
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from unittest.mock import patch

import numpy as np
from scipy.linalg import cho_factor, cho_solve

import ldr
from ldr.objectives.data.data import as_tuple
from ldr.objectives.families.trace import Trace
from ldr.sensitivity import methods
from ldr.sensitivity.derivative import Line
from ldr.sensitivity.optimum import hessian_inverse
from ldr.sensitivity.sensitivity import Sensitivity
from ldr.solvers.deadline import one_thread
from ldr.solvers.errors import ArgumentError, SingularError
from ldr.solvers.manifolds import Array
from ldr.solvers.second_order import HessianInverse
from tests.objectives.methods import RANDOM, D, N, cases, drawn, name_of

MOST = 6.0
SIZES = "60x7", "300x20", "1000x50", "2000x100"
WIDTHS = {"sdr": 3.0, "hsic": 3.0, "gkdr": 3.0}


def least_seconds(*works: Callable[[], object]) -> list[float]:
    """The least processor time of each, in turns: at least three, for a tenth of a second."""
    times: list[list[float]] = [[] for _ in works]
    while len(times[0]) < 3 or sum(map(sum, times)) < 0.1:
        for work, own in zip(works, times, strict=True):
            start = time.process_time()
            work()
            own.append(time.process_time() - start)
    return [min(own) for own in times]


def solves(sensitivity: Sensitivity) -> list[Callable[[], object]]:
    """What one Hessian solve is, nothing of the Hessians known."""

    def hessian(of: Callable[..., HessianInverse], *given: object) -> Callable[[], object]:
        def solve() -> Array:
            inverse = of(*given)
            return inverse(np.ones_like(inverse.M))

        return solve

    optimum, known = sensitivity.optimum, sensitivity.known
    problem = optimum.problem
    last = hessian(hessian_inverse, problem, optimum.M)
    if isinstance(known, methods.FiltersOfRows):
        moments = np.array(methods.moments_of(known.X[0], *known.criterion.known))
        return [hessian(methods.filters_inverse, moments)]
    observed = known.observed if known else None
    if observed and observed.function is methods.of_scores:
        (X,), (Y, _, leading) = known.X, observed.known
        S = (X - X.mean(axis=0)).T @ Y
        trace = Trace(problem.objective, problem.views, S @ S.T, 1)
        return [hessian(HessianInverse, trace, leading[0].U[:, :1])] * len(leading)
    if observed and observed.function is methods.of_kernel_gradients:
        _, _, _, Z, _, factor, _ = observed.known
        K = np.triu(factor).T @ np.triu(factor)
        return [last, lambda: cho_solve(cho_factor(K), Z)]
    return [last]


def row(key: str, X: object, y: object, parameters: dict) -> str:
    """The times of one method."""
    rng = np.random.default_rng(0)
    moves = tuple(rng.standard_normal(x.shape) * np.nanstd(x, axis=0) for x in as_tuple(X))
    dX = moves if isinstance(X, tuple) else moves[0]
    options = {"tolerance": 1e-10, "random_state": 0, "certify": False}
    try:
        result = ldr.solve(name_of(key), X, 2, y=y, **options, **parameters)
        sensitivity = result.sensitivity(X, y)
        with patch.object(Line, "__call__", autospec=True, side_effect=Line.__call__) as bound:
            sensitivity.along(dX).projector  # noqa: B018
        solving = solves(sensitivity)
        hessian, derivative = least_seconds(
            lambda: [solve() for solve in solving], lambda: sensitivity.along(dX).projector
        )
    except (ArgumentError, SingularError) as error:
        return f"{key:32s} refused: {str(error)[:60]} ..."
    ratio, count = derivative / hessian, bound.call_count
    over = "" if ratio <= MOST else f"  above {MOST:g}"
    return f"{key:32s} {1e3 * hessian:9.2f} {1e3 * derivative:10.2f} {ratio:6.2f} {count:6d}{over}"


def table(n: int, d: int) -> dict[str, tuple]:
    """Data of every method."""
    if (n, d) == (N, D):
        return RANDOM
    return {
        key: (X, y, {"width": WIDTHS[name], **own} if (name := name_of(key)) in WIDTHS else own)
        for key, (X, y, own) in cases(drawn(n, d)).items()
    }


def main(chosen: Sequence[str]) -> None:
    warnings.simplefilter("ignore")
    sizes = [each for each in chosen if re.fullmatch(r"\d+x\d+", each)]
    keys = set(chosen) - set(sizes)
    for size in sizes or SIZES:
        print(f"{size}, r = 2: milliseconds")
        print(f"{'method':32s} {'Hessian':>9s} {'derivative':>10s} {'ratio':>6s} {'bound':>6s}")
        for key, given in table(*map(int, size.split("x"))).items():
            if not keys or key in keys:
                with one_thread():
                    print(row(key, *given), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
