"""What ends a solve before it is done: time limits on a clock of the tests' own, and Ctrl-C."""

import ast
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

import ldr
from ldr import paths, regularisation
from ldr.errors import ArgumentError, ConvergenceWarning, TimeLimitError
from ldr.inference import bootstrap as bootstrapping
from ldr.objectives.metric import SoftNeighbours
from ldr.solvers import Status, Stopping, TrustRegion, deadline
from ldr.solvers.saddles import leave_saddles
from tests.clock import Clock

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 6)) @ RNG.standard_normal((6, 6))
X[:20] *= 10
Y = np.arange(300) % 3


# --- time limits ----------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.npy"
    np.save(path, X)
    return path


@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")
@pytest.mark.parametrize("name", ["robust-pca", "ica", "sfa", "save", "orthogonal-lda"])
def test_nothing_takes_longer_than_the_limit_and_a_pass(name, file, clock):
    y = {"save": X[:, 0], "orthogonal-lda": Y}.get(name)
    ended = set()
    for limit in np.arange(0.5, 40.0, 2.0):
        clock.now = 0.0
        try:
            result = ldr.solve(name, clock.rows(file), 2, y=y, time_limit=limit)
        except TimeLimitError as error:
            ended.add("nothing")
            assert f"the time limit of {limit:g} s was reached while the" in str(error)
            assert "raise time_limit" in str(error)
        else:
            ended.add(result.status)
            assert np.isfinite(result.value)
        assert clock.now <= limit + 1.0
        if ended & {Status.CONVERGED, Status.CLOSED_FORM}:
            break
    assert "nothing" in ended
    if name in ("robust-pca", "ica"):
        assert Status.TIME_LIMIT in ended


def test_no_pass_over_dask_begins_after_the_limit(clock):
    import dask.array as da

    def chunk():
        clock.now += 0.5
        return X[:150]

    rows = da.map_blocks(chunk, chunks=((150, 150), (6,)), meta=np.empty((0, 0)))
    with pytest.raises(TimeLimitError):  # the geometric median takes more passes
        ldr.solve("robust-pca", rows, 2, time_limit=2.5)
    assert clock.now <= 3.5


@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")
def test_notes_that_take_an_evaluation_are_left_out_after_the_limit(clock, monkeypatch):
    whole = ldr.solve("nca", X, 2, y=Y, starts=1, max_iterations=3)
    assert not any("missing" in note for note in whole.notes)
    monkeypatch.setattr(SoftNeighbours, "certificate", lambda *_: setattr(clock, "now", 9.0))
    late = ldr.solve("nca", X, 2, y=Y, starts=1, max_iterations=3, time_limit=5)
    assert any("skipped, because the solve ended early" in note for note in late.notes)


def test_a_certificate_that_does_not_fit_is_none_and_says_so(file, clock):
    free = ldr.solve("robust-pca", clock.rows(file), 2, tolerance=1e-4, starts=1, certify=False)
    taken = clock.now
    clock.now = 0.0
    limited = ldr.solve(
        "robust-pca", clock.rows(file), 2, tolerance=1e-4, starts=1, time_limit=taken + 0.5
    )
    assert limited.value == free.value and limited.status is free.status
    assert limited.certificate.kind == "none" and limited.certificate.gap == np.inf
    assert "time limit" in limited.certificate.message


class Quartic(ldr.solvers.Problem):
    """f(m) = sum of (m_i^2 - c_i)^2 on R^3, each value a second: saddles where some m_i are 0."""

    def __init__(self, clock):
        self.clock, self.manifold = clock, ldr.solvers.Euclidean(3, 1)
        self.c = np.array([[1.0], [2.0], [3.0]])

    def at(self, M):
        return QuarticPoint(self, M)


class QuarticPoint(ldr.solvers.Point):
    def __init__(self, problem, M):
        self.M, self.problem = M, problem

    @cached_property
    def value(self):
        self.problem.clock.now += 1.0
        return float(np.sum((self.M**2 - self.problem.c) ** 2))

    @property
    def gradient(self):
        return 4 * self.M * (self.M**2 - self.problem.c)

    def hessian_vector(self, V):
        return (12 * self.M**2 - 4 * self.problem.c) * V


