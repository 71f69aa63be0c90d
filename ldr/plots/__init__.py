"""Plots of a result: the projected data, the map, the run, the baseline and the optimum.

Every function returns a matplotlib Figure, which belongs to no window and is not known to pyplot. A
notebook shows a figure that ends a cell; ``figure.savefig("name.png")`` writes a file. The argument
`ax` takes matplotlib Axes to draw in; by default a new figure is made. If `ax` has too few panels,
an ``ldr.errors.ArgumentError`` states the required number.
"""

from ldr.plots.canvas import new_figure
from ldr.plots.maps import (
    biplot,
    compare,
    correlation_circle,
    draw_comparison,
    loadings,
    projection,
    side_by_side,
    space,
)
from ldr.plots.run import (
    bootstrap,
    convergence,
    diagnosis,
    dimension,
    improvement,
    influence,
    intervals,
    parallel_analysis,
    path,
    permutation_test,
    solutions,
)

__all__ = [
    "biplot",
    "bootstrap",
    "compare",
    "convergence",
    "correlation_circle",
    "diagnosis",
    "dimension",
    "draw_comparison",
    "improvement",
    "influence",
    "intervals",
    "loadings",
    "new_figure",
    "parallel_analysis",
    "path",
    "permutation_test",
    "projection",
    "side_by_side",
    "solutions",
    "space",
]
