"""Names that programs written for NumPy have: dtypes, questions, arrays made."""

import pickle

import gpuarray
import numpy as np
import pytest
from families import DTYPES
from gpuarray._names import OF_NUMPY
from gpuarray.dtypes import as_dtype
from gpuarray.errors import BadType, BadValue
from judge import assert_same


def test_dtypes_and_questions_to_them_are_numpys():
    for name in OF_NUMPY:
        assert getattr(gpuarray, name) is getattr(np, name)
    assert gpuarray.issubdtype(gpuarray.float32, gpuarray.floating)
    assert gpuarray.dtype("f4") == gpuarray.zeros(1, "f4", "null").dtype


def test_an_array_is_an_ndarray(null):
    assert isinstance(gpuarray.zeros(2, context=null), gpuarray.ndarray)


@pytest.mark.parametrize("function", [gpuarray.iscomplexobj, gpuarray.isrealobj])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_dtype_is_complex_or_real(null, function, dtype):
    host = np.zeros(2, as_dtype(dtype))
    theirs = getattr(np, function.__name__)
    assert function(gpuarray.asarray(host, context=null)) == theirs(host)


GEOMETRIES = [np.zeros(()), np.zeros(3), np.zeros((2, 0)), np.zeros((2, 3)).T]


@pytest.mark.parametrize("host", GEOMETRIES)
@pytest.mark.parametrize("name", ["ndim", "shape", "size", "isfortran"])
def test_geometry_is_numpys(null, name, host):
    ours, theirs = getattr(gpuarray, name), getattr(np, name)
    device = gpuarray.asarray(host, context=null)
    assert ours(device) == theirs(device) == theirs(host)
    if name != "isfortran":
        assert ours(host) == theirs(host) and ours(host.tolist()) == theirs(host)
    if name == "size" and host.ndim:
        assert [ours(device, k) for k in (0, -1)] == [theirs(host, k) for k in (0, -1)]
        with pytest.raises(IndexError, match="size: axis 2 is out of bounds"):
            ours(device, 2)


@pytest.mark.parametrize("first", DTYPES)
def test_promotion_of_two_is_numpys(first):
    for second in DTYPES:
        pair = as_dtype(first), as_dtype(second)
        found = gpuarray.promote_types(*pair)
        if "bfloat16" not in (first, second):
            assert found == np.promote_types(*pair)
        assert found == gpuarray.promote_types(*pair[::-1])
    with pytest.raises(BadType, match="promote_types"):
        gpuarray.promote_types(first, "datetime64[s]")


NUMBERS = [0, 255, 256, -1, 1.5, 1e300, True, 2j, np.int64(3)]


def test_the_smallest_dtype_of_a_number_is_numpys(null):
    for number in NUMBERS:
        expected = np.min_scalar_type(number)
        assert gpuarray.min_scalar_type(number) == expected
        host = np.asarray(number)
        device = gpuarray.asarray(host, context=null)
        assert gpuarray.min_scalar_type(device) == np.min_scalar_type(host) == expected
        assert gpuarray.min_scalar_type(device[None]) == host.dtype


def test_the_common_type_of_arrays_is_numpys(null):
    kinds = [name for name in DTYPES if name not in ("bool", "bfloat16")]
    hosts = [np.zeros(2, kind) for kind in kinds]
    for one in hosts:
        for other in hosts:
            pair = gpuarray.asarray(one, context=null), other
            assert gpuarray.common_type(*pair) is np.common_type(one, other)
    with pytest.raises(BadType, match="common_type"):
        gpuarray.common_type(gpuarray.zeros(2, "bool", null))


def test_shared_memory_needs_arrays(null):
    with pytest.raises(BadType, match="expected a gpuarray array"):
        gpuarray.shares_memory(gpuarray.zeros(2, context=null), [1])