def test_all_saddles_are_left_within_one_limit(clock):
    problem = Quartic(clock)
    saddle = ldr.solvers.minimise(problem, np.zeros((3, 1)), TrustRegion(), Stopping())
    assert saddle.status.converged
    clock.now = 0.0
    run, _, escapes = leave_saddles(problem, saddle, TrustRegion())
    assert escapes == 3 and run.value < 1e-12
    needed = clock.now
    for limit in np.arange(0.5, needed, 1.0):
        clock.now = 0.0
        with deadline.within(limit):
            run, curvature, _ = leave_saddles(problem, saddle, TrustRegion(), Stopping())
        assert clock.now <= limit + 1.0
        assert curvature is None
        assert run.value <= saddle.value


@pytest.mark.parametrize("workers", [1, 2])
def test_starts_that_were_not_solved_are_counted(workers, clock):
    def observe(iteration):
        clock.now += 1.0

    with pytest.warns(ConvergenceWarning, match=r"time limit.* \d of 6 starts were solved"):
        result = ldr.solve(
            "ica", X, 2, start="random", starts=6, workers=workers, random_state=0,
            observers=[observe], time_limit=40.0,
        )  # fmt: skip
    assert result.status is Status.TIME_LIMIT and not result.converged
    assert "of 6 starts were solved completely" in result.notes[-1]
    assert clock.now <= 40.0 + workers


@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")
def test_a_limit_ends_a_start_on_its_way_to_the_problem_as_a_limit(monkeypatch):
    """nca comes to its starts by annealing: what was found from the others is returned."""
    statuses = set()
    for limit in range(20, 700, 40):
        with monkeypatch.context() as patched:
            Clock(patched, a_look=1.0)
            statuses.add(ldr.solve("nca", X[:40, :3], 1, y=Y[:40], time_limit=limit).status)
    assert Status.TIME_LIMIT in statuses and Status.INTERRUPTED not in statuses


@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")
def test_an_interrupt_on_the_way_from_another_start_keeps_what_there_is(monkeypatch):
    calls = count()
    approach = SoftNeighbours.approach

    def interrupted(problem, M):
        if next(calls) == 1:
            press()
        return approach(problem, M)

    monkeypatch.setattr(SoftNeighbours, "approach", interrupted)
    result = ldr.solve("nca", X[:40, :3], 1, y=Y[:40])
    assert result.status is Status.INTERRUPTED and np.isfinite(result.value)


@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")
def test_what_an_objective_is_does_not_depend_on_the_time(monkeypatch):
    """The units of a normalised objective come from a run of its own, which is done or is not."""
    objective = ldr.normalised("orthogonal-lda") + ldr.normalised("pca")
    free = ldr.solve(objective, X, 2, y=Y)
    baselines = []
    for limit in range(10, 400, 30):
        with monkeypatch.context() as patched:
            Clock(patched, a_look=1.0)
            try:
                baselines.append(ldr.solve(objective, X, 2, y=Y, time_limit=limit).baseline)
            except TimeLimitError:
                baselines.append(None)
    assert baselines[0] is None and baselines[-1] is not None
    assert set(baselines) <= {None, free.baseline}


def test_a_limit_during_the_starts_leaves_the_baseline(monkeypatch):
    monkeypatch.setattr(SoftNeighbours, "starts", Mock(side_effect=TimeLimitError("late")))
    assert ldr.solve("nca", X[:40, :3], 1, y=Y[:40]).converged
    options = {"y": Y[:40], "start": np.eye(3)[:, :1], "starts": 2}
    with pytest.warns(ConvergenceWarning, match="time limit was reached"):
        result = ldr.solve("nca", X[:40, :3], 1, **options)
    assert result.status is Status.TIME_LIMIT and result.value == result.baseline
    monkeypatch.setattr(SoftNeighbours, "baseline", lambda problem: None)
    with pytest.raises(TimeLimitError):
        ldr.solve("nca", X[:40, :3], 1, **options)


@pytest.mark.parametrize("limit", [0.0, -1.0, np.nan])
def test_a_limit_that_is_not_positive_is_refused(limit):
    with pytest.raises(ArgumentError, match=r"time_limit must be a .*number > .*got"):
        ldr.solve("pca", X, 2, time_limit=limit)


