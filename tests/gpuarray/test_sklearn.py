"""Estimators and metrics of scikit-learn run on our arrays by its own dispatch.

The judge is the same call with NumPy's arrays. What scikit-learn 1.9 says to support
the array API is here; nothing of it refuses us.
"""

import gpuarray
import numpy as np
import pytest
from gpuarray.errors import HostNotice
from sklearn import (
    calibration,
    config_context,
    decomposition,
    discriminant_analysis,
    kernel_approximation,
    linear_model,
    metrics,
    mixture,
    model_selection,
    naive_bayes,
    pipeline,
    preprocessing,
)
from sklearn.metrics import pairwise
from sklearn.utils.estimator_checks import check_array_api_input

pytestmark = pytest.mark.filterwarnings(
    f"ignore::gpuarray.errors.{HostNotice.__name__}"
)

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(60, 5))
Y = X @ [1, -2, 0.5, 0, 1] + RANDOM.normal(size=60)
NEAR = Y + RANDOM.normal(0, 0.1, 60)
POSITIVE = abs(Y) + 0.1
NEAR_POSITIVE = POSITIVE + abs(X[:, 0])
CLASSES = (Y > 0).astype(int) + (Y > 1.5)
OTHER_CLASSES = (CLASSES + (X[:, 0] > 1)) % 3
SIDES, OTHER_SIDES = (Y > 0).astype(int), (Y + X[:, 0] > 0.2).astype(int)
CHANCES = 1 / (1 + np.exp(-Y))
SHARES = RANDOM.dirichlet([1, 1, 1], 60)
RIDGE = linear_model.Ridge(solver="svd")
CLASSIFIER = linear_model.RidgeClassifier(solver="svd")

TRANSFORMERS = (
    preprocessing.StandardScaler(),
    preprocessing.MinMaxScaler(),
    preprocessing.MaxAbsScaler(),
    preprocessing.Normalizer(norm="l1"),
    preprocessing.Normalizer(norm="max"),
    preprocessing.Binarizer(threshold=0.3),
    preprocessing.PolynomialFeatures(3),
    kernel_approximation.Nystroem(n_components=5, random_state=0),
    decomposition.PCA(3, svd_solver="full"),
    decomposition.PCA(3, svd_solver="covariance_eigh", whiten=True),
    decomposition.PCA(
        3, svd_solver="randomized", power_iteration_normalizer="QR", random_state=0
    ),
    pipeline.make_union(preprocessing.StandardScaler(), preprocessing.MinMaxScaler()),
)
REGRESSORS = (
    RIDGE,
    linear_model.RidgeCV(),
    linear_model.PoissonRegressor(),
    pipeline.make_pipeline(preprocessing.StandardScaler(), RIDGE),
    model_selection.GridSearchCV(RIDGE, {"alpha": [0.1, 1.0, 10.0]}, cv=3),
)
CLASSIFIERS = (
    CLASSIFIER,
    linear_model.RidgeClassifierCV(),
    linear_model.LogisticRegression(solver="lbfgs"),
    discriminant_analysis.LinearDiscriminantAnalysis(),
    naive_bayes.GaussianNB(),
    calibration.CalibratedClassifierCV(CLASSIFIER, method="temperature", cv=3),
)
MIXTURES = tuple(
    mixture.GaussianMixture(
        2, covariance_type=kind, init_params="random_from_data", random_state=0
    )
    for kind in ("full", "tied", "diag", "spherical")
)
SCORES = (
    (
        (CLASSES, OTHER_CLASSES),
        """
        accuracy_score zero_one_loss hamming_loss confusion_matrix
        multilabel_confusion_matrix precision_recall_fscore_support
        balanced_accuracy_score cohen_kappa_score matthews_corrcoef
        """,
    ),
    (
        (SIDES, OTHER_SIDES),
        "f1_score precision_score recall_score jaccard_score class_likelihood_ratios",
    ),
    (
        (SIDES, CHANCES),
        """
        brier_score_loss d2_brier_score d2_log_loss_score roc_curve roc_auc_score
        precision_recall_curve average_precision_score det_curve
        """,
    ),
    ((CLASSES, SHARES), "log_loss"),
    (
        (Y, NEAR),
        """
        explained_variance_score max_error mean_absolute_error mean_squared_error
        mean_absolute_percentage_error mean_pinball_loss median_absolute_error r2_score
        root_mean_squared_error d2_absolute_error_score d2_pinball_score
        """,
    ),
    (
        (POSITIVE, NEAR_POSITIVE),
        """
        mean_gamma_deviance mean_poisson_deviance mean_squared_log_error
        mean_tweedie_deviance root_mean_squared_log_error d2_tweedie_score
        """,
    ),
)
SCORED = [(given, name) for given, names in SCORES for name in names.split()]
PAIRS = (
    ((abs(X), abs(X[:7])), "additive_chi2_kernel chi2_kernel"),
    (
        (X, X[:7]),
        """
        cosine_similarity cosine_distances euclidean_distances linear_kernel
        polynomial_kernel rbf_kernel sigmoid_kernel pairwise_distances pairwise_kernels
        laplacian_kernel manhattan_distances
        """,
    ),
    (
        (X, X[::-1]),
        """
        paired_cosine_distances paired_euclidean_distances paired_manhattan_distances
        """,
    ),
)
PAIRED = [(given, name) for given, names in PAIRS for name in names.split()]
OTHERS = {
    "labels": lambda to: preprocessing.LabelEncoder().fit_transform(to(3 * CLASSES)),
    "one of many": lambda to: preprocessing.LabelBinarizer().fit_transform(to(CLASSES)),
    "scale": lambda to: preprocessing.minmax_scale(to(X)),
    "centred kernel": lambda to: preprocessing.KernelCenterer().fit_transform(
        pairwise.rbf_kernel(to(X))
    ),
    "projection": lambda to: abs(  # no direction has a sign
        discriminant_analysis.LinearDiscriminantAnalysis().fit_transform(
            to(X), to(CLASSES)
        )
    ),
    "score of each class": lambda to: metrics.fbeta_score(
        to(CLASSES), to(OTHER_CLASSES), beta=2.0, average=None
    ),
    "score of each output": lambda to: metrics.r2_score(
        to(X), to(X + 1), multioutput="raw_values"
    ),
    "contingency": lambda to: metrics.cluster.contingency_matrix(
        to(CLASSES), to(SIDES)
    ),
    "prediction by parts": lambda to: model_selection.cross_val_predict(
        RIDGE, to(X), to(Y), cv=3
    ),
    "score by parts": lambda to: model_selection.cross_val_score(
        RIDGE, to(X), to(Y), cv=3
    ),
    "split": lambda to: model_selection.train_test_split(to(X), to(Y), random_state=0),
}


