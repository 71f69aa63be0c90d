"""Sums over blocks of rows: means, scatters, class, lagged and cross products, graph products.

Accuracy. A scatter computed as X'X - n mean mean' loses every digit when the mean is large against
the spread. Here the rows are shifted first by a *pilot*, the mean of a sample of s of them (up to
256, spread evenly). Any shift c is right in exact arithmetic, and by the Cauchy-Schwarz inequality
s |c_j - mean_j|^2 <= S_jj whatever the data, so the correction - n (mean - c)(mean - c)' cancels at
most a factor 1 + n/s, and a factor 1 + 1/s on average: no digits. If every mean is within 5
standard deviations of zero the shift and its copy are skipped, for a factor 26. Each entry of a
dense scatter is therefore good to about 1e-14 sqrt(S_ii S_jj), at any ratio of mean to spread that
the stored numbers resolve, and for rows that drift. A column that is constant gives exactly zero.
Sparse rows are shifted if that keeps them sparse, which holds wherever a mean is large: in columns
that are nearly full (see `sparse`).

All sums are in float64, whatever the type of the data. The pilot's sample comes from a fixed seed,
so the same data give the same bits.

The public names are listed in `__init__.pyi` and imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
