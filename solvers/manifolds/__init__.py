"""Matrix manifolds: where the projection M lives.

A point is one float64 array, also on a product (a flat one, whose ``split`` gives the factors), so
that a solver is written once, in plain array arithmetic, for every manifold.

The public names are listed in `__init__.pyi` and imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
