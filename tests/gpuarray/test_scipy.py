"""Functions of SciPy run on our arrays by its own dispatch, with NumPy's as the judge.

SciPy makes its constants on the default device, so the arrays' context is made that.
"""

import gpuarray
import numpy as np
import pytest
from gpuarray.errors import HostNotice
from scipy import (
    cluster,
    constants,
    differentiate,
    fft,
    integrate,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    spatial,
    special,
    stats,
)
from scipy.optimize import elementwise

pytestmark = pytest.mark.filterwarnings(
    f"ignore::gpuarray.errors.{HostNotice.__name__}"
)

RANDOM = np.random.default_rng(5)
X, Y = RANDOM.normal(size=(2, 6, 20))
P = RANDOM.uniform(0.1, 0.9, (6, 20))
W = RANDOM.uniform(0.5, 2, (6, 20))
COUNTS = RANDOM.integers(1, 9, (6, 20)).astype(float)
POINTS = RANDOM.normal(size=(40, 3))
APART = spatial.distance.pdist(POINTS)
TREE = cluster.hierarchy.linkage(APART, "average")
IMAGE = RANDOM.normal(size=(12, 13))
FILTER = signal.butter(3, 0.2)
SECTIONS = signal.butter(4, 0.2, output="sos")
ALONG = {"axis": 1}


def of(modules, names, *given, **options):
    """One case for each name: its function called with host arrays moved by ``to``."""

    def case(name):
        function = getattr(modules, name)
        return lambda to: function(*(moved(to, one) for one in given), **options)

    prefix = modules.__name__.removeprefix("scipy.")
    return {f"{prefix}.{name}": case(name) for name in names.split()}


def moved(to, value):
    return to(value) if isinstance(value, np.ndarray) else value


def exp(x):
    return x.__array_namespace__().exp(x)


def mean(x, axis):
    return x.__array_namespace__().mean(x, axis=axis)


