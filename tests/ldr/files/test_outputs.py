"""Files that are written: whole or not at all, and never over those that are read."""

import contextlib
import gc
import os
import resource
import signal
import sys
import time
import traceback
from itertools import cycle

import numpy as np
import pandas as pd
import pytest
import scipy.io

import ldr
from ldr import files
from ldr.cli.app import main
from ldr.errors import ArgumentError, DataWarning
from ldr.files import check_outputs, replaced, write, write_figure, write_filled, write_projection
from ldr.objectives.data.opening import as_samples
from tests.adversarial.campaign import count, generator, report
from tests.programs import OBJECTIVE

X = np.random.default_rng(0).standard_normal((300, 4))
FRAME = pd.DataFrame(X, columns=list("abcd"))


@pytest.fixture(scope="module")
def result():
    return ldr.solve("pca", X, 2)


@pytest.fixture
def folder(tmp_path):
    """Inputs of every kind, and other names for them."""
    FRAME.to_csv(tmp_path / "X.csv", index=False)
    FRAME.to_csv(tmp_path / "X.tsv", index=False, sep="\t")
    FRAME.to_parquet(tmp_path / "X.parquet")
    scipy.io.savemat(tmp_path / "X.mat", {"X": X})
    np.save(tmp_path / "X.npy", X)
    np.savez(tmp_path / "X.npz", X=X, other=X)
    np.save(tmp_path / "start.npy", np.eye(4)[:, :2])
    (tmp_path / "mine.py").write_text(OBJECTIVE)
    (tmp_path / "parts").mkdir()
    FRAME.to_parquet(tmp_path / "parts" / "one.parquet")
    (tmp_path / "link.csv").symlink_to("X.csv")
    (tmp_path / "chain.npy").symlink_to("link.csv")
    (tmp_path / "code.csv").symlink_to("mine.py")
    (tmp_path / "hard.npy").hardlink_to(tmp_path / "X.npy")
    return tmp_path


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


OVER_AN_INPUT = [
    ("solve pca X.csv --out X.csv", "DATA"),
    ("solve pca X.csv --out link.csv", "DATA"),
    ("solve pca link.csv --out ./parts/../X.csv", "DATA"),
    ("solve pca X.csv --out chain.npy", "DATA"),
    ("solve pca X.npy --out hard.npy", "DATA"),
    ("solve pca X.tsv --out ./X.tsv", "DATA"),
    ("solve pca X.mat:X --out X.mat", "DATA"),
    ("solve pca X.parquet --out X.parquet", "DATA"),
    ("solve pca X.npz:other --out X.npz", "DATA"),
    ("solve pca parts --out parts/one.parquet", "DATA"),
    ("solve pca parts --out parts/two.parquet", "DATA"),
    ("solve orthogonal-cca X.csv --second-view X.npy --out X.npy", "--view"),
    ("solve contrastive-pca X.csv --background X.npz:X --out X.npz", "--background"),
    ("solve pca X.csv --start start.npy --out start.npy", "--start"),
    ("solve mine.py:variance X.csv --out code.csv", "OBJECTIVE"),
]


@pytest.mark.parametrize(("command", "role"), OVER_AN_INPUT)
def test_an_input_is_never_written_over(command, role, folder, call):
    before = contents(folder)
    done = call(*command.split(), folder=folder)
    assert done.returncode == 2 and f" ({role}): give another output file" in done.stderr
    assert contents(folder) == before


@pytest.mark.parametrize("verb", ["solve", "path"])
def test_pictures_and_reports_are_outputs_too(verb, folder, call):
    (folder / "view.png").symlink_to("X.csv")
    before = contents(folder)
    options = ["--plot", "view.png", *(["--out", "view.csv"] if verb == "solve" else [])]
    done = call(verb, "pca", "X.csv", *options, folder=folder)
    assert done.returncode == 2 and "(DATA): give another output file" in done.stderr
    assert contents(folder) == before


def test_two_outputs_are_two_files(folder, call):
    (folder / "Y.csv").symlink_to("Y.html")
    done = call("solve", "pca", "X.csv", "--out", "Y.csv", "--report", "Y.html", folder=folder)
    assert done.returncode == 2
    assert "--report Y.html and --out Y.csv are the same file" in done.stderr


def test_an_output_may_stand_beside_the_input_or_replace_another(folder, call):
    (folder / "Y.csv").write_text("old")
    before = contents(folder)
    done = call("solve", "pca", "X.csv", "--out", "Y.csv", folder=folder)
    assert done.returncode == 0 and len(pd.read_csv(folder / "Y.csv")) == 300
    assert {**contents(folder), folder / "Y.csv": b"old"} == before
    assert call("solve", "pca", "parts", "--out", "parts/Y.csv", folder=folder).returncode == 0


