"""The page on clusters: its programs print what they say, its commands start what they say."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from tests.ldr.files.test_cluster import run
from tests.objectives.data.clusters import start, wait_until
from tests.programs import programs_of, run_programs

PAGE = Path(__file__).parents[2] / "docs" / "clusters.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_program_without_a_cluster(tmp_path, monkeypatch):
    page = tmp_path / "clusters.md"
    page.write_text(TEXT.partition("## With a cluster")[0], encoding="utf-8")
    run_programs(page, at_least=1)


@pytest.mark.slow
def test_the_commands_and_the_program_with_a_cluster(tmp_path):
    """As written, but for the port, which may be taken here."""
    pytest.importorskip("distributed")
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    text = TEXT.replace("8786", str(port))
    lines = "".join(re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)).splitlines()
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("dask ")]
    assert [command[0] for command in commands] == ["scheduler", "worker", "worker"]
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).standard_normal((500, 6)))
    processes = [start(*command, folder=tmp_path) for command in commands]
    try:
        names: dict = {}
        first, second = (program for program, _ in programs_of(text))
        connect = compile(second.replace('")', '", timeout=60)'), "clusters.md", "exec")
        exec(connect, names)
        with names["client"] as client:
            client.wait_for_workers(2, timeout=60)
            exec(compile(first, "clusters.md", "exec"), names)
            assert names["result"].certificate.kind == "global"
            assert names["Y"].sum().compute() == pytest.approx(0, abs=1e-3)
        (command,) = (shlex.split(line)[1:] for line in lines if line.startswith("ldr "))
        done = run(*command, folder=tmp_path)
        assert done.returncode == 0 and done.stderr == ""
        assert "global" in done.stdout
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait(30)
    wait_until(lambda: all(process.poll() is not None for process in processes), "the end")
