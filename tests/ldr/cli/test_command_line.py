"""The command `ldr`, run as a process."""

import importlib
import inspect
import json
import os
import signal
import subprocess
import sys
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import LeaveOneOut

import ldr
from ldr import files
from ldr.cli.app import _VERBS, main, methods
from ldr.cli.options import names_of_methods, with_options
from tests.ldr.conftest import run
from tests.real_data import breast_cancer, standardised, wine


def test_demo_prints_a_table_and_saves_a_picture(call, tmp_path):
    done = call("demo", "--out", "pictures", "--show-progress", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    picture = tmp_path / "pictures" / "ldr-demo.png"
    assert done.stdout.splitlines()[-1] == f"picture: {picture}"
    assert picture.read_bytes().startswith(b"\x89PNG")
    for word in ("digits", "wine", "breast_cancer", "improvement", "accuracy"):
        assert word in done.stdout
    assert done.stdout.count("its baseline") == 2  # the third baseline is the optimum


def test_methods_tells_all_about_one(call, tmp_path):
    done = call("methods", "sfa", folder=tmp_path)
    assert done.returncode == 0
    for part in (
        "time order",
        "Wiskott",
        "degree : {1, 2}",
        "estimator  SFA",
        "min_{M'M=I} tr(M'Xdot'Xdot M)",
    ):
        assert part in done.stdout
    wrong = call("methods", "sfaa", folder=tmp_path)
    assert wrong.returncode == 2 and "unknown objective 'sfaa'" in wrong.stderr


def test_lists_are_as_wide_as_the_terminal(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    methods()
    lines = capsys.readouterr().out.splitlines()
    names = [line.split()[0] for line in lines if not line.startswith(" ")]
    assert names == list(ldr.objectives.REGISTRY) and max(map(len, lines)) <= 80
    shown = " ".join(" ".join(lines).split())
    assert "Classical multidimensional scaling (MDS) of a distance matrix" in shown
    methods(name="orthogonal-lda")
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line.startswith("    Constant added to the diagonal")]


def test_shells_complete_the_names_of_methods():
    assert names_of_methods("orthogonal-m") == ["orthogonal-mcca", "orthogonal-maf"]


def test_methods_as_json(call, tmp_path):
    done = call("methods", "--json", folder=tmp_path)
    assert done.returncode == 0
    assert [row["name"] for row in json.loads(done.stdout)] == list(ldr.objectives.REGISTRY)


def test_version(tmp_path):
    done = run("--version", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"ldr {ldr.__version__}\n")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["demo", "-h"]])
def test_help_names_the_demo_and_succeeds(arguments, call, tmp_path):
    done = call(*arguments, folder=tmp_path)
    assert done.returncode == 0 and "demo" in done.stdout and done.stderr == ""


@pytest.mark.parametrize("verb", _VERBS)
def test_every_option_has_a_help_text(verb):
    options = inspect.signature(with_options(verb, ["orthogonal-lda"])).parameters
    helps = {name: each.annotation.__metadata__[0].help for name, each in options.items()}
    assert [n for n, help in helps.items() if len(help) < 10 or "As in `ldr.path`" in help] == []


X, labels = wine()
WINES = pd.DataFrame(X, columns=[f"m{j}" for j in range(13)])
SPECIES = np.array(["first", "second", "third"])[labels]

OBJECTIVES = """
import jax.numpy as jnp
import ldr


@ldr.objective(manifold="grassmann", sense="max", backend="numpy",
               gradient=lambda M, X: 2 * X.T @ (X @ M) / len(X))
def variance(M, X):
    return ((X @ M) ** 2).sum() / len(X)


@ldr.objective(manifold="grassmann", sense="max")
def fourth_moment(M, X):
    return jnp.mean((X @ M) ** 4)


@ldr.objective
def broken(M, X):
    return no_such_name * M.sum()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of real data, and objectives of a user's own."""
    folder = tmp_path_factory.mktemp("data")
    frame = WINES.assign(species=SPECIES)
    frame.to_csv(folder / "wine.csv", index=False)
    text = frame.astype(object)
    text.loc[7, "m3"] = "n/k"
    text.to_csv(folder / "text.csv", index=False)
    tumours = standardised(breast_cancer()[0])
    np.save(folder / "means.npy", tumours[:, :10])
    np.savez(folder / "both.npz", means=tumours[:, :10], extremes=tumours[:, 20:])
    (folder / "mine.py").write_text(OBJECTIVES)
    (folder / "none.py").write_text("variance = 3")
    (folder / "torn.py").write_text("\ndef torn(:")
    (folder / "Y.csv").mkdir()
    return folder


