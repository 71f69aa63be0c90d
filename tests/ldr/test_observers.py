"""Observers see every iteration and can end a run."""

import io
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from rich.console import Console

import ldr
from ldr.observers import Bar, Progress, TimeLimit, Trace
from ldr.solvers import Iteration, Status
from ldr.solvers.deadline import complete, followed


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((60, 6)) * np.arange(1, 7)


def solve(X, *observers, solver="trust-region"):
    options = {"solver": solver, "start": "random", "random_state": 0}
    return ldr.solve("pca", X, r=2, observers=observers, **options)


def iteration(number, gradient_norm=1.0, seconds=0.0, threshold=1e-3):
    return Iteration(number, np.eye(2), 3.5, gradient_norm, threshold, seconds)


def terminal():
    # TERM is set because a dumb terminal gets no moving line
    return Console(file=io.StringIO(), force_terminal=True, width=120, _environ={"TERM": "xterm"})


@pytest.mark.smoke
@pytest.mark.parametrize("solver", ["trust-region", "lbfgs", "steepest-descent"])
def test_trace_agrees_with_history(X, solver):
    trace = Trace()
    result = solve(X, trace, solver=solver)
    assert [i.number for i in trace.iterations] == list(range(result.iterations + 1))
    # the objective is a minimum: values seen are the values reported
    assert [i.value for i in trace.iterations] == pytest.approx(result.history["value"])
    assert [i.gradient_norm for i in trace.iterations] == result.history["gradient_norm"]
    for seen in trace.iterations:
        np.testing.assert_allclose(seen.M.T @ seen.M, np.eye(2), atol=1e-13)


def test_trace_keeps_points_apart(X):
    trace = Trace()
    result = solve(X, trace)
    first, last = trace.iterations[0].M, trace.iterations[-1].M
    assert not np.allclose(first @ first.T, last @ last.T)
    np.testing.assert_allclose(last @ last.T, result.M @ result.M.T, atol=1e-12)


def test_trace_starts_anew_with_a_second_run(X):
    trace = Trace()
    solve(X, trace)
    result = solve(X, trace)
    assert len(trace.iterations) == result.iterations + 1


def test_time_limit_tells_when_it_has_passed():
    limit = TimeLimit(2.0)
    assert limit(iteration(0, seconds=1.9)) is False
    assert limit(iteration(1, seconds=2.0)) is True


def test_time_limit_ends_the_run_at_the_best_point(X):
    with pytest.warns(ldr.errors.ConvergenceWarning):
        result = solve(X, TimeLimit(1e-12))
    assert result.status is Status.OBSERVER
    assert result.iterations == 0 and not result.converged


@pytest.mark.parametrize("seconds", [0, -1, "1", None, float("nan"), True])
def test_time_limit_refuses(seconds):
    with pytest.raises(ldr.errors.ArgumentError, match="seconds must be a number > 0"):
        TimeLimit(seconds)


def test_progress_is_silent_without_a_terminal(X):
    console = Console(file=io.StringIO())
    with Progress(console) as progress:
        solve(X, progress)
    assert console.file.getvalue() == ""


def test_progress_shows_the_last_iteration_and_leaves_a_line(X):
    console = terminal()
    with Progress(console) as progress:
        result = solve(X, progress)
    shown = console.file.getvalue()
    assert f"iteration {result.iterations}   value {result.value:.10g}" in shown
    assert shown.count("\n") == 1
    assert shown.endswith("\x1b[?25h")  # the cursor is visible again


def test_progress_closes_itself_when_the_run_converges():
    console = terminal()
    progress = Progress(console)
    progress(iteration(0))
    assert "\n" not in console.file.getvalue()
    progress(iteration(1, gradient_norm=1e-4))
    assert console.file.getvalue().count("\n") == 1


def test_progress_closes_itself_when_it_is_dropped():
    console = terminal()
    progress = Progress(console)
    progress(iteration(0))
    del progress
    assert console.file.getvalue().count("\n") == 1


def test_progress_of_a_second_run_takes_a_new_line():
    console = terminal()
    with Progress(console) as progress:
        for _ in range(2):
            progress(iteration(0))
            progress(iteration(1))
    assert console.file.getvalue().count("\n") == 2


def test_progress_of_runs_in_several_threads_gives_standard_output_back():
    progress, usual, interval = Progress(terminal()), sys.stdout, sys.getswitchinterval()

    def run(_):
        for _ in range(50):
            progress(iteration(0))
            progress(iteration(1, gradient_norm=1e-4))

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(run, range(4)))
        progress.close()
        assert sys.stdout is usual
    finally:
        sys.setswitchinterval(interval)
        sys.stdout = usual


def test_an_observer_cannot_move_the_point():
    def spoiling(iteration):
        iteration.M[:] = 0.0

    X = np.random.default_rng(0).standard_normal((50, 5))
    with pytest.raises(ValueError, match="read-only"):
        ldr.solve("pca", X, 2, solver="trust-region", start="random", observers=[spoiling])
    result = ldr.solve("pca", X, 2, solver="trust-region", start="random", random_state=0)
    result.M[0] = 0.0  # the result is the user's own


def test_a_bar_follows_what_takes_many_runs(X):
    console = terminal()
    with Bar(console):
        ldr.path("pca", X, [1, 2], folds=3, random_state=0)
    shown = console.file.getvalue()
    assert "dimensions" in shown and "folds" in shown and "100%" in shown
    silent = Console(file=io.StringIO())
    with Bar(silent):
        ldr.path("pca", X, [1, 2])
    assert silent.file.getvalue() == ""


def test_what_is_complete_is_told_part_by_part():
    told = []
    with followed(lambda *said: told.append(said)):
        assert complete(iter("ab"), 2, "letters") == ["a", "b"]
    complete(iter("c"), 1, "letters")
    assert told == [(0, 2, "letters"), (1, 2, "letters"), (2, 2, "letters")]
