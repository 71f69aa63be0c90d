"""Every method of the spectral half of the registry on real data: baseline, optimum, certificate.

Run with ``python -m benchmarks.methods``. The data come with scikit-learn and matplotlib.
"""

from __future__ import annotations

import ldr
from tests.objectives.methods import REAL, name_of

HEADER = (
    f"{'method':30s} {'d':>9s} {'r':>2s} {'baseline':>14s} {'value':>14s} {'improvement':>11s}  "
    f"{'certificate':11s} {'solver':22s} {'seconds':>7s}"
)


def main() -> None:
    print(HEADER)
    worse = []
    for key, (data, r) in REAL.items():
        X, y, parameters = data()
        result = ldr.solve(name_of(key), X, r, y=y, **parameters)
        matrices = result.M if isinstance(result.M, tuple) else (result.M,)
        d = "+".join(str(len(M)) for M in matrices)
        print(
            f"{key:30s} {d:>9s} {r:2d} {result.baseline:14.7g} {result.value:14.7g} "
            f"{result.improvement:+11.2e}  {result.certificate.kind:11s} {result.solver:22s} "
            f"{result.seconds:7.3f}"
        )
        if result.improvement < -1e-12:
            worse.append(key)
    print(f"{len(REAL)} runs, {len(worse)} worse than the baseline {worse or ''}")


if __name__ == "__main__":
    main()