def test_no_decomposition_begins_after_the_limit(clock):
    with deadline.within(9.0):
        with deadline.decomposing(600):
            pass
        clock.now = 9.0
        with pytest.raises(TimeLimitError, match="limit of 9 s"), deadline.decomposing(600):
            pass


# --- Ctrl-C ---------------------------------------------------------------------------------------


def press(iteration=None):
    """Ctrl-C, as the main thread gets it."""
    os.kill(os.getpid(), signal.SIGINT)
    until_heard()


def until_heard():
    """The main thread may be asleep, for a tenth of a second or more."""
    for _ in range(10_000):
        if deadline._last_interrupt > -np.inf:
            break
        time.sleep(0.001)


def at(number, then=press):
    """An observer that presses at an iteration."""
    return lambda iteration: then() if iteration.number == number else None


def test_what_comes_after_an_interrupt_is_not_kept():
    def found():
        yield 1
        press()
        yield 2

    with pytest.warns(ConvergenceWarning, match="stopped after 1 of 3 things: interrupted"):
        assert deadline.complete(found(), 3, "things") == [1]


class Nth:
    """An observer that presses at the n-th call."""

    def __init__(self, n):
        self.left = n

    def __call__(self, iteration):
        self.left -= 1
        if self.left == 0:
            press()


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_ends_all_starts_and_says_so(workers):
    threads = threading.active_count()
    with pytest.warns(ConvergenceWarning, match=r"interrupted.* \d+ of 40 starts were solved"):
        result = ldr.solve(
            "ica", X, 2, starts=40, workers=workers, random_state=0, observers=[Nth(100)]
        )
    assert result.status is Status.INTERRUPTED and not result.converged
    assert "of 40 starts" in result.notes[-1]
    assert result.certificate.kind == "none" and "interrupted" in result.certificate.message
    assert len(result.starts.values) < 40
    assert threading.active_count() == threads
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("workers", [1, 2])
def test_a_second_interrupt_raises(workers):
    one_at_a_time, presses = threading.Lock(), iter(range(2))

    def twice(iteration):
        with one_at_a_time:
            for _ in presses:  # as this thread gets it: one that waits is not woken
                signal.pthread_kill(threading.get_ident(), signal.SIGINT)
                until_heard()  # two at once would be one

    threads = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        ldr.solve("ica", X, 2, starts=8, workers=workers, random_state=0, observers=[twice])
    assert threading.active_count() == threads
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_in_a_thread_is_no_interrupt_of_a_loop():
    def found():
        for number in range(3):
            with contextlib.suppress(ZeroDivisionError):
                ldr.solve("ica", X, 2, starts=8, workers=2, observers=[lambda iteration: 1 / 0])
            yield number

    assert deadline.complete(found(), 3, "things") == [0, 1, 2]


def test_a_loop_over_solves_ends_at_the_second_interrupt():
    statuses = []
    with (
        pytest.warns(ConvergenceWarning, match="A second Ctrl-C"),
        pytest.raises(KeyboardInterrupt),
    ):
        for _ in range(8):
            result = ldr.solve("ica", X, 2, starts=1, random_state=0, observers=[at(1)])
            statuses.append(result.status)
    assert statuses == [Status.INTERRUPTED]


def test_an_interrupt_long_after_another_is_a_first_one(monkeypatch):
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        ldr.solve("ica", X, 2, starts=1, observers=[at(1)])
    monkeypatch.setattr(deadline, "INSISTING", 0.0)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        assert ldr.solve("ica", X, 2, starts=1, observers=[at(1)]).status is Status.INTERRUPTED


def test_before_there_is_a_point_an_interrupt_raises():
    def blocks():
        yield X
        press()
        yield X

    with pytest.raises(KeyboardInterrupt):
        ldr.solve("pca", blocks, 2)
    with pytest.warns(ConvergenceWarning, match="interrupted"):  # that was no answer to it
        ldr.solve("ica", X, 2, starts=1, observers=[at(1)])


