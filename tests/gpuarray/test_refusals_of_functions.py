"""What functions of arrays refuse: the class of each error and a fact of its text.

Where NumPy has the function, it refuses the call, too.
"""

import numpy as np
import pytest
from calls import label, numpys, ours
from gpuarray.errors import (
    BadIndex,
    BadType,
    BadValue,
    LinAlgError,
    TooLarge,
    Unsupported,
)

pytestmark = pytest.mark.filterwarnings("ignore::gpuarray.errors.HostNotice")

V = np.arange(5.0)
M = np.arange(15.0).reshape(3, 5)
A = np.arange(24.0).reshape(2, 3, 4)
SQUARE = np.eye(3)
NONE = np.zeros(0)
NUMBER = np.array(2.0)
COMPLEX = V + 1j
INVERTED = {"method": "inverted_cdf"}

REFUSED = [
    # ---- views ----
    (BadIndex, "start 5 is out of bounds for 2 axes", "rollaxis", M, 0, 5),
    (BadIndex, "start -3 is out of bounds for 2 axes", "rollaxis", M, 0, -3),
    (BadIndex, "rollaxis: axis 2 is out of bounds", "rollaxis", M, 2),
    (BadIndex, "swapaxes: axis -3 is out", "swapaxes", M, 0, -3),
    (BadIndex, "swapaxes: axis 2 is out", "swapaxes", M, 2, 0),
    (BadValue, "moveaxis: 2 axes for 1 places", "moveaxis", A, (0, 1), 2),
    (BadValue, r"an axis is given twice in \(0, -3\)", "moveaxis", A, (0, -3), (0, 1)),
    (BadValue, r"an axis is given twice in \(1, 1\)", "expand_dims", A, (1, 1)),
    (BadIndex, "axis 4 is out of bounds for 4 dim", "expand_dims", A, 4),
    (BadValue, r"axis 1 of shape \(3, 5\) has length 5", "squeeze", M, -1),
    (BadValue, r"shape \(5,\), expected 2 axes", "fliplr", V),
    (BadValue, "flipud: a 0-d array", "flipud", NUMBER),
    (BadValue, "twice", "flip", M, (0, -2)),
    (BadValue, r"axes is \(0,\), expected 2 axes", "rot90", M, 1, (0,)),
    (BadValue, "twice", "rot90", M, 1, (0, 0)),
    (BadValue, r"\(3,\), \(2,\) do not broadcast", "broadcast_shapes", (3,), (2,)),
    (TooLarge, "too large", "broadcast_shapes", (2**40, 1), (2**40,)),
    (BadValue, r"shape \(5,\) has no two axes", "diagonal", V),
    (BadValue, "axis1 and axis2 are both 1", "diagonal", M, 0, 1, -1),
    (BadType, "offset 1.0 is not an integer", "diagonal", M, 1.0),
    # ---- pads ----
    (BadValue, "mode is 'none', expected one of .'constant'", "pad", V, 1, "none"),
    (BadValue, r"'edge' takes no \['stat_length'\]", "pad", V, 1, "edge",
     {"stat_length": 1}),
    (BadValue, r"'mean' takes no \['constant_values'\]", "pad", V, 1, "mean",
     {"constant_values": 1}),
    (BadType, "pad_width of float64", "pad", V, 1.0),
    (BadValue, "negative", "pad", V, (0, -1)),
    (BadValue, "each of 2 axes", "pad", M, (1, 2, 3)),
    (BadValue, "axis 0 has no elements to take for 'edge'", "pad", NONE, 1, "edge"),
    (BadValue, "axis 1 has no edge", "pad", M[:, :0], 1, "linear_ramp"),
    (BadValue, "axis 0 has no elements for the mode 'mean'", "pad", NONE, 1, "mean"),
    # ---- differences, lines, averages ----
    (BadValue, "edge_order is 3, expected 1 or 2", "gradient", V, {"edge_order": 3}),
    (BadValue, "axis 0 has 2 elements, expected 3 or", "gradient", V[:2],
     {"edge_order": 2}),
    (BadValue, "axis 1 has 1 elements, expected 2 or", "gradient", M[:, :1]),
    (BadType, "3 distances for 2 axes", "gradient", M, 1, 2, 3),
    (BadValue, "4 coordinates along axis 1 of length 5", "gradient", M, V[:3], V[:4]),
    (BadValue, "numbers or coordinates of one axis", "gradient", M, M, 1.0),
    (BadValue, r"shapes \(5,\) and \(3,\)", "interp", V, V, V[:3]),
    (BadValue, r"shapes \(3, 5\) and \(3, 5\)", "interp", V, M, M),
    (BadValue, "not empty", "interp", V, NONE, NONE),
    (BadType, "on no line", "interp", COMPLEX, V, V),
    (BadType, "on no line", "interp", V, COMPLEX, V),
    (BadValue, "the period is 0", "interp", V, V, V, {"period": 0}),
    (BadValue, r"convolve: shape \(3, 5\), expected a vector", "convolve", M, V),
    (BadValue, r"correlate: shape \(3, 5\), expected a vector", "correlate", V, M),
    (BadValue, "a vector is empty", "convolve", V, NONE),
    (BadValue, "mode 'wide', expected 'full', 'same'", "convolve", V, V, "wide"),
    (BadType, r"weights of shape \(5,\) for an array of shape \(3, 5\) need an axis",
     "average", M, {"weights": V}),
    (BadValue, r"weights of shape \(5,\) do not fit the axes \(0,\)", "average", M, 0,
     V),
    (BadValue, "ddof is 0.5, expected an integer", "cov", M, {"ddof": 0.5}),
    (BadValue, r"shape \(2, 3, 4\), expected at most 2", "cov", A),
    (BadValue, r"shape \(2, 3, 4\), expected at most 2", "cov", M, A),
    (BadValue, r"weights of shape \(3,\) for 5 samples", "cov", M, {"aweights": V[:3]}),
    (BadValue, r"weights of shape \(4,\) for 5 samples", "cov", M,
     {"fweights": np.arange(4)}),
    # ---- products ----
    (BadValue, r"shapes \(3, 5\) and \(3,\) do not fit", "inner", M, V[:3]),
    (BadValue, r"shapes \(3, 5\) and \(5,\), expected two vectors", "linalg.outer", M,
     V),
    (BadValue, r"shapes \(5,\) and \(3, 5\), expected two", "linalg.outer", V, M),
    (BadValue, r"matvec: shapes \(5,\) and \(5,\), expected mat", "matvec", V, V),
    (BadValue, r"matvec: shapes \(3, 5\) and \(\), expected mat", "matvec", M, NUMBER),
    (BadValue, r"\(3, 5\) and vectors of shape \(3,\) do not fit: 5 against 3",
     "matvec", M, V[:3]),
    (BadValue, "vecmat: .* do not fit: 3 against 5", "vecmat", V, M),
    (BadValue, "got 1 arrays, expected at least 2", "linalg.multi_dot", [M]),
    (LinAlgError, r"shape \(2, 3, 4\), expected 2 axes", "linalg.multi_dot", [M, A]),
    (BadValue, "vectors of 5 elements, expected 3, or 2", "cross", V, V),
    (BadValue, "vectors of 4 elements", "cross", V[:3], V[:4]),
    # ---- grids ----
    (BadValue, "indexing is 'yx'", "meshgrid", V, V, {"indexing": "yx"}),
    (BadValue, r"a sequence of shape \(3, 5\), expected a vector", "ix_", M),
    (BadValue, "tril: a 0-d array is no matrix", "tril", NUMBER),
    (BadValue, r"diag: shape \(2, 3, 4\)", "diag", A),
    (BadValue, r"vander: shape \(3, 5\), expected a vector", "vander", M),
    (BadValue, "N is -1, expected 0 or more", "vander", V, -1),
    (BadValue, r"tril_indices_from: got an array of shape \(5,\)", "tril_indices_from",
     V),
    (BadValue, r"triu_indices_from: .* \(2, 3, 4\)", "triu_indices_from", A),
    (BadValue, r"got shape \(3, 5\), expected two or more", "diag_indices_from", M),
    (BadValue, r"got shape \(5,\), expected two or more", "diag_indices_from", V),
    # ---- nan left out ----
    (BadValue, "nanargmax: there are slices of nothing", "nanargmax", M * np.nan, 1),
    (BadValue, "nanargmin: there are slices of nothing", "nanargmin", V * np.nan),
    (BadType, "a mean of float64 is not stored as int32", "nanmean", M,
     {"dtype": "int32"}),
    (BadType, "got 1j, expected real numbers", "nan_to_num", V, {"nan": 1j}),
    (BadType, "got complex128, expected real", "nan_to_num", V, {"posinf": COMPLEX}),
    (BadValue, "broadcast: .* 2, expected 1 or 5", "nan_to_num", V,
     {"nan": [1.0, 2.0]}),
    (BadValue, "broadcast: got 1 axes", "nan_to_num", V, {"nan": M}),
    # ---- norms and least squares ----
    (BadValue, "order 'fro' is none of a vector's", "linalg.norm", V, "fro"),
    (BadValue, "order 3 is none of a matrix's; expected 1, -1, 2", "linalg.norm", M, 3),
    (BadValue, "order 0 is none of a matrix's", "linalg.norm", M, 0),
    (BadValue, "over 3 axes, expected 1", "linalg.norm", A, 2),
    (BadValue, "over 3 axes, expected 1", "linalg.norm", A, None, (0, 1, 2)),
    (BadValue, "twice", "linalg.norm", A, None, (0, -3)),
    (BadValue, r"matrix_norm: an array of shape \(5,\)", "linalg.matrix_norm", V),
    (LinAlgError, "not defined for matrices without", "linalg.cond", M[:, :0]),
    (LinAlgError, "square", "linalg.cond", M, 1),
    (BadValue, "one of tol and rtol", "linalg.matrix_rank", M, 1.0, {"rtol": 0.1}),
    (BadValue, "one of rcond and rtol", "linalg.pinv", M, 1.0, {"rtol": 0.1}),
    (LinAlgError, r"shapes \(2, 3, 4\) and \(5,\)", "linalg.lstsq", A, V),
    (LinAlgError, r"shapes \(3, 5\) and \(\)", "linalg.lstsq", M, NUMBER),
    (LinAlgError, r"3 equations, but b has shape \(5,\)", "linalg.lstsq", M, V),
    (LinAlgError, r"shape \(5,\), expected square", "linalg.matrix_power", V, 2),
    (LinAlgError, r"shape \(3, 5\), expected square", "linalg.matrix_power", M, 2),
    (BadType, "n is 0.5, expected an integer", "linalg.matrix_power", SQUARE, 0.5),
    (LinAlgError, "the power -2 is one of the inverse", "linalg.matrix_power",
     0 * SQUARE, -2),
    (LinAlgError, "3 equations for 5 unknowns", "linalg.tensorsolve", M, V[:3]),
    (BadValue, "ind is 0, expected a positive", "linalg.tensorinv", SQUARE, 0),
    (LinAlgError, r"shape \(3, 5\) is no square .* first 1 ", "linalg.tensorinv", M, 1),
    # ---- quantiles ----
    (BadType, r"quantile: elements of complex128", "quantile", COMPLEX, 0.5),
    (BadType, "percentile: elements of bool", "percentile", V > 1, 50),
    (BadType, "q of complex128, expected real", "quantile", V, 0.5j),
    (BadValue, "expected numbers from 0 to 1", "quantile", V, 1.001),
    (BadValue, "expected numbers from 0 to 1", "quantile", V, [0.5, -0.001]),
    (BadValue, "expected numbers from 0 to 100", "percentile", V, 101),
    (BadValue, "expected numbers from 0 to 1", "quantile", V, np.nan),
    (BadIndex, "no element to take", "quantile", NONE, 0.5),
    (BadValue, "method 'middle', expected one of linear, lower", "quantile", V, 0.5,
     {"method": "middle"}),
    (BadValue, "weights and the method 'linear'", "quantile", V, 0.5, {"weights": V}),
    (BadValue, "quantile: a weight is negative", "quantile", V, 0.5,
     {"weights": V - 1, **INVERTED}),
    (BadType, r"weights have shape \(5,\), the array has \(3, 5\)", "quantile", M, 0.5,
     {"weights": V, **INVERTED}),
    (BadValue, r"weights have shape \(5,\), expected \(3,\) or \(3, 5\)", "quantile", M,
     0.5, 0, {"weights": V, **INVERTED}),
    (BadValue, r"the axes \(0, 1\) are reduced for each of no rows", "median",
     np.zeros((3, 2, 0)), (0, 1)),
    # ---- polynomials ----
    (BadValue, "deg is -1, expected 0 or more", "polyfit", V, V, -1),
    (BadType, r"x has shape \(3, 5\), y \(5,\)", "polyfit", M, V, 1),
    (BadType, r"y \(2, 3, 4\)", "polyfit", V[:2], A, 1),
    (BadType, "not empty", "polyfit", NONE, NONE, 1),
    (BadType, "x has 5 elements, y has 3", "polyfit", V, V[:3], 1),
    (BadType, r"w has shape \(3,\), expected \(5,\)", "polyfit", V, V, 1, {"w": V[:3]}),
    (BadValue, "2 points leave no freedom", "polyfit", V[:2], V[:2], 1, {"cov": True}),
]  # fmt: skip

