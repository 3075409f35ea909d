"""Arguments of a wrong kind: told by the function's name before anything runs.

The null device runs no kernel, so each of these is refused by the host.
"""

import gpuarray
import numpy as np
import pytest
from gpuarray.errors import (
    BadArgument,
    BadType,
    BadValue,
    GpuArrayError,
    TooLarge,
)

RAGGED = [[1], [2, 3]]
M = np.ones((4, 4), np.float32)
V = np.ones(4, np.float32)
PLACES = np.arange(4)

INTEGERS = [  # the function, its arguments before the integer, the integer's name
    ("array", (M,), "ndmin"),
    ("around", (M,), "decimals"),
    ("diag", (V,), "k"),
    ("diag_indices", (2,), "ndim"),
    ("diff", (V,), "n"),
    ("linalg.tensorinv", (M,), "ind"),
    ("polyfit", (V, V), "deg"),
    ("rollaxis", (M, 0), "start"),
    ("rot90", (M,), "k"),
    ("topk", (M,), "k"),
    ("tri", (2, 2), "k"),
    ("tril", (M,), "k"),
    ("tril_indices", (2,), "k"),
    ("triu_indices", (2, 0), "m"),
    ("vander", (V,), "N"),
]
FLAGS = [
    ("sum", (M,), "keepdims"),
    ("std", (M,), "keepdims"),
    ("sort", (M,), "descending"),
    ("argsort", (M,), "descending"),
    ("sort_pairs", (M, M), "descending"),
    ("topk", (M, 2), "largest"),
]
OTHERS = [  # class, a fact of the text, the function, its arguments, options last
    (BadType, "reshape: shape is <object", "reshape", M, object()),
    (BadType, "transpose: axes is <object", "transpose", M, object()),
    (BadType, "rot90: axes is 1.5, expected a sequence", "rot90", M, 1, 1.5),
    (BadType, "argsort: axis array", "argsort", M, np.zeros(3)),
    (TooLarge, "zeros: length 1000000000000000000000", "zeros", 10**24),
    (TooLarge, "reshape: length 1000000000000000000000", "reshape", M, (10**24,)),
    (TooLarge, "fft: n is 1000000000000000000000", "fft.fft", V, 10**24),
    (BadType, "fftn: s is 1.5, expected a sequence", "fft.fftn", M, 1.5),
    (BadType, "fft2: axes is 1.5, expected a sequence", "fft.fft2", M, None, 1.5),
    (BadType, "fftfreq: d is 'x', expected a real number", "fft.fftfreq", 4, "x"),
    (BadValue, "ndim: a: .*inhomogeneous", "ndim", RAGGED),
    (BadValue, "put: indices: .*inhomogeneous", "put", M, RAGGED, 1),
    (BadValue, "pad: pad_width: .*inhomogeneous", "pad", M, RAGGED),
    (BadValue, "repeat: repeats: .*inhomogeneous", "repeat", V, RAGGED),
    (BadValue, "append: values: .*inhomogeneous", "append", M, RAGGED),
    (BadValue, "isin: values: .*inhomogeneous", "isin", V, RAGGED),
    (BadValue, "linspace: .*inhomogeneous", "linspace", RAGGED, V),
    (BadValue, "partition: kth: .*inhomogeneous", "partition", V, RAGGED),
    (BadValue, "take: got mode .'raise'", "take", M, PLACES, None, None, ["raise"]),
    (BadValue, "pad: mode is .'edge'", "pad", M, 1, ["edge"]),
    (BadValue, "quantile: got method .'linear'", "quantile", V, 0.5,
     {"method": ["linear"]}),
    (BadArgument, "add: casting is 'wide', expected one of 'no'", "add", M, M,
     {"casting": "wide"}),
    (BadArgument, "add: casting is .'safe'", "add", M, M, {"casting": ["safe"]}),
    (BadArgument, "copyto: casting is 'wide'", "copyto", M, V,
     {"casting": "wide"}),
    (BadType, "apply_along_axis: func1d is 'sum'", "apply_along_axis", "sum", 0, M),
    (BadType, "apply_over_axes: func is 'sum'", "apply_over_axes", "sum", M, 0),
    (BadType, "fromfunction: function is 'sum'", "fromfunction", "sum", (2, 2)),
    (BadType, "mask_indices: mask_func is 'triu'", "mask_indices", 2, "triu"),
    (BadType, "std: ddof is 'x', expected a real number", "std", M, {"ddof": "x"}),
    (BadType, "std: got str, expected a gpuarray", "std", M, {"mean": "x"}),
    (BadType, "cov: ddof is 'x', expected a real number", "cov", M, {"ddof": "x"}),
    (BadType, "clip: out: got str", "clip", M, None, None, "x"),
    (BadType, "lexsort: keys is 1.5, expected a sequence", "lexsort", 1.5),
    (BadType, "select: condlist is 1.5, expected a seq", "select", 1.5, [M]),
    (BadType, "choose: choices is 1.5, expected a sequence", "choose", M, 1.5),
    (BadType, "isclose: an operand is of str", "isclose", M, "x"),
    (BadType, "polyval: p is 'x', expected a vector", "polyval", "x", V),
    (BadType, "gemm: alpha is 'x', expected a number", "gemm", "x", M, M),
    (BadType, "allow_tf32: on is 'x', expected True", "allow_tf32", "x"),
    (BadType, "load: file is 3.5, expected a path", "load", 3.5),
    (BadType, "pinv: rcond is 'x', expected a real", "linalg.pinv", M, "x"),
    (BadType, "divmod: out is int, expected a tuple", "divmod", M, 2, {"out": 3}),
    (BadType, "divmod: out is int, expected a gpu", "divmod", M, 2, {"out": (None, 3)}),
    (BadType, "modf: out is int, expected a tuple of 2", "modf", M, {"out": 3}),
    (BadType, "register_dtype: .*'foo'", "register_dtype", "foo", "foo"),
    (BadType, "register_dtype: cname is 3", "register_dtype", "int8", 3),
    (BadType, "count_devices: platform is 'x'", "count_devices", "null", "x"),
    (BadValue, "count_devices: there is no platform -1", "count_devices", "null", -1),
    (BadType, "strided: shape 1.5 is not", "Array.strided", M, 1.5, (4,)),
    (BadType, "strided: strides is 4, expected", "Array.strided", M, (2,), 4),
    (BadType, "strided: a stride is 'x'", "Array.strided", M, (2,), "x"),
    (BadValue, "strided: 1 strides for shape", "Array.strided", M, (2, 2), (4,)),
    (BadType, "strided: offset is 'x'", "Array.strided", M, (2,), (4,), "x"),
    (BadType, "dl_device is 'x', expected a pair", "Array.__dlpack__", M,
     {"dl_device": "x"}),
    (BadType, "max_version is 1, expected a seq", "Array.__dlpack__", M,
     {"max_version": 1}),
    (BadType, "__dlpack__: copy is 'x', expected True", "Array.__dlpack__", M,
     {"copy": "x"}),
    (BadType, "from_dlpack: copy is 'x', expected", "from_dlpack", M, {"copy": "x"}),
    (BadType, "multi_dot: arrays is 1.5, expected", "linalg.multi_dot", 1.5),
    (BadType, "lstsq: rcond is 'x', expected a real", "linalg.lstsq", M, V, "x"),
    (BadType, "matrix_rank: tol is 'x', expected", "linalg.matrix_rank", M, "x"),
    (BadType, "hstack: blocks is 1.5, expected", "sparse.hstack", 1.5),
    (BadType, "kron: got NoneType, expected a sparse", "sparse.kron", None, None),
    (BadType, "random_array: density is 'x'", "sparse.random_array", (4, 4),
     {"density": "x"}),
    (BadType, "affine_grid: shape is 1.5, expected", "nn.affine_grid", M, 1.5),
]  # fmt: skip