def test_an_interrupted_certificate_is_none():
    pressed = []

    def value(M, X):
        if len(pressed) == 1:
            pressed.append(press())
        return np.sum((X @ M) ** 2)

    def gradient(M, X):
        return 2 * X.T @ (X @ M)

    def at_the_end(iteration):
        if iteration.gradient_norm <= iteration.threshold:
            pressed.append(None)

    objective = ldr.objective(
        manifold="grassmann", sense="max", backend="numpy", gradient=gradient
    )(value)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        result = ldr.solve(objective, X, 2, random_state=0, observers=[at_the_end])
    assert len(pressed) == 2
    assert result.status is Status.INTERRUPTED
    assert result.certificate.kind == "none" and "interrupted" in result.certificate.message


def interrupted_at(monkeypatch, where, call):
    """`where.solve` presses Ctrl-C in the middle of its n-th run."""
    solve, calls = where.solve, []

    def pressing(*args, **options):
        calls.append(None)
        if len(calls) == call:
            press()
        return solve(*args, **options)

    monkeypatch.setattr(where, "solve", pressing)
    return calls


LOOPS = {
    "path": (paths, 4, lambda: len(ldr.path("ica", X, range(1, 7)).results), 3),
    "folds": (
        paths,
        10,
        lambda: ldr.path("pca", X, [1, 2], folds=5, random_state=0).scores.shape[1],
        3,
    ),
    "first fold": (
        paths,
        6,
        lambda: 1 + (ldr.path("pca", X, [1, 2], folds=5, random_state=0).scores is not None),
        1,
    ),
    "penalties": (
        regularisation,
        3,
        lambda: len(ldr.regularisation_path("pca", X, 2, [1.0, 10.0, 100.0, 1000.0]).penalties),
        2,
    ),
    "draws": (
        bootstrapping,
        6,
        lambda: len(ldr.bootstrap("pca", X, 2, draws=20, random_state=0).values),
        4,
    ),
}


@pytest.mark.parametrize("loop", LOOPS)
def test_loops_of_solves_keep_what_was_done_and_say_so(loop, monkeypatch):
    where, call, run, done = LOOPS[loop]
    calls = interrupted_at(monkeypatch, where, call)
    with pytest.warns(
        ConvergenceWarning, match=f"after {done} of .* interrupted from the keyboard"
    ):
        assert run() == done
    assert len(calls) <= call + 1


def test_a_path_of_penalties_has_one_limit(clock, monkeypatch):
    solve = regularisation.solve

    def a_second_later(*given, **options):
        clock.now += 1.0
        return solve(*given, **options)

    monkeypatch.setattr(regularisation, "solve", a_second_later)
    path = partial(ldr.regularisation_path, "pca", X, 2, [1.0, 10.0, 100.0, 1000.0])
    with pytest.warns(
        ConvergenceWarning, match="after 2 of 4 penalties: the time limit was reached"
    ):
        assert path(time_limit=2.5).penalties == (1.0, 10.0)
    with pytest.raises(TimeLimitError):
        path(time_limit=0.5)
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        short = path(solver="proximal-gradient", max_iterations=1).results
    assert [result.iterations for result in short] == [1] * 4


def test_a_loop_without_a_result_raises(monkeypatch):
    interrupted_at(monkeypatch, bootstrapping, 1)
    with pytest.raises(KeyboardInterrupt):
        ldr.bootstrap("ica", X, 2, draws=5)


@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")
def test_what_needs_a_whole_result_or_path_raises(monkeypatch):
    halfway = ldr.solve("ica", X, 2, starts=1, observers=[at(1)])
    monkeypatch.setattr(bootstrapping, "solve", lambda *_, **__: halfway)
    with pytest.raises(KeyboardInterrupt):
        ldr.bootstrap("ica", X, 2, draws=5)
    monkeypatch.setattr(deadline, "_last_interrupt", -np.inf)
    interrupted_at(monkeypatch, paths, 2)
    with pytest.raises(KeyboardInterrupt):
        ldr.dimension("pca", X, method="folds")
    assert len(ldr.path("pca", X, [1, 2, 3], folds=3).results) == 3  # of another call


