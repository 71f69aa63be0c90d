"""The benchmark of stochastic solvers runs on a tiny size."""

import numpy as np

from benchmarks.stochastic import main, passes_to


def test_table(capsys):
    main(["--quick"])
    printed = capsys.readouterr().out
    assert printed.count("svrg") == printed.count("trust-region") == 2
    assert "own row sum" in printed and "uica" in printed


def test_passes_to_a_gap():
    run = ([1.0, 3.0, 4.0], [-90.0, -99.5, -100.0], 0.0)
    assert passes_to(1e-2, run, -100.0) == 3.0
    assert passes_to(1e-8, run, -100.0) == 4.0
    assert passes_to(1e-8, run, -101.0) == np.inf
