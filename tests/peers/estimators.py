"""Estimators of ldr with the constructors of scikit-learn's.

They translate names of parameters. Parameters that choose an algorithm of scikit-learn's are kept,
as `clone` and `get_params` want it, and not looked at.
"""

import ldr


class PCA(ldr.PCA):
    def __init__(
        self,
        n_components=None,
        *,
        copy=True,
        whiten=False,
        svd_solver="auto",
        tol=0.0,
        iterated_power="auto",
        n_oversamples=10,
        power_iteration_normalizer="auto",
        random_state=None,
    ):
        super().__init__(n_components, whiten=whiten, random_state=random_state)
        self.copy, self.svd_solver, self.tol = copy, svd_solver, tol
        self.iterated_power, self.n_oversamples = iterated_power, n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer


class Iterated:
    """An estimator whose `max_iterations` scikit-learn calls `max_iter`."""

    @property
    def max_iter(self):
        return self.max_iterations

    @max_iter.setter
    def max_iter(self, count):
        self.max_iterations = count


class NeighborhoodComponentsAnalysis(Iterated, ldr.NCA):
    def __init__(
        self,
        n_components=None,
        *,
        init="auto",
        warm_start=False,
        max_iter=50,
        tol=1e-5,
        callback=None,
        verbose=0,
        random_state=None,
    ):
        super().__init__(
            n_components,
            max_iterations=max_iter,
            warm_start=warm_start,
            verbose=bool(verbose),
            random_state=random_state,
        )
        self.init, self.callback, self.tol = init, callback, tol

    def _solve(self, *given, **beside):
        if self.callback is not None:  # of theirs, of the map as a vector and the iteration
            self.observers = [lambda seen: self.callback(seen.M.T.ravel(), seen.number)]
        return super()._solve(*given, **beside)


class LinearDiscriminantAnalysis(ldr.LDA):
    def __init__(
        self,
        solver="svd",
        shrinkage=None,
        priors=None,
        n_components=None,
        store_covariance=False,
        tol=1e-4,
        covariance_estimator=None,
    ):
        super().__init__(
            n_components,
            shrinkage=shrinkage,
            covariance_estimator=covariance_estimator,
            priors=priors,
            store_covariance=store_covariance or solver != "svd",  # the other two always do
        )
        self.tol = tol


class FactorAnalysis(Iterated, ldr.FactorAnalysis):
    def __init__(
        self,
        n_components=None,
        *,
        tol=1e-2,
        copy=True,
        max_iter=1000,
        noise_variance_init=None,
        svd_method="randomized",
        iterated_power=3,
        rotation=None,
        random_state=0,
    ):
        super().__init__(
            n_components, max_iterations=max_iter, rotation=rotation, random_state=random_state
        )
        self.tol, self.copy = tol, copy
        self.noise_variance_init, self.svd_method = noise_variance_init, svd_method
        self.iterated_power = iterated_power


class FastICA(ldr.ICA):
    def __init__(
        self,
        n_components=None,
        *,
        algorithm="parallel",
        whiten="unit-variance",
        fun="logcosh",
        fun_args=None,
        max_iter=200,
        tol=1e-4,
        w_init=None,
        whiten_solver="svd",
        random_state=None,
    ):
        # scikit-learn's takes no n_components where the samples are white already
        super().__init__(n_components if whiten else None, random_state=random_state)
        self.algorithm, self.whiten, self.fun, self.fun_args = algorithm, whiten, fun, fun_args
        self.max_iter, self.tol, self.w_init = max_iter, tol, w_init
        self.whiten_solver = whiten_solver


class PLSRegression(ldr.PLSRegression):
    def __init__(self, n_components=2, *, scale=True, max_iter=500, tol=1e-6, copy=True):
        super().__init__(n_components, standardise=scale)
        self.scale, self.max_iter, self.tol, self.copy = scale, max_iter, tol, copy