def test_python_refuses_the_same(folder, result):
    before = contents(folder)
    pair = as_samples(folder / "X.parquet"), as_samples(np.load(folder / "X.npy", mmap_mode="r"))
    for path in ("X.parquet", "hard.npy"):
        with pytest.raises(ArgumentError, match=r"would overwrite the input .* \(X\)"):
            write_projection(folder / path, result, pair)
    for data in (folder / "X.csv", [X, str(folder / "X.csv")], as_samples([str(folder / "X.csv")])):
        with pytest.raises(ArgumentError, match=r"would overwrite the input .* \(X\)"):
            result.write_report(folder / "link.csv", data)
    with pytest.raises(ArgumentError, match=r"would overwrite the input .* \(X\)"):
        result.write_report(folder / "X.npy", np.load(folder / "X.npy", mmap_mode="r"))
    with pytest.raises(ArgumentError, match="is not a valid path: it has a NUL character"):
        write(folder / "a\0b.csv", result, X[:, :2])
    assert contents(folder) == before


@contextlib.contextmanager
def full_disk(most):
    """No file can be longer than so many bytes."""
    usual, compiled = resource.getrlimit(resource.RLIMIT_FSIZE), sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # Python leaves half of it, which nobody can import
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        sys.dont_write_bytecode = compiled


ENDINGS = [".csv", ".tsv", ".parquet", ".npy", ".npz", ".mat"]


# numpy before 2 leaves an archive that failed to be closed as it is collected
@pytest.mark.filterwarnings("ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(("ending", "stored"), [*zip(ENDINGS, cycle([False, True]), strict=False)])
def test_a_full_disk_leaves_what_was_there(ending, stored, tmp_path, result):
    np.save(tmp_path / "X.npy", X)
    path = tmp_path / f"Y{ending}"
    path.write_text("old")
    before = contents(tmp_path)
    rows = as_samples(tmp_path / "X.npy") if stored else as_samples(X)
    for most in (0, 90, 150, 700):
        with full_disk(most), pytest.raises(OSError, match="cannot be written") as error:
            write_projection(path, result, rows)
        assert error.value.filename == str(path)
        assert contents(tmp_path) == before
    del error
    gc.collect()


def test_a_full_disk_leaves_the_report_and_a_picture(tmp_path, result):
    (tmp_path / "Y.html").write_text("old")
    (tmp_path / "Y.png").write_text("old")
    before = contents(tmp_path)
    figure = ldr.plots.projection(result, X)
    with full_disk(700):
        with pytest.raises(OSError, match="cannot be written"):
            result.write_report(tmp_path / "Y.html", X)
        with pytest.raises(OSError, match="cannot be written"):
            write_figure(tmp_path / "Y.png", figure)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(("ending", "most"), [(".png", 0), (".pdf", 400), (".svg", 6000)])
def test_a_full_disk_leaves_the_picture(ending, most, folder, call):
    before = contents(folder)
    with full_disk(most):
        done = call("path", "pca", "X.npy", "-r", "1-2", "--plot", f"Y{ending}", folder=folder)
    assert done.returncode == 2 and f"ldr: Y{ending}: cannot be written: " in done.stderr
    assert contents(folder) == before


@pytest.mark.parametrize("raised", [ValueError, MemoryError, KeyboardInterrupt, SystemExit])
def test_nothing_half_written_stays(raised, tmp_path):
    path = tmp_path / "Y.csv"
    for before in ({}, {path: b"old"}):
        with pytest.raises(raised), replaced(path) as file:
            file.write_text("half")
            raise raised
        assert contents(tmp_path) == before
        path.write_text("old")


def test_links_permissions_and_devices_stay(tmp_path):
    path, link = tmp_path / "Y.csv", tmp_path / "link.csv"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to("Y.csv")
    with replaced(link) as file:
        file.write_text("new")
    assert link.is_symlink() and path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    device = tmp_path / "nowhere.csv"
    device.symlink_to(os.devnull)
    with replaced(device) as file:
        file.write_text("new")
    assert not device.is_file() and os.path.realpath(device) == os.devnull


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_signals_end_the_command_and_leave_nothing(number, code, folder, call, monkeypatch):
    def interrupted(file, _):
        file.write(b"half")
        signal.raise_signal(number)

    before = contents(folder)
    usual = signal.getsignal(number)
    monkeypatch.setattr(np.lib.format, "write_array_header_1_0", interrupted)
    done = call("solve", "pca", "X.csv", "--out", "Y.npy", folder=folder)
    assert done.returncode == code
    assert contents(folder) == before and signal.getsignal(number) is usual


def run_and_signal(command, folder, number=None, after=0.0):
    """Exit code, messages and seconds of the command in a fork that gets a signal after a while."""
    reading, writing = os.pipe()
    began, child = time.perf_counter(), os.fork()
    if child == 0:
        code = 1
        try:
            for stream in (1, 2):
                os.dup2(writing, stream)
            sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
            sys.argv = ["ldr", *command.split()]
            os.chdir(folder)
            main()
        except SystemExit as end:
            code = end.code or 0
        except KeyboardInterrupt:
            code = 130
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    os.close(writing)
    time.sleep(after)
    with open(reading) as said:
        if number is not None:
            os.kill(child, number)
        messages = said.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), messages, time.perf_counter() - began