CASES = {
    **of(special, "log_ndtr ndtr ndtri erf erfc i0 i0e i1 i1e gammaln psi", P),
    **of(special, "expit logit entr sinc", P),
    **of(special, "gammainc gammaincc betaln binom xlogy rel_entr kl_div", W, P),
    **of(special, "stdtr chdtr chdtrc xlog1py poch", W, P),
    **of(special, "betainc betaincc", W, W + 1, P),
    **of(special, "logsumexp softmax log_softmax", X, axis=1),
    **of(special, "multigammaln", W + 3, 2),
    **of(stats, "describe gmean hmean skew kurtosis moment variation sem", P, **ALONG),
    **of(stats, "zscore gstd iqr mode tmean tvar tstd tmin tmax tsem", P, **ALONG),
    **of(stats, "skewtest kurtosistest normaltest jarque_bera entropy", P, **ALONG),
    **of(stats, "circmean circvar circstd median_abs_deviation", P, **ALONG),
    **of(stats, "differential_entropy rankdata lmoment", P, **ALONG),
    **of(stats, "false_discovery_control", P, **ALONG),
    **of(stats, "ttest_1samp", X, 0.5, **ALONG),
    **of(stats, "trim_mean", X, 0.1, **ALONG),
    **of(stats, "kstat kstatvar", X, 2, **ALONG),
    **of(stats, "ttest_ind ttest_rel pearsonr mannwhitneyu", X, Y, **ALONG),
    **of(stats, "levene bartlett f_oneway kruskal ansari wilcoxon", X, Y, **ALONG),
    **of(stats, "brunnermunzel fligner alexandergovern", X, Y, **ALONG),
    **of(stats, "chatterjeexi zmap", X, Y),
    **of(stats, "friedmanchisquare", X[0], Y[0], W[0]),
    **of(stats, "chisquare power_divergence", COUNTS, **ALONG),
    **of(stats, "quantile", X, np.array([[0.1, 0.5, 0.9]]), **ALONG),
    **of(stats, "directional_stats", X),
    **of(cluster.vq, "whiten", POINTS),
    **of(cluster.vq, "vq kmeans", POINTS, POINTS[:5]),
    **of(cluster.hierarchy, "single complete average weighted", APART),
    **of(cluster.hierarchy, "linkage", POINTS, "ward"),
    **of(cluster.hierarchy, "cophenet maxdists leaves_list inconsistent", TREE),
    **of(cluster.hierarchy, "is_monotonic to_mlab_linkage", TREE),
    **of(cluster.hierarchy, "fcluster", TREE, 0.8),
    **of(cluster.hierarchy, "cut_tree", TREE, 3),
    **of(fft, "fft ifft rfft irfft hfft ihfft fft2 rfft2 fftn ifftn rfftn irfftn", X),
    **of(fft, "hfftn ihfftn dct idct dst idst dctn dstn fftshift", X),
    **of(fft, "fht ifht", X[0], 0.1, 0.5),
    **of(signal, "fftconvolve oaconvolve", X, X[:3, :4]),
    **of(signal, "convolve correlate", X[0], X[1, :4], method="direct"),
    **of(signal, "hilbert hilbert2 detrend wiener envelope", X),
    **of(signal, "resample_poly", X[0], 3, 2),
    **of(signal, "resample", X[0], 33),
    **of(signal, "lfilter filtfilt", *FILTER, X),
    **of(signal, "sosfilt", SECTIONS, X),
    **of(signal, "savgol_filter", X, 5, 2),
    **of(signal, "medfilt", X[0], 3),
    **of(signal, "freqz", *FILTER, worN=16),
    **of(signal, "upfirdn", X[0, :3], X[1], 2, 1),
    **of(ndimage, "gaussian_filter uniform_filter median_filter", IMAGE, 3),
    **of(ndimage, "sobel laplace spline_filter center_of_mass", IMAGE),
    **of(ndimage, "zoom rotate shift", IMAGE, 1.5),
    **of(ndimage, "binary_dilation distance_transform_edt", (IMAGE > 0).astype(int)),
    **of(integrate, "trapezoid cumulative_trapezoid cumulative_simpson", X),
    **of(integrate, "romb", X[:, :17]),
    **of(constants, "convert_temperature", X, "C", "K"),
    **of(constants, "lambda2nu nu2lambda", P),
    **of(optimize, "rosen rosen_der rosen_hess", X[0]),
    "integrate.tanhsinh": lambda to: (
        integrate.tanhsinh(lambda x: x**2, to(np.zeros(3)), to(W[0, :3])).integral
    ),
    "integrate.cubature": lambda to: (
        (
            integrate.cubature(lambda x: exp(x)[:, 0], to(np.zeros(2)), to(W[0, :2]))
        ).estimate
    ),
    "integrate.nsum": lambda to: (
        (
            integrate.nsum(lambda k: 1 / k**2, to(np.ones(2)), to(np.array([50.0, 60])))
        ).sum
    ),
    "differentiate.derivative": lambda to: differentiate.derivative(exp, to(P[0])).df,
    "differentiate.jacobian": lambda to: (
        differentiate.jacobian(lambda x: exp(x) * x[0], to(W[0, :3])).df
    ),
    "differentiate.hessian": lambda to: (
        differentiate.hessian(lambda x: x[0] ** 2 * x[1], to(W[0, :2])).ddf
    ),
    "optimize.find_root": lambda to: (
        elementwise.find_root(
            lambda x, c: x**3 - c,
            (to(np.zeros(4)), to(W[0, :4] + 2)),
            args=(to(W[1, :4]),),
        ).x
    ),
    "optimize.find_minimum": lambda to: (
        elementwise.find_minimum(
            lambda x, c: (x - c) ** 2,
            (to(np.zeros(4)), to(np.ones(4)), to(np.full(4, 9.0))),
            args=(to(W[1, :4]),),
        ).x
    ),
    "optimize.bracket_root": lambda to: (
        elementwise.bracket_root(lambda x: x - 9, to(np.zeros(4))).bracket
    ),
    "stats.bootstrap": lambda to: (
        stats.bootstrap(
            (to(X[0]),), mean, n_resamples=50, rng=np.random.default_rng(1)
        ).standard_error
    ),
    "stats.permutation_test": lambda to: (
        stats.permutation_test(
            (to(X[0]), to(Y[0])),
            lambda a, b, axis: mean(a, axis) - mean(b, axis),
            n_resamples=50,
            vectorized=True,
            rng=np.random.default_rng(1),
        ).pvalue
    ),
    "spatial.Rotation": lambda to: spatial.transform.Rotation.from_rotvec(
        to(X[:5, :3])
    ).apply(to(Y[:5, :3])),
    "interpolate.akima": lambda to: interpolate.Akima1DInterpolator(
        to(np.arange(20.0)), to(X[0])
    )(to(P[0])),
    "interpolate.pchip": lambda to: interpolate.PchipInterpolator(
        to(np.arange(20.0)), to(X[0])
    )(to(P[0])),
    "interpolate.spline": lambda to: interpolate.make_interp_spline(
        to(np.arange(20.0)), to(X[0])
    )(to(P[0])),
    "interpolate.grid": lambda to: interpolate.RegularGridInterpolator(
        (to(np.arange(6.0)), to(np.arange(20.0))), to(X)
    )(to(P[:, :2])),
}
MATRIX = X[:, :6] + 5 * np.eye(6)
ON_THE_HOST = {
    **of(linalg, "inv det expm pinv svdvals cholesky norm", MATRIX @ MATRIX.T),
    **of(linalg, "solve", MATRIX, Y[:, 0]),
    **of(integrate, "simpson", X),
    **of(signal, "periodogram", X),
}


def results(given):
    """The arrays of a result: of tuples, and of SciPy's own classes of results."""
    for names in (("statistic", "pvalue"), ("mean_direction",)):
        if hasattr(given, names[0]):
            return [one for name in names for one in results(getattr(given, name))]
    if isinstance(given, list | tuple):
        return [one for part in given for one in results(part)]
    return [given]


def assert_alike(context, program):
    expected = results(program(np.asarray))
    with context.as_default():
        got = results(program(lambda host: gpuarray.asarray(host, context=context)))
    for one, other in zip(got, expected, strict=True):
        host, other = np.asarray(one), np.asarray(other)
        assert (host.shape, host.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(host, other, 1e-7, 1e-9)
    return got


@pytest.mark.parametrize("name", CASES)
def test_functions_that_scipy_dispatches(context, name):
    for result in assert_alike(context, CASES[name]):
        assert isinstance(result, gpuarray.Array | int)
        assert getattr(result, "context", context) is context


@pytest.mark.parametrize("name", ON_THE_HOST)
def test_functions_that_scipy_has_for_numpy_alone(first_context, name):
    """It turns what it is given into NumPy's arrays, as it does with any other.

    Later versions of it dispatch some of them.
    """
    for result in assert_alike(first_context, ON_THE_HOST[name]):
        assert isinstance(result, np.ndarray | np.generic | gpuarray.Array)