def test_arrays_print_by_numpys_options(null):
    host = np.array([1 / 3, 2 / 3])
    device = gpuarray.asarray(host, context=null)
    with gpuarray.printoptions(precision=2):
        assert str(device) == str(host)


# ---- arrays made of numbers, brackets, buffers ----

WINDOWS = ["bartlett", "blackman", "hamming", "hanning"]


@pytest.mark.parametrize("points", [-2, 0, 1, 2, 2.5, 7, 8])
def test_windows_are_numpys(null, points):
    for name in WINDOWS:
        found = getattr(gpuarray, name)(points, context=null)
        assert_same(found, getattr(np, name)(points), exact=True)
    if isinstance(points, int):
        assert_same(gpuarray.kaiser(points, 3, null), np.kaiser(points, 3), exact=True)
    with pytest.raises(TypeError, match="hanning"):
        gpuarray.hanning("many", context=null)


BRACKETS = [
    lambda xp, a, b: xp.r_[a, b],
    lambda xp, a, b: xp.r_[a, 1.5, 2:4, 0:1:3j, [7, 8]],
    lambda xp, a, b: xp.r_[-a[:1], :2],
    lambda xp, a, b: xp.r_["0,2", a, b],
    lambda xp, a, b: xp.r_["1,2,0", a, b, 1:4],
    lambda xp, a, b: xp.r_["0,3,1", a, b],
    lambda xp, a, b: xp.r_["-1", a[None], b[None]],
    lambda xp, a, b: xp.c_[a, b],
    lambda xp, a, b: xp.c_[a[:, None], xp.c_[a, b]],
    lambda xp, a, b: xp.c_[a[:1], 5, 6:7],
]


@pytest.mark.parametrize("joined", BRACKETS)
def test_brackets_join_as_numpys(context, joined):
    hosts = np.arange(3, dtype="float32"), np.arange(3, dtype="int16") * 2
    devices = [gpuarray.asarray(host, context=context) for host in hosts]
    found = joined(gpuarray, *devices)
    assert_same(found, joined(np, *hosts))
    assert found.context is context


def test_brackets_without_an_array_or_with_a_matrix(null):
    with null:
        assert_same(gpuarray.r_[1:3, 4], np.r_[1:3, 4])
    for wrong in ("r", "0,1,2,3"):
        with pytest.raises(BadValue, match="there is no class of matrices"):
            gpuarray.r_[wrong, [1]]
    with pytest.raises(BadValue, match="nothing is given"):
        gpuarray.r_[()]


def test_arrays_of_buffers_files_iterators_and_texts(null, tmp_path):
    host = np.arange(6, dtype="int16")
    raw = host.tobytes()
    assert_same(gpuarray.frombuffer(raw, "int16", context=null), host)
    part = gpuarray.frombuffer(raw, np.int16, 2, 4, null)
    assert_same(part, np.frombuffer(raw, np.int16, 2, 4))
    device = gpuarray.asarray(host.reshape(2, 3), context=null)
    device.T.tofile(tmp_path / "elements")
    read = gpuarray.fromfile(tmp_path / "elements", "int16", context=null)
    assert_same(read, host.reshape(2, 3).T.ravel())
    device.dump(tmp_path / "pickle")
    with (tmp_path / "pickle").open("rb") as file:
        assert_same(pickle.load(file), host.reshape(2, 3))
    assert_same(pickle.loads(device.dumps()), host.reshape(2, 3))
    assert_same(gpuarray.fromiter(iter(range(6)), "int16", 6, null), host)
    text = "0, 1, 2, 3, 4, 5"
    assert_same(gpuarray.fromstring(text, "int16", sep=",", context=null), host)
    for call in (
        lambda: gpuarray.frombuffer(b"123", "int16"),
        lambda: gpuarray.frombuffer(raw, "int16", 100),
        lambda: gpuarray.fromiter([1], "int16", 2),
    ):
        with pytest.raises(BadValue, match=r"frombuffer: |fromiter: "):
            call()