COMMANDS = [
    "solve pca X.csv --out Y.csv",
    "solve pca X.tsv --out Y.tsv --plot Y.svg",
    "solve orthogonal-maf X.parquet --out Y.parquet --report Y.html",
    "solve fa X.csv --standardise --out Y.mat --plot Y.pdf",
    "solve orthogonal-cca X.npz:X --second-view X.mat:X --out Y.npz",
    "solve orthogonal-maf parts --solver steepest-descent --out parts/Y.csv",
    "path pca X.npy -r 1:3 --plot Y.png",
]
# Pictures and reports are of no fixed length: their last bytes.
ENDS = {".svg": b"</svg>", ".pdf": b"%%EOF", ".html": b"</html>", ".png": b"IEND\xaeB`\x82"}


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the commands run in forks of this process")
@pytest.mark.filterwarnings("ignore:.*fork.*", "ignore::ldr.errors.ConvergenceWarning")
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_after_a_signal_at_any_time_outputs_are_whole_or_as_they_were(number, command, folder):
    rng, faults, before = generator("signals", command, int(number)), [], contents(folder)
    code, messages, seconds = run_and_signal(command, folder)
    whole = contents(folder)
    outputs = whole.keys() - before.keys()
    assert code in (0, 1) and len(outputs) == command.count(" Y.") + command.count("/Y."), messages
    for k in range(count(6)):
        for path in outputs:
            path.write_text("old") if k % 2 else path.unlink(missing_ok=True)
        old, after = contents(folder), rng.uniform(0, seconds)
        code, messages, _ = run_and_signal(command, folder, number, after)
        found, end = contents(folder), f"{k}, {after:.4f} s: "
        for path in old | found:
            content = found.get(path)
            fine = content == old.get(path)
            if path in outputs and content is not None:
                end_of_file = ENDS.get(path.suffix, b"no such end")
                fine |= len(content) == len(whole[path]) or content.rstrip().endswith(end_of_file)
            if not fine:
                faults.append(f"{end}{path.name} is neither whole nor what it was")
        if code not in (0, 1, 2, 128 + number, -number) or "Traceback" in messages:
            faults.append(f"{end}code {code}, {messages[-400:]}")
    assert not faults, report(faults)


def test_files_that_cannot_be_written_or_read_meanwhile(folder, monkeypatch):
    with pytest.raises(OSError, match=r"No such file.*X\.gone"), replaced(folder / "Y.npy"):
        (folder / "X.gone").read_bytes()
    with pytest.raises(ArgumentError, match=r"imputed tables are written as \.csv.*got \.mat"):
        write_filled(folder / "Y.mat", ldr.solve("ppca", X, 2), files.read(folder / "X.csv"))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match="no permission to write"):
        check_outputs({"--out": folder / "Y.csv"}, {})


def test_too_little_memory_is_called_so(folder, call, monkeypatch):
    def solve(*_, **__):
        raise MemoryError("Unable to allocate 8.00 TiB")

    monkeypatch.setattr(ldr, "solve", solve)
    done = call("solve", "pca", "X.csv", "--out", "Y.csv", folder=folder)
    assert done.returncode == 2
    assert done.stderr == "ldr: not enough memory: Unable to allocate 8.00 TiB\n"


def test_texts_that_a_spreadsheet_would_run_are_said(tmp_path):
    texts = np.where(np.arange(len(X)) % 2, "=1+1", "plain")
    pd.DataFrame(X[:, :3], columns=list("abc")).assign(kind=texts).to_csv(
        tmp_path / "X.csv", index=False
    )
    table = files.read(tmp_path / "X.csv")
    result = ldr.solve("ppca", pd.DataFrame(X[:, :3], columns=list("abc")), 1)
    with pytest.warns(DataWarning, match="column 'kind' has texts that begin with ="):
        write_filled(tmp_path / "Y.csv", result, table)
    assert list(pd.read_csv(tmp_path / "Y.csv")["kind"]) == list(texts)
