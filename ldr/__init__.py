"""Linear dimensionality reduction by optimisation on matrix manifolds.

The public names, listed in `__init__.pyi`, are imported on first use: ``import ldr`` is fast.

>>> import numpy as np, ldr
>>> X = np.random.default_rng(0).standard_normal((100, 5))
>>> ldr.solve("pca", X, r=2).certificate.kind
'global'
"""

import lazy_loader

__version__ = "0.10.0"

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name.startswith("Classical") or name in ("MAF", "GCPCA"):  # class names before version 0.9
        from ldr.objectives.registry import current_class

        name = current_class(name)
    return _load(name)