def test_only_finite_elements(context):
    assert_same(
        gpuarray.asarray_chkfinite([1, 2], "float32", context=context),
        np.float32([1, 2]),
    )
    for wrong in (np.nan, np.inf, complex(0, np.inf)):
        with pytest.raises(BadValue, match="an element is nan or infinite"):
            gpuarray.asarray_chkfinite([1.0, wrong], context=context)


def test_indices_that_a_mask_leaves(context):
    with context:
        found = gpuarray.mask_indices(4, gpuarray.triu, 1)
    for one, other in zip(found, np.mask_indices(4, np.triu, 1), strict=True):
        assert_same(one, other)


# ---- lists beside arrays ----

BESIDE = [
    lambda xp, a: xp.convolve(a, [1, 2]),
    lambda xp, a: xp.convolve([1.0, 2.0, 0.5], a, "same"),
    lambda xp, a: xp.correlate(a, [0, 1], "full"),
    lambda xp, a: xp.interp(a, [0, 2, 4], [5, 6, 9]),
    lambda xp, a: xp.interp([0.5, 1.5], a, a * a),
    lambda xp, a: xp.interp(1.5, a, [1, 2, 3]),
    lambda xp, a: xp.trapezoid(a, [0, 1, 3]),
    lambda xp, a: xp.ravel_multi_index((a.astype(int), [0, 1, 2]), (3, 3)),
    lambda xp, a: xp.choose([0, 1, 1], [a, a + 1]),
]


@pytest.mark.parametrize("program", BESIDE)
def test_lists_stand_beside_an_array(context, program):
    host = np.arange(3, dtype="float64")
    device = gpuarray.asarray(host, context=context)
    assert_same(program(gpuarray, device), program(np, host))


def test_flat_indices_of_the_host_are_numpys():
    for order in "CF":
        expected = np.unravel_index([5, 3], (2, 3), order)
        found = gpuarray.unravel_index([5, 3], (2, 3), order)
        assert [x.tolist() for x in found] == [x.tolist() for x in expected]
        assert gpuarray.ravel_multi_index((1, 2), (2, 3), order=order) == (
            np.ravel_multi_index((1, 2), (2, 3), order=order)
        )
    assert gpuarray.unravel_index(4, (2, 3)) == (1, 1)
    with pytest.raises(BadValue, match="unravel_index: index 6 is out of bounds"):
        gpuarray.unravel_index(6, (2, 3))
    with pytest.raises(BadValue, match="ravel_multi_index: invalid entry"):
        gpuarray.ravel_multi_index(([2], [0]), (2, 3))
    with pytest.raises(BadType, match="convolve: got list"):
        gpuarray.convolve([1, 2], [3])


def test_parts_of_an_array_are_sorted_in_place(context):
    host = np.array([[5, 1, 4, 2], [3, 8, 0, 9]], dtype="int32")
    device = gpuarray.asarray(host, context=context)
    assert_same(device.argpartition(1)[:, 1], np.argsort(host)[:, 1])
    device.partition(2)
    assert_same(device[:, 2], np.partition(host, 2)[:, 2])
    with pytest.raises(BadValue, match="kind is 'heap', expected 'introselect'"):
        device.partition(1, kind="heap")


# ---- programs that mix arrays with numbers and lists ----

OF_NUMBERS = [
    lambda xp: xp.sqrt(1 / 12),
    lambda xp: xp.cos(xp.pi / 3) + xp.sin(1),
    lambda xp: xp.maximum(3, 2.5),
    lambda xp: xp.power(np.float32(2), 3),
    lambda xp: xp.divmod(7, 2),
    lambda xp: xp.modf(2.75),
    lambda xp: xp.isnan(xp.nan),
    lambda xp: xp.abs(-3),
    lambda xp: xp.exp(1, dtype="float32"),
    lambda xp: xp.add(1, 2, dtype="int16"),
    lambda xp: xp.sqrt(1j),
]


