"""How to optimise: manifolds and algorithms. Knows no data and no method.

What is here is listed in `__init__.pyi` and imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