def test_solve_writes_the_projection_the_picture_and_the_report(call, folder, tmp_path):
    out, plot, report = (tmp_path / name for name in ("Y.parquet", "Y.png", "Y.html"))
    arguments = ["--label", "species", "-r", "2", "--out", out, "--plot", plot, "--report", report]
    done = call("solve", "orthogonal-lda", "wine.csv", *map(str, arguments), folder=folder)
    assert done.returncode == 0 and done.stderr == ""
    result = ldr.solve("orthogonal-lda", WINES, 2, y=SPECIES)
    assert f"{result.value:.9g}"[:-1] in done.stdout and "global" in done.stdout
    written = pd.read_parquet(out)
    assert list(written.columns) == ["orthogonal-lda0", "orthogonal-lda1"]
    np.testing.assert_allclose(written, result.transform(X), atol=1e-8)
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert "wine.csv, 178 rows" in report.read_text(encoding="utf-8")


@pytest.mark.smoke
def test_solve_prints_json(call, folder):
    arguments = ["--columns", "m3,m0,m8,m5", "--drop", "m8", "--param", "lag=2", "--standardise"]
    done = call(
        "solve", "orthogonal-maf", "wine.csv", "-r", "1", *arguments, "--json", folder=folder
    )
    assert done.returncode == 0 and done.stderr == ""
    printed = json.loads(done.stdout)
    Z = WINES[["m3", "m0", "m5"]]
    result = ldr.solve("orthogonal-maf", Z / Z.std(), 1, lag=2)
    assert printed["value"] == pytest.approx(result.value, rel=1e-9)
    assert printed["columns"] == [3] and printed["parameters"].startswith("OrthogonalMAF(lag=2")
    assert printed["certificate"]["kind"] == "global" and printed["converged"] is True


def test_solve_two_views_from_random_starts(call, folder, tmp_path):
    out = tmp_path / "Y.mat"
    options = ["--second-view", "both.npz:extremes", "--start", "random", "--starts", "2"]
    options += ["--seed", "1", "--solver", "lbfgs", "--out", str(out), "--json"]
    done = call("solve", "orthogonal-cca", "means.npy", "-r", "1", *options, folder=folder)
    assert done.returncode == 0 and done.stderr == ""
    printed = json.loads(done.stdout)
    tumours = standardised(breast_cancer()[0])
    reference = ldr.solve("orthogonal-cca", (tumours[:, :10], tumours[:, 20:]), 1)
    assert printed["value"] == pytest.approx(reference.value, rel=1e-9)
    assert printed["solver"] == "lbfgs" and len(printed["starts"]) == 2
    assert out.exists()


def test_no_convergence_is_code_1_and_the_best_point_is_written(
    call, folder, tmp_path, monkeypatch
):
    out = tmp_path / "Y.csv"
    options = ["--solver", "steepest-descent", "--max-iterations", "1", "--out", str(out)]
    done = call("solve", "orthogonal-maf", "means.npy", *options, folder=folder)
    assert done.returncode == 1 and len(pd.read_csv(out)) == 569
    assert done.stderr.startswith("ldr: not converged: the iteration limit was reached")
    assert done.stderr.count("\n") == 1
    monkeypatch.setattr("ldr.solvers.LBFGS.default_max_iterations", 1)
    options = ["-r", "1-2", "--solver", "lbfgs"]
    done = call("path", "orthogonal-lda", "wine.csv", "--label", "species", *options, folder=folder)
    assert done.returncode == 1 and done.stderr.endswith("ldr: not converged: r = 2\n")
    options = ["--label", "species", "--methods", "nca", "--folds", "2"]
    done = call("compare", "wine.csv", *options, folder=folder)
    assert done.returncode == 1 and "nca: not converged on all rows" in done.stdout