OURS_ALONE = [  # which NumPy takes
    (BadValue, "at least 1", "pad", V, 1, "mean", {"stat_length": 0}),
    (BadValue, "reflect_type is 'up', expected 'even'", "pad", V, 1, "reflect",
     {"reflect_type": "up"}),
    (BadValue, "edge_order is 0", "gradient", V, {"edge_order": 0}),
    (BadType, "nanquantile: elements of bool", "nanquantile", V[:0] > 1, 0.5),
    (Unsupported, "reflect_type 'odd' is not offered", "pad", V, 1, "reflect",
     {"reflect_type": "odd"}),
    (BadType, "complex weights of real points", "polyfit", V, V, 1, {"w": COMPLEX}),
    (BadType, "complex weights of real points", "polyfit", COMPLEX, V, 1,
     {"w": COMPLEX}),
]  # fmt: skip


@pytest.mark.parametrize("case", REFUSED + OURS_ALONE, ids=lambda case: label(case[2:]))
def test_a_call_is_refused(first_context, case):
    kind, fact, *call = case
    with pytest.raises(kind, match=fact) as caught:
        ours(call, first_context)
    assert type(caught.value) is kind


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: label(case[2:]))
def test_numpy_refuses_it_as_well(case):
    with pytest.raises(Exception):  # noqa: B017
        numpys(case[2:])
