"""Pictures of a result: the projected data, the map, the run, the baseline beside the optimum.

Every function returns a matplotlib Figure that belongs to no window and no global state: show it in
a notebook by naming it, or write it with ``figure.savefig("name.png")``. With `ax` it is the figure
of these matplotlib Axes, by default a new one; if `ax` has fewer panels than needed, an
``ldr.errors.ArgumentError`` states the number.
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