@pytest.fixture(scope="module")
def refuse():
    place = gpuarray.context("null")

    def on_device(x):
        return gpuarray.asarray(x, context=place) if is_host(x) else x

    def is_host(x):
        return x is M or x is V or x is PLACES

    def call(name, *arguments):
        options = arguments[-1] if isinstance(arguments[-1], dict) else {}
        given = arguments[:-1] if options else arguments
        function = gpuarray
        for part in name.split("."):
            function = getattr(function, part)
        given = [on_device(x) for x in given]
        before = place.memory_info().live
        with pytest.raises(GpuArrayError) as caught:
            function(*given, **options)
        assert place.memory_info().live <= before
        return caught.value

    return call


@pytest.mark.parametrize(("name", "before", "argument"), INTEGERS)
def test_an_integer_is_needed(refuse, name, before, argument):
    for wrong in (1.5, "two", RAGGED):
        error = refuse(name, *before, {argument: wrong})
        assert isinstance(error, BadType)
        assert f"{argument} is {wrong!r}, expected an integer" in str(error)


@pytest.mark.parametrize(("name", "before", "argument"), FLAGS)
def test_true_or_false_is_needed(refuse, name, before, argument):
    error = refuse(name, *before, {argument: "yes"})
    assert isinstance(error, BadType)
    assert f"{argument} is 'yes', expected True or False" in str(error)


@pytest.mark.parametrize(("kind", "fact", "name", "arguments"),
                         [(k, f, n, a) for k, f, n, *a in OTHERS])  # fmt: skip
def test_what_is_of_a_wrong_kind_is_told(refuse, kind, fact, name, arguments):
    error = refuse(name, *arguments)
    assert isinstance(error, kind)
    with pytest.raises(kind, match=fact):
        raise error


def test_a_complex_number_beside_an_array_is_true(context):
    a = gpuarray.asarray([0.0, 2.0], context=context)
    for name in ("logical_and", "logical_or", "logical_xor"):
        found = getattr(gpuarray, name)(1j, a)
        assert found.tolist() == getattr(np, name)(1j, a.get()).tolist()
