"""Commands that write, and what can go wrong while they do: inputs stay, outputs are whole or old.

Every case runs in a process of its own, in a folder with inputs of all kinds. The full disk is a
limit on the size of files, and a small file system where one can be mounted.
"""

import contextlib
import io
import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.io
from PIL import Image

from ldr import files
from ldr.cli import app as command_line
from ldr.errors import DataError
from ldr.objectives.data import data as samples
from ldr.result import Result
from tests.adversarial.campaign import count, generator, report
from tests.programs import OBJECTIVE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="cases are processes that are forked"),
    pytest.mark.filterwarnings("ignore:.*fork.*"),
]

ROWS = 400

COMMANDS = [
    "solve pca X.csv --drop kind --out Y.csv",
    "solve pca X.tsv --drop kind --out Y.tsv --plot Y.svg",
    "solve orthogonal-lda X.parquet --label kind --out Y.parquet --report Y.html",
    "solve pca X.npy --out Y.npy --plot Y.pdf",
    "solve fa holes.csv --standardise --out Y.mat",
    "solve orthogonal-cca X.npz:X --second-view X.mat:X --out Y.npz",
    "solve contrastive-pca X.npy --background X.npz:X --out Y.npy",
    "solve mine.py:variance X.csv --drop kind --start start.npy --out Y.csv",
    "solve orthogonal-maf parts --drop kind --solver steepest-descent --out parts/Y.csv",
    "path pca X.npy -r 1:3 --plot Y.png",
    "demo --out .",
]


@dataclass
class Case:
    """A command and what goes wrong.

    Attributes
    ----------
    most : int or None
        Bytes that a file may have.
    number : signal or None
        Sent `after` seconds.
    fails_at : int or None
        The call of `Result.transform` that raises.
    in_pieces : bool
        Whether every file counts as a large one.
    """

    command: str
    most: int | None = None
    number: int | None = None
    after: float = 0.0
    fails_at: int | None = None
    in_pieces: bool = False
    outputs: list[str] = field(init=False)

    def __post_init__(self):
        words = self.command.split()
        options = ("--out", "--plot", "--report")
        given = [words[i + 1] for i, word in enumerate(words) if word in options]
        self.outputs = ["ldr-demo.png"] if words[0] == "demo" else given


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    rng = generator("files")
    X = rng.standard_normal((ROWS, 4)) @ rng.standard_normal((4, 4))
    frame = pd.DataFrame(X, columns=list("abcd"))
    kinds = np.array(["oak", "ash", "elm"])[np.arange(ROWS) % 3]
    named = frame.assign(kind=kinds)
    named.to_csv(folder / "X.csv")
    named.to_csv(folder / "X.tsv", index=False, sep="\t")
    named.to_parquet(folder / "X.parquet")
    frame.mask(rng.random(X.shape) < 0.1).to_csv(folder / "holes.csv", index=False)
    np.save(folder / "X.npy", X)
    np.savez(folder / "X.npz", X=X)
    scipy.io.savemat(folder / "X.mat", {"X": X})
    np.save(folder / "start.npy", np.eye(4)[:, :2])
    (folder / "mine.py").write_text(OBJECTIVE)
    (folder / "parts").mkdir()
    for k in range(3):
        named[k::3].to_parquet(folder / "parts" / f"part{k}.parquet")
    return folder


@pytest.fixture
def place(tmp_path):
    yield tmp_path
    shutil.rmtree(tmp_path, ignore_errors=True)


def _prepared(inputs, folder, case, old):
    """A folder of inputs, and perhaps what an earlier command wrote."""
    if folder.exists():
        shutil.rmtree(folder)
    shutil.copytree(inputs, folder)
    if old:
        for name in case.outputs:
            if not (folder / name).exists():
                (folder / name).write_text("old")


def _contents(folder):
    """Everything in a folder, but for the bytecode of what is imported."""
    found = (path for path in folder.rglob("*") if "__pycache__" not in path.parts)
    return {str(p.relative_to(folder)): p.read_bytes() for p in found if p.is_file()}


def _run(case, folder):
    """Exit code, messages and seconds of a case."""
    reading, writing = os.pipe()
    begun, begin = os.pipe()
    process = multiprocessing.get_context("fork").Process(
        target=_child, args=(case, folder, writing, begin)
    )
    process.start()
    hung = threading.Timer(120, process.kill)
    hung.start()
    os.close(writing)
    os.close(begin)
    os.read(begun, 1)
    start = time.perf_counter()
    if case.number is not None:
        time.sleep(case.after)
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, case.number)
    with open(reading, "rb") as messages:
        said = messages.read().decode()
    process.join(120)
    hung.cancel()
    os.close(begun)
    return process.exitcode, said, time.perf_counter() - start


def _child(case, folder, writing, begin):
    os.dup2(writing, 1)
    os.dup2(writing, 2)
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    signal.signal(signal.SIGINT, signal.default_int_handler)
    warnings.resetwarnings()  # as in a program, where they are no errors
    os.chdir(folder)
    if case.most is not None:
        sys.dont_write_bytecode = True  # Python leaves half of it, which nobody can import
        resource.setrlimit(resource.RLIMIT_FSIZE, (case.most, resource.RLIM_INFINITY))
    if case.in_pieces:
        files.LARGE = 0
        samples.PIECE_NUMBERS = 300
    if case.fails_at is not None:
        _break(case.fails_at)
    app = command_line.app

    def started(**options):
        os.write(begin, b".")
        return app(**options)

    command_line.app = started
    sys.argv = ["ldr", *case.command.split()]
    command_line.main()