@pytest.mark.parametrize("program", OF_NUMBERS)
def test_functions_of_numbers_alone_are_numpys(program):
    found, expected = program(gpuarray), program(np)
    assert type(found) is type(expected)
    if isinstance(expected, tuple):
        assert [(type(x), x) for x in found] == [(type(x), x) for x in expected]
    assert found == expected


def test_functions_of_numbers_that_numpy_lacks():
    assert gpuarray.erf(0.0) == 0 and gpuarray.sigmoid(0.0) == 0.5
    assert gpuarray.relu(-3) == 0 and gpuarray.relu(2.5) == 2.5
    with pytest.raises(BadType, match="bitwise_and"):
        gpuarray.bitwise_and(1.5, 2)
    with pytest.raises(TypeError):
        gpuarray.add(1)


JOINED = [
    lambda xp, a: xp.concatenate(([0], a, [7, 8])),
    lambda xp, a: xp.hstack((0, a)),
    lambda xp, a: xp.vstack([a, [1.5, 2, 3]]),
    lambda xp, a: xp.stack([a, (1, 2, 3)], axis=1),
    lambda xp, a: xp.column_stack(([1, 2, 3], a)),
]


@pytest.mark.parametrize("program", JOINED)
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_lists_are_joined_with_arrays(context, program, dtype):
    host = np.arange(3).astype(dtype)
    device = gpuarray.asarray(host, context=context)
    assert_same(program(gpuarray, device), program(np, host))


def test_what_lists_cannot_be_joined(null):
    device = gpuarray.zeros(3, context=null)
    with pytest.raises(BadValue, match="concatenate: setting an array element"):
        gpuarray.concatenate([device, [1, [2, 3]]])
    with pytest.raises(BadType, match=r"got ndarray, .* use gpuarray\.asarray"):
        gpuarray.concatenate([device, np.zeros(3)])
    with pytest.raises(BadType, match="got list"):
        gpuarray.concatenate([[1], [2]])


def test_an_array_of_objects_is_refused_as_what_it_is(null):
    with pytest.raises(BadType, match="got ndarray, which is no array of numbers"):
        gpuarray.asarray(np.array([None, 1], object), context=null)


def test_an_array_without_elements_prints_as_numpys(null):
    for shape in ((0,), (0, 3), (2, 0)):
        assert str(gpuarray.zeros(shape, context=null)) == str(np.zeros(shape))


@pytest.mark.parametrize("name", ["maximum", "logical_and", "add", "subtract"])
@pytest.mark.parametrize("dtype", ["int8", "bool", "float32"])
def test_arrays_in_a_list_are_reduced(context, name, dtype):
    if (name, dtype) == ("subtract", "bool"):
        return
    hosts = [np.arange(6).reshape(2, 3).astype(dtype) % k for k in (2, 3, 4)]
    devices = [gpuarray.asarray(host, context=context) for host in hosts]
    found = getattr(gpuarray, name).reduce(devices)
    assert_same(found, getattr(np, name).reduce(hosts))
    with pytest.raises(BadValue, match="reduce: the arrays have shapes"):
        getattr(gpuarray, name).reduce([devices[0], devices[0][0]])


def test_a_product_with_a_list_of_weights(context):
    host = np.arange(6, dtype="float64").reshape(2, 3)
    device = gpuarray.asarray(host, context=context)
    for weights in ([0.5, 1, 2], 3, [[1], [2], [3]]):
        assert_same(gpuarray.dot(device, weights), np.dot(host, weights))
    assert_same(gpuarray.dot([1, 2], device), np.dot([1, 2], host))


# ---- texts ----

TEXTS = [
    lambda xp, a: xp.array2string(a, precision=1),
    lambda xp, a: xp.array2string(a, separator=", ", threshold=5, edgeitems=1),
    lambda xp, a: xp.array2string(a, formatter={"float": lambda x: f"<{x:.1f}>"}),
    lambda xp, a: xp.array_str(a, precision=2, suppress_small=True),
    lambda xp, a: xp.array_str(a[0, 0, ...]),
    lambda xp, a: xp.array2string(a[:, :0]),
]


