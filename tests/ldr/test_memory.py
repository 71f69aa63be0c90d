"""What memory there is: the least of what limits it."""

from ldr.objectives.data import memory


def test_the_least_of_the_limits_counts(tmp_path, monkeypatch):
    (tmp_path / "memory.max").write_text("3000000\n")
    (tmp_path / "memory.current").write_text("1000000\n")
    group = (tmp_path, "memory.max", "memory.current")
    monkeypatch.setattr(memory, "_groups", lambda: iter([group]))
    assert memory.available() == (2_000_000, "the control group (container)")
    (tmp_path / "memory.max").write_text("max\n")  # no limit
    assert memory.available()[1] != "the control group (container)"
