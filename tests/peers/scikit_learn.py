"""Which of scikit-learn's files of tests are run, and which of their tests fail with ldr's classes.

``python -m tests.peers`` runs them. The lists are of scikit-learn 1.9.
"""

from dataclasses import dataclass

VERSION = "1.9"


@dataclass(frozen=True)
class File:
    """A file of tests, and the class that is put in the place of scikit-learn's.

    - module, name: where the class is imported from, and what it is called
    - tests: the file, as a module
    - expected: the names of tests that fail, or with a bracket the beginnings of those of their
      cases, and why
    """

    module: str
    name: str
    tests: str
    expected: dict[str, str]


MESSAGE = "the call is refused in other words"
NO_SOLVER = "there is no solver of scikit-learn's to choose, and so no call to refuse"
RANK = "more components than dimensions in which the data vary are refused, not zero"
MLE = "Minka's rule is not offered; n_components='auto' is by parallel analysis"
PRIVATE = "the test looks at a private attribute"
ITERATIONS = "steps that lead to a start, such as annealing, are not followed"

PCA = {
    "test_sparse_pca_solver_error": NO_SOLVER,
    "test_no_empty_slice_warning": RANK,
    "test_pca_zero_noise_variance_edge_cases": RANK,
    "test_n_components_none[data1-full": RANK,
    "test_n_components_none[data1-randomized": RANK,
    "test_n_components_none[data0-arpack": "arpack leaves a component out, and is not here",
    "test_n_components_mle": MLE,
    "test_n_components_mle_error": MLE,
    "test_pca_dim": MLE,
    "test_mle_redundant_data": MLE,
    "test_mle_simple_case": MLE,
    "test_fit_mle_too_few_samples": MLE,
    "test_pca_score": "score is minus the squared error of the reconstruction",
    "test_pca_score3": "n_components=0 is no projection",
    "test_pca_validation[arpack-0": MESSAGE,
    "test_pca_validation[arpack-2": NO_SOLVER,
    "test_pca_validation[randomized-0": MESSAGE,
    "test_pca_validation[auto-3": MESSAGE,
    "test_pca_svd_solver_auto": PRIVATE,
}
NCA = {
    "test_toy_example_collapse_points": PRIVATE,
    "test_finite_differences": PRIVATE,
    "test_params_validation": MESSAGE,
    "test_transformation_dimensions": "init is not looked at, and start= is its transpose",
    "test_n_components": "init is not looked at, and start= is its transpose",
    "test_init_transformation": "init is not looked at, and start= is its transpose",
    "test_verbose[pca": "init is not looked at, and no line speaks of it",
    "test_verbose[lda": "init is not looked at, and no line speaks of it",
    "test_callback": ITERATIONS,
    "test_convergence_warning": MESSAGE,
    "test_singleton_class": "classes of one sample each say nothing of neighbours, and are refused",
    "test_one_class": "a single class says nothing of neighbours, and is refused",
}
LDA = {
    "test_lda_predict": NO_SOLVER,
    "test_lda_transform": NO_SOLVER,
    "test_lda_orthogonality": "components have the scatter 1 within classes, scalings_ variance 1",
    "test_lda_dimension_warning": "more components than classes less one get a note, no error",
}
PLS = {
    "test_univariate_equivalence[PLSRegression]": "coefficients of one response are an array (d,)",
    "test_sanity_check_pls_regression": "scores have variance 1, and training scores are not kept",
    "test_copy[PLSRegression]": "data are never changed in place",
    "test_n_components_upper_bounds[PLSRegression": MESSAGE,
    "test_n_components_upper_PLSRegression": MESSAGE,
    "test_sanity_check_pls_regression_constant_column_y": "scores have variance 1",
    "test_pls_constant_y": "a constant response has a solution, and no warning",
    "test_pls_prediction[PLSRegression-": "predict has no copy=: data are never changed in place",
    "test_one_component_equivalence": "scores have variance 1, not the length of the weights",
}
ICA = {
    "test_fastica_simple": "sources come in an order and with signs of their own",
    "test_fastica_nowhiten": "samples are whitened in any case, so that no argument is ignored",
    "test_fastica_convergence_fail": "Newton's method converges, or says so in other words",
    "test_fastica_eigh_low_rank_warning": NO_SOLVER,
}
FA: dict[str, str] = {}

_DECOMPOSITION, _PLS = "sklearn.decomposition", "sklearn.cross_decomposition"
_LDA = "LinearDiscriminantAnalysis"
FILES = {
    "pca": File(_DECOMPOSITION, "PCA", f"{_DECOMPOSITION}.tests.test_pca", PCA),
    "nca": File(
        "sklearn.neighbors",
        "NeighborhoodComponentsAnalysis",
        "sklearn.neighbors.tests.test_nca",
        NCA,
    ),
    "lda": File(
        "sklearn.discriminant_analysis", _LDA, "sklearn.tests.test_discriminant_analysis", LDA
    ),
    "pls": File(_PLS, "PLSRegression", f"{_PLS}.tests.test_pls", PLS),
    "ica": File(_DECOMPOSITION, "FastICA", f"{_DECOMPOSITION}.tests.test_fastica", ICA),
    "fa": File(
        _DECOMPOSITION, "FactorAnalysis", f"{_DECOMPOSITION}.tests.test_factor_analysis", FA
    ),
}
