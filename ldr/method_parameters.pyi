from typing import Any, TypedDict

class MethodParameters(TypedDict, total=False):
    """The parameters of all methods, for type checkers; a test compares them with the registry."""

    algorithm: str
    alpha: float
    annealing: Any
    average: str
    centre: str
    contrast: str
    covariance_estimator: Any
    degree: int
    degrees: float
    derivatives: Any
    epsilon: float | None
    expert: str
    extreme: str
    family: str
    graph: Any
    heat: float | str | None
    heuristic: str
    hinge: str
    iterations: int
    lag: int
    landmarks: int | str | None
    least_noise: float
    loss: str
    mu: float
    neighbours: int
    nested: Any
    noise: Any
    of: Any
    orthonormalise: str
    penalty: float
    power: int
    rate: float
    reg: float
    regularisation: float
    response: str
    response_width: float | None
    ridge: float
    saturation: float
    segment: int | None
    shrinkage: float | str | None
    signal: Any
    skew: bool
    slices: int
    sphere: bool
    target: Any
    threshold: float | None
    unlabelled: Any
    weights: str
    whiten: bool
    width: float | None
    window: int
