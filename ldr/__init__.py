"""Linear dimensionality reduction as a black-box numerical technology.

What is here is listed in `__init__.pyi` and imported when it is first used, so that ``import ldr``
costs nothing.

>>> import numpy as np, ldr
>>> X = np.random.default_rng(0).standard_normal((100, 5))
>>> ldr.solve("pca", X, r=2).certificate.kind
'global'
"""

import lazy_loader

__version__ = "0.9.0"

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name.startswith("Classical") or name in ("MAF", "GCPCA"):  # names of version 0.9
        from ldr.objectives.renamed import current_class

        name = current_class(name)
    return _load(name)