def test_an_interrupted_refit_says_so(monkeypatch):
    sparse = ldr.solve("sparse-pca", X, 2, penalty=20.0)
    smallest_curvature = regularisation.smallest_curvature
    monkeypatch.setattr(
        regularisation, "smallest_curvature", lambda *given: press() or smallest_curvature(*given)
    )
    with pytest.warns(ConvergenceWarning, match="refit did not converge: "):
        result = ldr.refit(sparse, X)
    assert result.status is Status.INTERRUPTED and result.certificate.kind == "none"


def test_a_program_with_a_handler_of_its_own_keeps_it():
    def leave(*_):
        raise SystemExit(3)

    signal.signal(signal.SIGINT, leave)
    try:
        with pytest.raises(SystemExit):
            ldr.solve("ica", X, 2, starts=1, observers=[at(1)])
        assert signal.getsignal(signal.SIGINT) is leave
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


PROGRAM = """
import numpy as np, ldr
X = np.random.default_rng(0).standard_normal((400, 8)) ** 3
print("ready", flush=True)
while True:
    result = ldr.solve("ica", X, 3, starts=4, workers=2, random_state=0)
    print(result.status.name, flush=True)
"""


def test_a_program_in_a_loop_is_left_by_two_interrupts():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    hung = threading.Timer(100, child.kill)
    hung.start()
    try:
        for status in ("CONVERGED", "INTERRUPTED"):  # between two solves the first one ends it
            any(line == f"{status}\n" for line in child.stdout)
            child.send_signal(signal.SIGINT)
        errors = child.communicate(timeout=100)[1]
    finally:
        hung.cancel()
        child.kill()
        child.wait(60)
    assert child.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in errors and "Fatal" not in errors


def test_the_command_line_prints_what_was_found_and_exits_with_130(file, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from ldr.cli.app import app

    monkeypatch.setattr("ldr.observers.Progress.__call__", Nth(2))
    ended = CliRunner().invoke(app, ["solve", "ica", str(file), "--out", str(tmp_path / "y.npy")])
    assert ended.exit_code == 130
    assert "interrupted" in ended.output
    assert np.load(tmp_path / "y.npy").shape == (300, 2)

    monkeypatch.setattr(deadline, "_last_interrupt", -np.inf)
    interrupted_at(monkeypatch, paths, 3)
    ended = CliRunner().invoke(app, ["path", "pca", str(file), "-r", "1-4"])
    assert ended.exit_code == 130
    assert "interrupted after 2 of 4 dimensions" in ended.output


def test_an_interrupt_before_the_first_run_returns_the_baseline(monkeypatch):
    monkeypatch.setattr(SoftNeighbours, "approach", lambda _, M: press() or M)
    with pytest.warns(ConvergenceWarning, match="interrupted from the keyboard"):
        result = ldr.solve("nca", X, 2, y=np.arange(len(X)) % 3)
    assert result.status is Status.INTERRUPTED and result.value == result.baseline
    np.testing.assert_array_equal(result.M, result.baseline_M)


def test_an_interrupt_of_a_run_inside_a_heuristic_ends_the_solve(monkeypatch):
    from ldr.objectives import ica, starts

    monkeypatch.setattr(ica, "symmetric_eigen", lambda *_: press() or (np.ones(6), np.eye(6)))
    with pytest.raises(KeyboardInterrupt):
        ldr.solve("ica", X, 2)

    looked = []

    def second(*args):
        looked.append(None)
        if len(looked) == 2:
            press()
        return value(*args)

    monkeypatch.undo()
    monkeypatch.setattr(deadline, "_last_interrupt", -np.inf)
    value = starts.LBFGS.step
    monkeypatch.setattr(starts.LBFGS, "step", second)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        ldr.solve("lmnn", X, 2, y=np.arange(len(X)) % 3)
    assert len(looked) == 2


def test_heuristics_do_not_swallow_what_ends_their_runs():
    """`minimise` returns what there is; a run inside an objective goes by `run_through`.

    Not so those whose approach to a start is part of the run from there, and ends with it.
    """
    folder = (Path(ldr.__file__).parent / "objectives").resolve()
    approaching = {folder / "metric.py", folder / "exponential_family_pca.py", folder / "ica.py"}
    approaching |= {folder / "families" / "gram.py"}
    for path in {*folder.rglob("*.py")} - approaching:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert "minimise" not in [alias.name for alias in node.names], path