def test_options_follow_from_the_signatures_of_solve_and_of_the_method(call, folder):
    data = ("contrastive-pca", "both.npz:means", "--background", "means.npy", "--json")
    stated = call("solve", *data, "--param", "alpha=0.5", folder=folder)
    own = call("solve", *data, "--alpha", "0.5", "--certify", "False", folder=folder)
    assert own.returncode == 0 and own.stderr == ""
    tumours = standardised(breast_cancer()[0])[:, :10]
    reference = ldr.solve("contrastive-pca", (tumours, tumours), 2, alpha=0.5)
    assert json.loads(own.stdout)["value"] == json.loads(stated.stdout)["value"]
    assert json.loads(own.stdout)["value"] == pytest.approx(reference.value, rel=1e-9)
    assert json.loads(own.stdout).get("certificate") is None
    assert "--alpha" in call("solve", *data, "--help", folder=folder).stdout
    wrong = call("solve", *data, "--alhpa", "0.5", folder=folder)
    assert wrong.returncode == 2 and "--alhpa" in wrong.stderr
    limited = ("--solver", "steepest-descent", "--tolerance", "1e-3", "--shrinkage", "auto")
    done = call(*LDA.split(), *limited, "--json", folder=folder)
    assert done.returncode == 0 and "shrinkage='auto'" in json.loads(done.stdout)["parameters"]


def test_a_start_in_a_file_and_a_word_for_a_parameter(call, folder):
    result = ldr.solve("orthogonal-lda", X, 2, y=labels, shrinkage="auto", tolerance=1e-12)
    np.save(folder / "start.npy", result.M)
    options = ["--param", "shrinkage=auto", "--start", "start.npy", "--solver", "lbfgs", "--json"]
    done = call(*LDA.split(), *options, folder=folder)
    assert done.returncode == 0 and json.loads(done.stdout)["iterations"] == 0