def kind(estimator):
    return type(estimator).__name__


def name_of(value):
    return value if isinstance(value, str) else ""


def assert_alike(context, program, rtol=1e-7):
    """The program gives the same with arrays of a context as with NumPy's."""
    expected = program(np.asarray)
    with config_context(array_api_dispatch=True):
        got = program(lambda host: gpuarray.asarray(host, context=context))
    if not isinstance(expected, list | tuple):
        got, expected = [got], [expected]
    pairs = zip(got, expected, strict=True)
    for host, other in ((np.asarray(a), np.asarray(b)) for a, b in pairs):
        assert (host.shape, host.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(host, other, rtol, rtol)
    return got


def assert_here(context, array):
    assert isinstance(array, gpuarray.Array)
    assert array.context is context


@pytest.mark.parametrize("estimator", TRANSFORMERS, ids=kind)
def test_transformers(context, estimator):
    (got,) = assert_alike(context, lambda to: estimator.fit_transform(to(X)))
    assert_here(context, got)


@pytest.mark.parametrize("estimator", REGRESSORS, ids=kind)
def test_regressors(context, estimator):
    def program(to):
        return estimator.fit(to(X), to(POSITIVE)).predict(to(X))

    (got,) = assert_alike(context, program)
    assert_here(context, got)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=kind)
def test_classifiers(context, estimator):
    def program(to):
        made = estimator.fit(to(X), to(CLASSES))
        sure = hasattr(made, "predict_proba")
        named = "predict_proba" if sure else "decision_function"
        return made.predict(to(X)), getattr(made, named)(to(X))

    for got in assert_alike(context, program):
        assert_here(context, got)


@pytest.mark.parametrize("estimator", MIXTURES, ids=kind)
def test_mixtures(context, estimator):
    def program(to):
        return estimator.fit(to(X)).predict_proba(to(X))

    (got,) = assert_alike(context, program)
    assert_here(context, got)


@pytest.mark.parametrize(("given", "name"), SCORED, ids=name_of)
def test_scores(context, given, name):
    assert_alike(context, lambda to: getattr(metrics, name)(*map(to, given)))


@pytest.mark.parametrize(("given", "name"), PAIRED, ids=name_of)
def test_pairwise_metrics(context, given, name):
    program = getattr(pairwise, name)
    (got,) = assert_alike(context, lambda to: program(*map(to, given)))
    assert_here(context, got)


@pytest.mark.parametrize("name", OTHERS)
def test_other_tools(context, name):
    assert_alike(context, OTHERS[name])


def test_what_is_given_beside_the_samples_is_moved_to_them(first_context):
    with config_context(array_api_dispatch=True):
        samples = gpuarray.asarray(X, context=first_context)
        made = linear_model.Ridge(solver="svd").fit(samples, Y, sample_weight=POSITIVE)
        assert_here(first_context, made.predict(samples))
    alone = linear_model.Ridge(solver="svd").fit(X, Y, sample_weight=POSITIVE)
    np.testing.assert_allclose(made.coef_, alone.coef_, 1e-7)


@pytest.mark.parametrize(
    "estimator",
    (preprocessing.StandardScaler(), RIDGE, decomposition.PCA(3), CLASSIFIER),
    ids=kind,
)
def test_scikit_learns_own_check(first_context, estimator):
    with first_context.as_default():
        check_array_api_input(kind(estimator), estimator, "gpuarray", check_values=True)
