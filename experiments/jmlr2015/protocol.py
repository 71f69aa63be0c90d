"""What is done with one data set: the heuristic, the paper's solver, another start, our own choice.

The paper's solver is the second-order trust region, from a random start for pca and lda and from
the heuristic for cca and maf; of maf it is the heuristic of the paper's code. The other start is
the one of these two that the method does not have. `auto` is what `ldr.solve` would take.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from experiments.jmlr2015.problems import Case, Prepared, prepare, published_maf_heuristic
from ldr.multistart import solver_for
from ldr.objectives.families.trace_ratio import TraceRatio
from ldr.objectives.problem import Certificate
from ldr.solvers.manifolds import Array
from ldr.solvers.solver import Iteration, Run, Solver, minimise
from ldr.solvers.status import Status
from ldr.solvers.trust_region import TrustRegion
from ldr.solving import certify_run

STARTS = {"pca": "random", "lda": "random", "cca": "baseline", "maf": "baseline"}
# Default absolute tolerance of Manopt, the software of the paper.
_USUAL_TOLERANCE = 1e-6

# Absolute tolerance of the gradient in cca's runs from a second start. If correlations are near 1,
# values in a valley differ by 1e-9, and the last digits take longer than all others.
_FLAT = 1e-6

_OTHER = {"random": "baseline", "baseline": "random"}


@dataclass(frozen=True)
class Measurement:
    """One row of the table of the sweeps.

    Attributes
    ----------
    recipe, method, d, r, seed, dataset
        Which data; see `Case`.
    n : int
        Rows of the data.
    solver, start : str
        The paper's solver and where it started.
    value : float
        That it reached, in the objective's own sense.
    baseline, baseline_published : float
        Of the heuristic, with true eigenvectors, and as the paper's code has it; they differ for
        maf only.
    improvement, improvement_published : float
        Eq. 28 of the paper, -(f(M) - f(M_baseline)) / |f(M_baseline)|, over either baseline; not
        divided for cca.
    improvement_code, improvement_published_code : float
        As the paper's code divides: by |f(M)| for pca and lda, not at all for cca and maf.
    certificate, gap : str, float
        What is known of `value`, and by how much the optimum may be better.
    status : str
        Why the solver stopped.
    iterations : int
    seconds, baseline_seconds, statistics_seconds : float
        Of the solver alone; of the heuristic with true eigenvectors; of the sums over the rows.
    usual_iterations, usual_seconds : int, float
        Of the same run, until |gradient| <= 1e-6 |value at the start|: about where the software of
        the paper stops by default. The run itself goes on to 1e-10.
    other_start, other_value, other_status
        The same solver from the other start; for cca until |gradient| <= 1e-6 ("observer").
    auto_solver, auto_value, auto_certificate, auto_gap, auto_status, auto_seconds
        What `solver="auto"` takes and reaches from the heuristic.
    """

    recipe: str
    method: str
    d: int
    r: int
    seed: int
    dataset: int
    n: int
    solver: str
    start: str
    value: float
    baseline: float
    baseline_published: float
    improvement: float
    improvement_code: float
    improvement_published: float
    improvement_published_code: float
    certificate: str
    gap: float
    status: str
    iterations: int
    seconds: float
    baseline_seconds: float
    statistics_seconds: float
    usual_iterations: int
    usual_seconds: float
    other_start: str
    other_value: float
    other_status: str
    auto_solver: str
    auto_value: float
    auto_certificate: str
    auto_gap: float
    auto_status: str
    auto_seconds: float


def measure(case: Case) -> Measurement:
    """Make the data of a case and run the protocol on them."""
    prepared = prepare(case)
    problem = prepared.problem
    began = time.perf_counter()
    heuristic = problem.baseline()
    baseline_seconds = time.perf_counter() - began
    assert heuristic is not None
    published = heuristic
    if case.method == "maf":
        assert isinstance(problem, TraceRatio)
        published = published_maf_heuristic(problem)
    starts = {"baseline": published, "random": problem.random_point(case.generator(1))}

    solver, start = TrustRegion(), STARTS[case.method]
    run = minimise(problem, starts[start], solver)
    end, certificate, _ = certify_run(problem, run, solver)
    usual = _first_below(run, _USUAL_TOLERANCE)
    observers = (_is_flat,) if case.method == "cca" else ()
    other = minimise(problem, starts[_OTHER[start]], solver, observers=observers)
    own = solver_for("auto", problem)
    if own == solver:  # for cca both runs are identical
        auto = Reached(solver.name, prepared.value(end.M), certificate, end.status, run.seconds)
    else:
        auto = reached(prepared, heuristic, own, baseline_seconds)

    f, of_heuristic, of_published = (prepared.value(M) for M in (end.M, heuristic, published))
    return Measurement(
        recipe=case.recipe,
        method=case.method,
        d=case.d,
        r=case.r,
        seed=case.seed,
        dataset=case.dataset,
        n=prepared.n,
        solver=solver.name,
        start=start,
        value=problem.reported(f),
        baseline=problem.reported(of_heuristic),
        baseline_published=problem.reported(of_published),
        improvement=improvement(case.method, f, of_heuristic),
        improvement_code=improvement_of_code(case.method, f, of_heuristic),
        improvement_published=improvement(case.method, f, of_published),
        improvement_published_code=improvement_of_code(case.method, f, of_published),
        certificate=certificate.kind,
        gap=certificate.gap,
        status=end.status.name.lower(),
        iterations=run.iterations,
        seconds=run.seconds,
        baseline_seconds=baseline_seconds,
        statistics_seconds=prepared.seconds,
        usual_iterations=usual,
        usual_seconds=run.history["seconds"][usual],
        other_start=_OTHER[start],
        other_value=problem.reported(prepared.value(other.M)),
        other_status=other.status.name.lower(),
        auto_solver=auto.solver,
        auto_value=problem.reported(auto.value),
        auto_certificate=auto.certificate.kind,
        auto_gap=auto.certificate.gap,
        auto_status=auto.status.name.lower(),
        auto_seconds=auto.seconds,
    )


@dataclass(frozen=True)
class Reached:
    """What a solver reached: the minimised value, what is known of it, and the solver's seconds."""

    solver: str
    value: float
    certificate: Certificate
    status: Status
    seconds: float