def test_path_over_the_dimension(call, folder, tmp_path):
    options = ["--label", "species", "-r", "1-3", "--plot", str(tmp_path / "path.png")]
    done = call("path", "orthogonal-lda", "wine.csv", *options, "--json", folder=folder)
    assert done.returncode == 0 and done.stderr == ""
    printed = json.loads(done.stdout)
    assert printed["dimensions"] == [1, 2, 3]
    for r, result in zip((1, 2, 3), printed["results"], strict=True):
        assert result["value"] == pytest.approx(
            ldr.solve("orthogonal-lda", X, r, y=SPECIES).value, rel=1e-9
        )
    assert (tmp_path / "path.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("dimensions", ["1-3", "1:3", "1,2,3"])
def test_dimensions_of_a_path(dimensions, call, folder):
    done = call("path", "pca", "means.npy", "-r", dimensions, "--json", folder=folder)
    assert done.returncode == 0 and json.loads(done.stdout)["dimensions"] == [1, 2, 3]


def test_one_sample_is_left_out_at_a_time(call, tmp_path):
    np.save(tmp_path / "X.npy", X[:9])
    done = call("path", "pca", "X.npy", "-r", "1", "--folds", "loo", "--json", folder=tmp_path)
    expected = ldr.path("pca", X[:9], [1], folds=LeaveOneOut()).scores
    np.testing.assert_allclose(json.loads(done.stdout)["scores"], expected)


def test_what_is_left_out_of_a_table_is_told(call, tmp_path):
    WINES.assign(species=SPECIES).to_csv(tmp_path / "wine.csv")
    done = call(
        "solve", "orthogonal-lda", "wine.csv", "--label", "species", "--json", folder=tmp_path
    )
    assert done.stderr.startswith("ldr: wine.csv: the first column has no name and is left out")
    assert done.stderr.count("\n") == 1 and done.returncode == 0
    assert json.loads(done.stdout)["value"] == pytest.approx(
        ldr.solve("orthogonal-lda", X, 2, y=labels).value
    )


@pytest.mark.parametrize(("method", "size"), [("ppca", files.LARGE), ("fa", 0)])
def test_missing_cells_of_methods_that_take_them(method, size, call, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LARGE", size)
    holes = WINES.mask(np.random.default_rng(0).random(WINES.shape) < 0.1)
    holes.to_csv(tmp_path / "holes.csv", index=False)
    options = ["--standardise", "--json", "--out", "Y.csv"]
    pictures = ["--plot", "Y.png", "--report", "Y.html"] if method == "ppca" else []
    done = call("solve", method, "holes.csv", *options, *pictures, folder=tmp_path)
    assert done.returncode == 0 and done.stderr == ""
    scaled = holes / holes.std(ddof=0)
    result = ldr.solve(method, scaled, 2)
    assert json.loads(done.stdout)["value"] == pytest.approx(result.value, rel=1e-9)
    Y, expected = (np.asarray(rows) for rows in (pd.read_csv("Y.csv"), result.transform(scaled)))
    np.testing.assert_allclose(Y @ Y.T, expected @ expected.T, atol=1e-3)  # fa's axes may be turned
    done = call("solve", "pca", "holes.csv", folder=tmp_path)
    assert done.returncode == 2 and "NaN or infinite value(s), the first in row" in done.stderr


@pytest.mark.parametrize("name", ["random", "typing", "numpy"])
def test_a_file_may_be_called_like_a_module(name, call, tmp_path):
    (tmp_path / f"{name}.py").write_text(OBJECTIVES)
    np.save(tmp_path / "X.npy", X)
    module, paths = importlib.import_module(name), list(sys.path)
    done = call("solve", f"{name}.py:variance", "X.npy", "--json", folder=tmp_path)
    assert done.returncode == 0 and done.stderr == ""
    largest = np.linalg.eigvalsh(np.cov(X.T, bias=True))[-2:].sum()
    assert json.loads(done.stdout)["value"] == pytest.approx(largest, rel=1e-9)
    assert sys.modules[name] is module and sys.path == paths


def test_check_of_a_file(call, folder):
    done = call("check", "mine.py:variance", folder=folder)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.splitlines()[0].endswith("passed")


def test_check_on_data(call, folder):
    done = call("check", "orthogonal-lda", "wine.csv", "--label", "species", folder=folder)
    assert done.returncode == 0 and done.stdout.splitlines()[0].endswith("passed")
    done = call("check", "mine.py:fourth_moment", "means.npy", folder=folder)
    assert done.returncode == 1 and done.stdout.splitlines()[0].endswith("FAILED")


@pytest.mark.parametrize("ending", [".csv", ".npy"])
def test_labels_that_look_like_numbers_are_texts_on_request(ending, call, tmp_path):
    X = np.random.default_rng(0).standard_normal((40, 3))
    cells = np.array(["7", "7.0", "12"] if ending == ".csv" else ["7.0", "8.0"])[np.arange(40) % 2]
    path = str(tmp_path / f"rows{ending}")
    if ending == ".csv":
        pd.DataFrame({**dict(zip("abc", X.T, strict=True)), "k": cells}).to_csv(path, index=False)
    else:
        np.save(path, np.column_stack([X, cells.astype(float)]))
    label = "k" if ending == ".csv" else "3"
    command = ("solve", "lda", path, "--label", label, "-r", "1", "--json")
    done = call(*command, "--as-text", folder=tmp_path)
    assert json.loads(done.stdout)["value"] == ldr.solve("lda", X, 1, y=cells).value
    as_numbers = call(*command, folder=tmp_path)
    assert (as_numbers.returncode == 0) == (ending == ".npy"), as_numbers.stderr  # 7.0 is 7


def test_names_with_spaces_and_commas(call, tmp_path):
    X = np.random.default_rng(0).standard_normal((40, 3))
    frame = pd.DataFrame(X, columns=["a", " b", "c, d"]).assign(**{" kind ": np.arange(40) % 2})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    command = ("solve", "orthogonal-lda", "rows.csv", "--label", "kind", "-r", "1", "--json")
    done = call(*command, "--columns", 'b, "c, d"', "--drop", "a", folder=tmp_path)
    assert files.read(tmp_path / "rows.csv").select(["b", "a", "b"]).columns == [" b", "a"]
    expected = ldr.solve("orthogonal-lda", X[:, 1:], 1, y=np.arange(40) % 2)
    assert json.loads(done.stdout)["value"] == pytest.approx(expected.value, rel=1e-12)


LDA = "solve orthogonal-lda wine.csv --label species"


MISTAKES = [
    ("demo --r two", "ldr: Invalid value for '-r' / '--r': expected an integer"),
    ("dmeo", "ldr: No such command 'dmeo'"),
    ("solve orthogonal-lda wine.csv --label kind", "ldr: wine.csv has no column 'kind'"),
    (
        "solve pca both.npz:means --drop extremes",
        "ldr: both.npz has no column 'extremes'; its columns are: 0",
    ),
    ("solve pca beer.csv", "ldr: beer.csv: no such file"),
    (
        "solve orthogonal-lda text.csv --label species",
        "ldr: text.csv cannot be read: column 'm3': Row #9: 'n/k' is not a number; "
        "leave the column out",
    ),
    (f"{LDA} -r 14", "ldr: r = 14 is out of range: expected 1 <= r <= d = 13"),
    ("demo --r 0", "ldr: r must be at least 1, got 0"),
    (f"demo --out {os.devnull}", f"ldr: {os.devnull}: "),
    ("--frobnicate", "ldr: No such option"),
    ("solve ldaa wine.csv", "ldr: unknown objective 'ldaa': did you mean 'lda' or "),
    (
        "solve orthogonal-lda wine.csv",
        "ldr: objective 'orthogonal-lda' needs labels: give --label COLUMN",
    ),
    ("solve pca mine.py", "ldr: mine.py: unknown ending '.py', expected one of .csv"),
    (f"{LDA} --param rigde=1", "ldr: objective 'orthogonal-lda' has no parameter 'rigde'"),
    (f"{LDA} --param ridge", "ldr: Invalid value: --param 'ridge' is not of the form KEY=VALUE"),
    (f"{LDA} --out no/Y.csv", "ldr: no/Y.csv: the folder 'no' does not exist"),
    (f"{LDA} --plot Y.doc", "ldr: --plot Y.doc: unknown ending"),
    (
        "solve orthogonal-cca means.npy",
        "ldr: objective 'orthogonal-cca' needs second view: give --view",
    ),
    ("path pca means.npy -r 1to3", "ldr: Invalid value for '-r' / '--r': expected numbers A-B"),
    ("path pca means.npy -r 5-1", "ldr: Invalid value for '-r' / '--r': expected numbers A-B"),
    (
        "check orthogonal-lda",
        "ldr: objective 'orthogonal-lda' needs labels: give DATA and --label COLUMN",
    ),
    ("path pca means.npy -r 9-11", "ldr: r = 11 is out of range"),
    ("path pca means.npy -r 1 --report Y.html", "ldr: ldr path writes no report"),
    ("path pca means.npy -r 1 --folds all", "ldr: Invalid value for '--folds': expected a whole"),
    ("check mine.py", "ldr: mine.py has several objectives, variance, fourth_moment"),
    ("solve mine.py:variance means.npy --param a=1", "ldr: --param is for methods given by name"),
    ("check yours.py", "ldr: yours.py: no such file"),
    ("check mine.py:kurtosis", "ldr: mine.py has no objective 'kurtosis'"),
    ("check mine.py:broken", "ldr: mine.py, line 19: NameError: name 'no_such_name'"),
    ("check none.py", "ldr: none.py has no objective: decorate a function with @ldr.objective"),
    ("check torn.py", "ldr: torn.py, line 2: SyntaxError: "),
    (f"{LDA} --out Y.csv", "ldr: Y.csv is a folder, expected a file"),
]


def is_one_line_and_code_2(done, message):
    return (
        done.returncode == 2
        and done.stderr.startswith(message)
        and done.stderr.count("\n") == 1
        and done.stdout == ""
    )


def test_a_mistake_is_one_line_and_code_2_of_the_process(folder):
    message = "ldr: No such command 'dmeo'"
    assert is_one_line_and_code_2(run("dmeo", folder=folder), message)


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_mistakes_are_one_line_and_code_2(arguments, message, folder, call):
    assert is_one_line_and_code_2(call(*arguments.split(), folder=folder), message)


@pytest.mark.parametrize(
    ("arguments", "keys"),
    [
        ("test orthogonal-lda --label species --permutations 19", {"p_value", "p_values"}),
        ("dimension pca --drop species --standardise", {"r", "rule", "scores"}),
        ("bootstrap pca --drop species --draws 5", {"region", "intervals"}),
    ],
)
def test_what_is_more_than_chance(arguments, keys, call, folder, tmp_path):
    verb, objective, *options = arguments.split()
    picture, report = tmp_path / "found.png", tmp_path / "found.html"
    outputs = ("--seed", "0", "--json", "--plot", picture, "--report", report)
    done = call(verb, objective, folder / "wine.csv", *options, *outputs, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "<h1>wine.csv: " in report.read_text(encoding="utf-8")
    assert keys <= set(json.loads(done.stdout))
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_what_ctrl_c_breaks_is_an_interrupt(monkeypatch):
    """A lock or an import that it hits raises an error of its own; others stay what they are."""

    def broken(**_):
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("release unlocked lock")

    for hit, code in ((Mock(side_effect=KeyboardInterrupt), 130), (broken, 130)):
        monkeypatch.setattr("ldr.cli.app.app", hit)
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == code
    monkeypatch.setattr("ldr.cli.app.app", Mock(side_effect=ZeroDivisionError("a mistake of ours")))
    with pytest.raises(ZeroDivisionError, match="of ours"):
        main()


def test_a_warning_and_a_full_disk_behind_standard_output_are_a_line_each():
    command = [sys.executable, "-m", "ldr", "methods", "lda"]
    with open("/dev/full", "w") as full:
        options = {"stdout": full, "stderr": subprocess.PIPE, "text": True}
        environment = {**os.environ, "PYTHONUNBUFFERED": ""}
        done = subprocess.run(command, **options, env=environment, timeout=300)
    assert done.returncode == 2
    warning, error = done.stderr.splitlines()
    assert warning.startswith("ldr: 'lda' is now")
    assert error == "ldr: standard output: No space left on device"


@pytest.mark.parametrize(("written", "said"), [(";", ";"), ("\t", "tab"), ("|", "|")])
def test_cells_are_cut_at_the_separator_that_is_said(written, said, call, tmp_path):
    WINES.assign(species=SPECIES).to_csv(tmp_path / "wine.csv", sep=written, index=False)
    solve = ("solve", "orthogonal-lda", "wine.csv", "--label", "species", "--json")
    done = call(*solve, "--sep", said, "--save", "m.npz", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    expected = ldr.solve("orthogonal-lda", X, 2, y=labels)
    assert json.loads(done.stdout)["value"] == pytest.approx(expected.value, rel=1e-12)
    model = ("transform", "m.npz", "wine.csv", "--out", "y.npy", "--sep", said)
    assert call(*model, folder=tmp_path).returncode == 0
    assert abs(np.load(tmp_path / "y.npy") - expected.transform(X)).max() < 1e-9
    unsaid = call(*solve, folder=tmp_path)
    assert unsaid.returncode == 2 and "For another separator, give --sep" in unsaid.stderr
    wrong = call(*solve, "--sep", ";;", folder=tmp_path)
    assert wrong.returncode == 2 and "expected one character, or tab" in wrong.stderr


def test_an_empty_path_is_not_the_working_folder(call, tmp_path):
    WINES.to_parquet(tmp_path / "wine.parquet")
    for command in (("pca", ""), ("pca", " "), ("orthogonal-cca", "wine.parquet", "--view", "")):
        done = call("solve", *command, folder=tmp_path)
        assert done.returncode == 2 and done.stdout == ""
        assert "expected the path of a file" in done.stderr


def test_files_without_a_line_of_names(call, tmp_path):
    np.savetxt(tmp_path / "wine.csv", np.column_stack([X, labels]), delimiter=",", fmt="%.17g")
    solve = ("solve", "orthogonal-lda", "wine.csv", "--label", "13", "--no-header", "--json")
    done = call(*solve, "--save", "m.npz", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    expected = ldr.solve("orthogonal-lda", X, 2, y=labels)
    assert json.loads(done.stdout)["value"] == pytest.approx(expected.value, rel=1e-12)
    model = ("transform", "m.npz", "wine.csv", "--out", "y.npy", "--no-header")
    assert call(*model, folder=tmp_path).returncode == 0
    assert abs(np.load(tmp_path / "y.npy") - expected.transform(X)).max() < 1e-9


def test_columns_are_chosen_of_each_view(call, tmp_path):
    WINES.to_csv(tmp_path / "wine.csv", index=False)
    solve = ("solve", "cca", "wine.csv", "--columns", "m0,m1,m2", "--view", "wine.csv")
    done = call(*solve, "--columns", "m5,m9", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    value = ldr.solve("cca", (X[:, :3], X[:, [5, 9]]), 2).value
    assert json.loads(done.stdout)["value"] == pytest.approx(value, rel=1e-10)
    dropped = ",".join(f"m{j}" for j in range(13) if j not in (5, 9))
    done = call(*solve, "--drop", "m2", "--drop", dropped, "--json", folder=tmp_path)
    value = ldr.solve("cca", (X[:, :2], X[:, [5, 9]]), 2).value
    assert json.loads(done.stdout)["value"] == pytest.approx(value, rel=1e-10)
    thrice = ("--columns", "m3", "--columns", "m4")
    wrong = call(*solve, *thrice, folder=tmp_path)
    told = "--columns is given 3 times, expected at most 2"
    assert wrong.returncode == 2 and told in wrong.stderr


def test_a_signal_that_a_library_turns_into_something_else_is_one(monkeypatch):
    def hit(**_):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except SystemExit:
            raise ImportError("initialization failed") from None

    monkeypatch.setattr("ldr.cli.app.app", hit)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 128 + signal.SIGTERM