def _break(call):
    calls, plain = [], Result.transform

    def transform(self, X):
        calls.append(0)
        if len(calls) == call:
            raise DataError("broken off")
        return plain(self, X)

    Result.transform = transform


def _is_whole(name, content, rows):
    """Whether what was written can be read, to its end."""
    file, ending = io.BytesIO(content), Path(name).suffix
    if ending in (".csv", ".tsv"):
        return len(pd.read_csv(file, sep="\t" if ending == ".tsv" else ",")) == rows
    if ending == ".parquet":
        return len(pd.read_parquet(file)) == rows
    if ending == ".npy":
        return len(np.load(file)) == rows
    if ending == ".npz":
        return all(len(np.load(file)[name]) > 0 for name in ("Y_a", "Y_b", "M_a"))
    if ending == ".mat":
        return len(scipy.io.loadmat(file)["Y"]) == rows
    if ending == ".png":
        Image.open(file).load()
        return True
    end = {".pdf": b"%%EOF", ".svg": b"</svg>", ".html": b"</html>"}[ending]
    return content.rstrip().endswith(end)


CODES = {
    None: (0, 1, 2),
    signal.SIGINT: (0, 1, 2, 130),
    signal.SIGTERM: (0, 1, 2, 143, -signal.SIGTERM),
    signal.SIGHUP: (0, 1, 2, 129, -signal.SIGHUP),
}


def _violations(case, inputs, folder, old):
    """What a case did that it must not do; and its exit code, messages and seconds."""
    _prepared(inputs, folder, case, old)
    before = _contents(folder)
    code, said, seconds = _run(case, folder)
    after = _contents(folder)
    wrong = []
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) == after.get(name):
            continue
        if name not in case.outputs:
            wrong.append(f"{name} {'is new' if name not in before else 'is not what it was'}")
        elif name not in after:
            wrong.append(f"{name} is gone")
        elif not _read_to_the_end(name, after[name]):
            wrong.append(f"{name} is half written")
    if code not in CODES[case.number]:
        wrong.append(f"code {code}")
    # Before Python 3.12 an interrupt while a class is made, in an import, comes as a RuntimeError.
    if "Traceback" in said and "Error calling __set_name__" not in said:
        wrong.append(said[-400:])
    return [f"{case}: {what}" for what in wrong], code, said, seconds


def _read_to_the_end(name, content):
    try:
        return _is_whole(name, content, ROWS)
    except Exception:
        return False


def _both(command):
    """From files in memory, and from files read in pieces, where that is another way."""
    ways = (False,) if command.startswith("demo") else (False, True)
    return [Case(command, in_pieces=way) for way in ways]


@pytest.mark.parametrize("command", COMMANDS)
def test_success(command, inputs, place):
    for case in _both(command):
        wrong, code, said, _ = _violations(case, inputs, place / "here", old=True)
        assert not wrong, report(wrong)
        assert code == 0, said
        written = _contents(place / "here")
        assert all(written[name] != b"old" for name in case.outputs)


@pytest.mark.parametrize("command", [c for c in COMMANDS if not c.startswith(("path", "demo"))])
def test_errors_while_it_is_written(command, inputs, place):
    found = []
    for plain in _both(command):
        for call in (1, 2, 3):
            case = Case(command, fails_at=call, in_pieces=plain.in_pieces)
            wrong, *_ = _violations(case, inputs, place / "here", old=call == 2)
            found += wrong
    assert not found, report(found)


@pytest.mark.parametrize("command", COMMANDS)
def test_files_that_cannot_grow(command, inputs, place):
    rng = generator("full disk", command)
    found, in_pieces = [], _both(command)[-1].in_pieces
    for k in range(count(4)):
        case = Case(command, most=int(10 ** rng.uniform(0, 5)), in_pieces=in_pieces)
        wrong, code, said, _ = _violations(case, inputs, place / "here", old=k % 2 == 0)
        found += wrong
        if code == 2 and "cannot be written: " not in said:
            found.append(f"{case}: {said}")
    assert not found, report(found)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk(command, inputs, place):
    rng = generator("small disk", command)
    found = []
    for k in range(count(3)):
        plain = _both(command)[k % len(_both(command))]
        with _disk(place / "disk", inputs, int(10 ** rng.uniform(3, 5))) as folder:
            wrong, code, said, _ = _violations(plain, inputs, folder / "here", old=True)
            found += wrong
            if code == 2 and "cannot be written: " not in said:
                found.append(f"{plain}: {said}")
    assert not found, report(found)


@contextlib.contextmanager
def _disk(folder, inputs, room):
    """A file system that holds the inputs and so many bytes, where one may be mounted."""
    page = 4096
    pages = sum(-(-path.stat().st_size // page) for path in inputs.rglob("*") if path.is_file())
    size = (pages + 3) * page + room  # at most three outputs were there before
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if (
        shutil.which("mount") is None
        or subprocess.run(command, capture_output=True, timeout=60).returncode
    ):
        pytest.skip("no file system can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True, timeout=60)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals(number, command, inputs, place):
    rng = generator("signals", command, int(number))
    found = []
    for plain in _both(command):
        *_, seconds = _violations(plain, inputs, place / "here", old=False)
        for k in range(count(3)):
            after = rng.uniform(0, seconds)
            case = Case(command, number=number, after=after, in_pieces=plain.in_pieces)
            wrong, *_ = _violations(case, inputs, place / "here", old=k % 2 == 0)
            found += wrong
    assert not found, report(found)
