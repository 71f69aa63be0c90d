"""Certificates: optimality by theory first, then by the smallest curvature."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ldr.objectives.certificate import NEARLY_COLLINEAR, PROVED_GLOBAL, Certificate
from ldr.objectives.problem import BoundObjective
from ldr.solvers.deadline import hearing, until_told
from ldr.solvers.manifolds import Array
from ldr.solvers.run import Observer, Run, Stopping
from ldr.solvers.solver import Solver
from ldr.solvers.status import Status

if TYPE_CHECKING:
    from ldr.solvers.saddles import Curvature

# Why nothing is known of an optimum.
ENDED = {
    Status.TIME_LIMIT: "the time limit was reached before optimality was settled",
    Status.INTERRUPTED: "interrupted from the keyboard before optimality was settled",
}
UNPROVED = (
    "eigenvectors from products are accurate to their residual, but that none was missed is proved "
    "from the matrix alone, which costs more than they do: certify='thorough' makes it, of dense "
    "rows"
)
# Zeros that are this near to changing, relative to the penalty, may change.
_LEAST_SLACK = 1e-6


def certify_run(
    problem: BoundObjective,
    run: Run,
    solver: Solver | None,
    stopping: Stopping | None = None,
    observers: Sequence[Observer] = (),
    *,
    proof: Certificate | None = None,
    thorough: bool = False,
) -> tuple[Run, Certificate, tuple[str, ...]]:
    """The run, continued where it ended on a saddle; what is known of its end; and notes.

    What theory says comes first; where that is no optimum, the smallest curvature tells a saddle.
    Where the time limit or Ctrl-C ends the search, nothing is claimed but what was proved before.
    """
    certificate = None
    notes: tuple[str, ...] = ()
    known = problem.thorough_certificate if thorough else problem.certificate
    with hearing() as interrupt, until_told():
        certificate = proof or _of_all_columns(problem, run) or known(run.M)
        if certificate is not None and (certificate.is_optimal or solver is None):
            return _told_by(certificate, run), certificate, ()
        if certificate is not None and certificate.kind == "none" and problem.rest is None:
            return run, certificate, ()  # the method says why nothing is known: curvature neither
        if not run.status.converged or solver is None:
            ended = UNPROVED if run.status.converged else "the solver did not converge"
            message = ENDED.get(run.status, ended)
            return run, certificate or Certificate("none", math.inf, message), ()
        from ldr.solvers.saddles import leave_saddles

        run, curvature, escapes = leave_saddles(problem, run, solver, stopping, observers)
        if escapes:
            notes = (f"{escapes} saddle(s) left along a direction of descent",)
            certificate = None
            certificate = known(run.M)
        if curvature is not None:
            if certificate is None or (curvature.descends and not certificate.is_optimal):
                certificate = _local_certificate(curvature, certificate)
                if problem.penalty is not None:
                    certificate = _among_zeros(problem, run.M, certificate)
                if problem.span is not None:
                    certificate = certificate.restricted_to(problem.span)
                if problem.hidden(run.M) > PROVED_GLOBAL * abs(run.value):
                    certificate = replace(certificate, kind="none", message=NEARLY_COLLINEAR)
            return run, certificate, notes
    message = ENDED[Status.INTERRUPTED if interrupt.is_set() else Status.TIME_LIMIT]
    return run, certificate or Certificate("none", math.inf, message), notes


def _told_by(certificate: Certificate, run: Run) -> Run:
    """At a proved optimum that no step lowers, what is left of the gradient is rounding."""
    stalled = run.status is Status.STALLED and certificate.kind == "global"
    return replace(run, status=Status.ROUNDING) if stalled else run


def _of_all_columns(problem: BoundObjective, run: Run) -> Certificate | None:
    """Extend a certificate beyond the columns, or the subspace, that were searched."""
    if problem.rest is None:
        return None
    return problem.rest.certificate(problem.lift(run.M)[0], -run.value * problem.unit)


def _local_certificate(curvature: Curvature, bound: Certificate | None) -> Certificate:
    gap = math.inf if bound is None else bound.gap
    if curvature.descends:
        message = "the Hessian has a direction of descent"
        return Certificate("saddle", gap, message, curvature.smallest)
    message = "the Hessian has no direction of descent"
    return Certificate("local", gap, message, curvature.smallest)


def _among_zeros(problem: BoundObjective, M: Array, smooth: Certificate) -> Certificate:
    """Certify M from the curvature among matrices that share its zeros.

    A minimum there is a local one if no zero is about to change (strict complementarity).
    """
    if smooth.kind == "saddle":
        message = "among matrices with these zeros the Hessian has a direction of descent"
        return replace(smooth, message=message)
    from ldr.solvers.nonsmooth.proximal_gradient import slack_at

    slack = slack_at(problem, M)
    if slack <= _LEAST_SLACK:
        message = f"stationary, but a zero of M is about to change (slack {slack:.1e})"
        return Certificate("none", smooth.gap, message, smooth.curvature)
    message = (
        "among matrices with these zeros the Hessian has no direction of descent, and no zero is "
        f"about to change (slack {slack:.1e})"
    )
    return replace(smooth, message=message)
