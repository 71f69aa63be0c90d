"""Matrix manifolds: the feasible sets of the projection M.

A point is a single float64 array; on a product of manifolds the array is flat, and ``split``
returns the factors. Solvers therefore use plain array arithmetic on every manifold.

The public names are listed in `__init__.pyi` and imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