@pytest.mark.parametrize("program", TEXTS)
def test_texts_of_arrays_are_numpys(context, program):
    host = np.linspace(0, 1e3, 42).reshape(6, 7)
    device = gpuarray.asarray(host, context=context)
    assert program(gpuarray, device) == program(np, device) == program(np, host)


def test_a_text_tells_the_context(null):
    device = gpuarray.asarray([1 / 3], "float32", null)
    expected = "array([0.3], dtype=float32, context='null')"
    assert gpuarray.array_repr(device, precision=1) == expected
    assert np.array_repr(device) == repr(device)


def test_elements_with_their_indices(null):
    host = np.arange(6).reshape(2, 3)
    device = gpuarray.asarray(host, context=null)
    assert list(gpuarray.ndenumerate(device)) == list(np.ndenumerate(host))


# ---- what there is not ----

ELSEWHERE = {
    "gpuarray.vectorize": "use gpuarray.fuse",
    "gpuarray.get_array_module": "use x.__array_namespace__",
    "gpuarray.roots": "numpy.roots takes arrays of the host: x.get()",
    "gpuarray.loadtxt": "numpy.loadtxt takes arrays of the host",
    "gpuarray.trapz": "did you mean 'trapezoid'",
    "gpuarray.random.rand": r"use gpuarray.random.default_rng\(seed\).random",
    "gpuarray.random.normal": r"use gpuarray.random.default_rng\(seed\).normal",
    "gpuarray.random.seed": r"use gpuarray.random.default_rng\(seed\)$",
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_name_that_is_elsewhere_is_told(name):
    module, _, attribute = name.rpartition(".")
    with pytest.raises(AttributeError, match=ELSEWHERE[name]):
        getattr(gpuarray.random if module.endswith("random") else gpuarray, attribute)


# By reason: what NumPy has for arrays on a host alone.
NOT_OFFERED = {
    "texts, files and the process": """
        base_repr binary_repr ctypeslib f2py format_float_positional
        format_float_scientific fromregex genfromtxt getbufsize geterr geterrcall info
        lib loadtxt memmap savetxt setbufsize seterr seterrcall show_config show_runtime
        test testing typecodes typename typing little_endian
    """,
    "dtypes that no device has": """
        bytes_ busday_count busday_offset busdaycalendar char character clongdouble
        complex256 datetime64 datetime_as_string datetime_data flexible float128
        is_busday isnat longdouble ma object_ rec recarray record str_ strings
        timedelta64 void
    """,
    "matrices, polynomials": """
        asmatrix bmat matrix poly poly1d polyadd polyder polydiv polyint polymul
        polynomial polysub roots
    """,
    "element by element on the host": """
        broadcast flatiter frompyfunc nditer nested_iters ufunc vectorize
    """,
    "of NumPy's own": """
        False_ ScalarType True_ core emath exceptions mintypecode require row_stack
        sctypeDict
    """,
}


def test_every_name_of_numpys_is_offered_or_listed():
    listed = {name for names in NOT_OFFERED.values() for name in names.split()}
    public = {name for name in dir(np) if not name.startswith("_")}
    is_later = np.lib.NumpyVersion(np.__version__) >= "2.5.0"  # may have more
    assert public - set(gpuarray.__all__) - listed == set() or is_later
    assert listed & set(gpuarray.__all__) == set()


METHODS_NOT_OFFERED = {
    *("byteswap", "ctypes", "getfield", "resize", "setfield", "setflags"),
}


def test_every_method_of_numpys_arrays_is_offered_or_listed():
    public = {name for name in dir(np.ndarray) if not name.startswith("_")}
    assert public - set(dir(gpuarray.Array)) == METHODS_NOT_OFFERED
