"""Statistics of rows by sums over blocks: means, scatters, class and lagged moments.

A scatter S computed as X'X - n mean mean' is inaccurate if the mean is large relative to the
standard deviation. The rows are therefore first shifted by a *pilot* c, the mean of a sample of s
rows (up to 256, spread evenly). By the Cauchy-Schwarz inequality s |c_j - mean_j|^2 <= S_jj: the
correction by n (mean - c)(mean - c)' increases relative errors by a factor of at most 1 + n/s, and
of 1 + 1/s on average. If every mean is within 5 standard deviations of zero, the rows are not
shifted, and relative errors increase by a factor of at most 26. Each entry of a dense scatter is
thus accurate to about 1e-14 sqrt(S_ii S_jj), for any ratio of mean to standard deviation and for
rows with a drift. A constant column has a scatter of exactly zero. In sparse data only nearly full
columns can have a large mean, and only these are shifted (see `products`).

All sums are in float64, for any dtype of the data. The sample of rows for the pilot has a fixed
seed, so that results are reproducible.

The public names are listed in `__init__.pyi` and imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