def reached(
    prepared: Prepared, heuristic: Array, solver: Solver | None, baseline_seconds: float
) -> Reached:
    """What a solver reaches from the heuristic; the closed form is the heuristic itself."""
    problem = prepared.problem
    if solver is None:
        known = problem.certificate(heuristic)
        assert known is not None
        value = prepared.value(heuristic)
        return Reached("closed-form", value, known, Status.CLOSED_FORM, baseline_seconds)
    run = minimise(problem, heuristic, solver)
    end, certificate, _ = certify_run(problem, run, solver)
    return Reached(solver.name, prepared.value(end.M), certificate, end.status, run.seconds)


def _is_flat(iteration: Iteration) -> bool:
    return iteration.gradient_norm <= _FLAT


def _first_below(run: Run, tolerance: float) -> int:
    """The iteration that first has |gradient| <= tolerance |value at the start|; else the last."""
    limit = tolerance * abs(run.history["value"][0])
    small = [norm <= limit for norm in run.history["gradient_norm"]]
    return small.index(True) if True in small else len(small) - 1


def improvement(method: str, f: float, of_baseline: float) -> float:
    """Eq. 28, -(f - f_baseline) / |f_baseline|, f minimised; the correlation of cca is as it is."""
    gain = of_baseline - f
    return gain if method == "cca" else gain / abs(of_baseline)


def improvement_of_code(method: str, f: float, of_baseline: float) -> float:
    """As the paper's code divides: pca and lda by the optimised value, cca and maf not at all."""
    gain = of_baseline - f
    return gain / abs(f) if method in ("pca", "lda") else gain
