"""Every public function of whatever it may be given: NumPy's answer, or a clear error.

Which functions there are is asked of the package.
"""

import inspect
import random
import types

import gpuarray
import numpy as np
import pytest
from differential import arrays_of, outcome
from judge import assert_same

# Made from files or for the whole process: what they are given is no array.
OF_FILES = {"load", "save", "savez", "savez_compressed", "register_dtype", "profile"}
OF_FILES |= {"allow_tf32", "linalg.allow_tf32", "implicit_conversion"}
OF_FILES |= {"set_implicit_conversion", "set_default_context", "set_printoptions"}
ERRORS = (
    *(TypeError, ValueError, IndexError, ArithmeticError, NotImplementedError),
    *(OSError, np.linalg.LinAlgError, np.ma.MaskError, gpuarray.GpuArrayError),
)
ON_THE_HOST = (
    *([1, 2], [[1.0]], 3, 2.5, True, None, "abc", object()),
    *(np.arange(3.0), np.array(2.0), np.zeros((0, 3)), np.float32(1), np.ma.masked),
)
ON_THE_DEVICE = {
    "vector": np.array([3.0, 1.0, 2.0]),
    "element": np.array(2.0),
    "empty": np.zeros(0),
    "empty rows": np.zeros((0, 3), "int8"),
    "matrix": np.array([[2.0, 1.0], [0.0, 3.0]]),
    "integers": np.array([2, 1, 1]),
}
# What NumPy refuses by an accident of its text, or where ours means more, or says more.
OTHERWISE = {
    *("finfo", "iinfo", "isdtype"),  # the dtype of the array is meant
    *("tril", "triu", "fft.fftn", "fft.ifftn", "fft.rfftn", "fft.irfftn"),  # of no axes
    *("frombuffer", "fromstring"),  # the memory of the host is meant
    *("diag_indices", "tril_indices", "triu_indices"),  # a length is an integer
    *("lexsort", "tri", "einsum", "linalg.tensorinv", "fft.fftfreq", "fft.rfftfreq"),
}
# What they give is not unique, or not set.
NOT_UNIQUE = {"empty", "empty_like", "linalg.eig", "linalg.eigh", "linalg.eigvals"}
NOT_UNIQUE |= {"linalg.qr", "linalg.svd"}


def functions():
    """The public functions by their names, with those of the submodules."""
    for prefix in ("", "linalg", "fft", "random"):
        module = getattr(gpuarray, prefix) if prefix else gpuarray
        for name in dir(module):
            function = getattr(module, name)
            if isinstance(function, types.FunctionType) or hasattr(function, "nin"):
                yield f"{prefix}.{name}" if prefix else name, function


def required(function):
    """How many arguments a call must have."""
    if hasattr(function, "nin"):
        return function.nin
    parameters = inspect.signature(function).parameters.values()
    kinds = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    return sum(p.kind in kinds and p.default is p.empty for p in parameters)


FUNCTIONS = {name: f for name, f in functions() if name not in OF_FILES}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_what_is_no_array_fails_clearly_if_it_fails(name, first_context):
    """In each place, beside arrays and beside its like."""
    function, array = FUNCTIONS[name], gpuarray.zeros(3, context=first_context)
    count = required(function)
    for value in ON_THE_HOST:
        calls = [(value,) * max(count, 1), *([value],) * (count < 2)]
        calls += [
            (*[array] * place, value, *[array] * (count - place - 1))
            for place in range(count)
        ]
        for arguments in calls:
            found = outcome(function, arguments, {})
            waited = outcome(first_context.sync, (), {})
            assert_clear(found, name, arguments)
            assert_clear(waited, name, arguments)


def assert_clear(found, name, arguments):
    if isinstance(found, Exception):
        assert isinstance(found, ERRORS), (name, arguments, repr(found))
        assert not isinstance(found, RecursionError)


def of_one_array():
    for name, function in FUNCTIONS.items():
        theirs = np
        for part in name.split("."):
            theirs = getattr(theirs, part, None)
        if theirs is None or name.startswith("random") or required(function) != 1:
            continue
        if name not in OTHERWISE:
            yield name, function, theirs


@pytest.mark.parametrize("given", ON_THE_DEVICE)
def test_a_function_of_any_array_is_numpys(given, first_context):
    """Of no axes, of no elements, of one axis and two."""
    host = ON_THE_DEVICE[given]
    device = gpuarray.asarray(host, context=first_context)
    wrong = []
    for name, function, theirs in of_one_array():
        expected = outcome(theirs, (host,), {})
        got = outcome(function, (device,), {})
        waited = outcome(first_context.sync, (), {})
        got = waited if isinstance(waited, Exception) else got
        if text := difference(name, got, expected):
            wrong.append(f"{name}: {text}")
    assert wrong == []


def difference(name, got, expected):
    if isinstance(expected, Exception):
        kinds = tuple(kind for kind in ERRORS[:5] if isinstance(expected, kind))
        fits = isinstance(got, kinds or Exception)
        return "" if fits else f"{got!r}, NumPy: {expected!r}"
    if isinstance(got, Exception):
        return f"{got!r}, NumPy: {expected}"
    if name in NOT_UNIQUE:
        return ""
    for one, other in zip(arrays_of(got), arrays_of(expected), strict=True):
        if isinstance(one, gpuarray.Array):
            try:
                assert_same(one, other)
            except AssertionError as error:
                return str(error)
    return ""


# ---- what was found, each by itself ----


def test_a_list_is_refused_with_the_mend():
    for name in ("cumsum", "cumprod", "cummax", "cummin", "topk", "sort_pairs"):
        with pytest.raises(TypeError, match=r"use gpuarray.asarray\(x\)"):
            FUNCTIONS[name]([1], *[1] * (required(FUNCTIONS[name]) - 1))
    with pytest.raises(TypeError, match="may_share_memory: got list"):
        gpuarray.may_share_memory(gpuarray.zeros(1, context="null"), [1])


def test_what_is_masked_is_no_number(context):
    device = gpuarray.zeros((0, 3), context=context)
    for call in (
        lambda: device < np.ma.masked,
        lambda: device == np.ma.masked,
        lambda: np.add(device, np.ma.masked),
        lambda: gpuarray.where(device, np.ma.masked, 1),
        lambda: gpuarray.zeros(2, context=context) * np.ma.array([1, 2], mask=[0, 1]),
    ):
        with pytest.raises(TypeError, match="masked"):
            call()
    with pytest.raises(TypeError, match="masked"):
        device += np.ma.masked


def test_histograms_between_no_edges_are_empty(context):
    host = np.array([1.0, 2.0, 2.0])
    device = gpuarray.asarray(host, context=context)
    for bins in ((), [1.0], [1.0, 2.0]):
        for one, other in zip(
            gpuarray.histogram(device, bins), np.histogram(host, bins), strict=True
        ):
            assert_same(one, other)
    counts, edges = gpuarray.histogramdd(device, 2)
    expected, their_edges = np.histogramdd(host, 2)
    assert_same(counts, expected)
    assert_same(edges[0], their_edges[0])


@pytest.mark.parametrize("name", ["argsort", "argpartition", "sort", "partition"])
@pytest.mark.parametrize("axis", [-1, 0, None, 1, -2])
def test_orders_of_an_array_of_no_axes_are_numpys(context, name, axis):
    host = np.array(2.0)
    device = gpuarray.asarray(host, context=context)
    more = (0,) if name.endswith("partition") else ()
    expected = outcome(getattr(np, name), (host, *more), {"axis": axis})
    got = outcome(getattr(gpuarray, name), (device, *more), {"axis": axis})
    if isinstance(expected, Exception):
        assert isinstance(got, np.exceptions.AxisError | IndexError)
    else:
        assert_same(got, expected)


@pytest.mark.parametrize("lengths", [(2, 2), (2, 3), (3, 2), (3, 3)])
@pytest.mark.parametrize("axes", [(-1, -1, -1), (0, 1, 0), (1, 0, 1)])
def test_cross_products_of_vectors_of_two(context, lengths, axes):
    rng = np.random.default_rng(0)
    pair = [
        np.moveaxis(rng.normal(size=(4, n)), -1, at)
        for n, at in zip(lengths, axes, strict=False)
    ]
    device = [gpuarray.asarray(x, context=context) for x in pair]
    # NumPy 2.5 takes vectors of three alone: a third component is 0.
    whole = [np.moveaxis(x, at, -1) for x, at in zip(pair, axes, strict=False)]
    whole = [np.pad(x, ((0, 0), (0, 3 - x.shape[-1]))) for x in whole]
    expected = np.cross(*whole)
    expected = (
        expected[:, 2] if lengths == (2, 2) else np.moveaxis(expected, -1, axes[2])
    )
    assert_same(outcome(gpuarray.cross, (*device, *axes), {}), expected)
    with pytest.raises(ValueError, match="vectors of 4"):
        gpuarray.cross(gpuarray.zeros(4, context=context), device[0])


@pytest.mark.parametrize("name", ["arange", "linspace", "logspace", "geomspace"])
def test_what_no_device_has_room_for_is_not_made_on_the_host(context, name):
    ends = (2**44,) if name == "arange" else (1, 2, 2**44)
    with pytest.raises(MemoryError, match=f"{name}: .* bytes of device memory"):
        getattr(gpuarray, name)(*ends, context=context)
    with pytest.raises(OverflowError, match="has more than"):
        gpuarray.arange(2**62, context=context)


@pytest.mark.parametrize("name", ["\0a", "opencl0:0\0", "\0"])
def test_a_text_with_a_nul_is_not_cut_off(first_context, name):
    for open_it in (gpuarray.context, gpuarray.count_platforms):
        with pytest.raises(ValueError, match="NUL"):
            open_it(name)
    with pytest.raises(ValueError, match="NUL"):
        gpuarray.GpuKernel(f"KERNEL void f(void) {{}} {name}", "f", [], first_context)
    with pytest.raises(ValueError, match="NUL"):
        gpuarray.GpuKernel("KERNEL void f(void) {}", f"f{name}", [], first_context)


@pytest.mark.parametrize("function", [np.max, np.min, np.argmax, np.argmin, np.ptp])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_extremes_of_no_elements_are_numpys(context, function, shape, axis):
    host = np.zeros(shape)
    device = gpuarray.asarray(host, context=context)
    expected = outcome(function, (host, axis), {})
    got = outcome(getattr(gpuarray, function.__name__), (device, axis), {})
    assert difference(function.__name__, got, expected) == ""
    assert isinstance(got, ValueError) == isinstance(expected, ValueError)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize("source", ["int8", "int64", "float32", "bool"])
def test_means_as_integers_are_rounded_towards_zero(context, source, dtype):
    host = np.array([[7, -4, 1], [2, -9, 0]])
    host = (abs(host) if dtype == "uint8" else host).astype(source)
    device = gpuarray.asarray(host, context=context)
    mask = np.array([[True, False, True], [True, True, True]])
    where = gpuarray.asarray(mask, context=context)
    for axis in (None, 0, 1, (0, 1)):
        wide = outcome(np.mean, (host, axis, dtype), {})
        assert_same(gpuarray.mean(device, axis, dtype), wide)
        got = gpuarray.mean(device, axis, dtype, where=where)
        assert_same(got, outcome(np.mean, (host, axis, dtype), {"where": mask}))
    out = gpuarray.empty(3, dtype, context)
    assert device.mean(0, dtype, out=out) is out
    assert_same(out, outcome(np.mean, (host, 0, dtype), {}))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int64", "uint64"])
def test_limits_beyond_a_dtype_are_none(context, dtype):
    ends = np.iinfo(dtype)
    host = np.array([ends.min, 0, 3, ends.max], dtype)
    device = gpuarray.asarray(host, context=context)
    limits = (ends.min - 1000, ends.min, 2, ends.max, ends.max + 1, None, np.int8(1))
    for low in limits:
        for high in limits:
            expected = outcome(np.clip, (host, low, high), {})
            got = outcome(gpuarray.clip, (device, low, high), {})
            text = difference("clip", got, expected)
            assert not text, (low, high, text)


def test_sequences_of_elements_sort_and_choose(context):
    device = gpuarray.asarray([3, 1, 2], context=context)
    assert [int(x) for x in sorted(device)] == [1, 2, 3]
    assert int(max(device)) == 3 and int(random.Random(0).choice(device)) in (1, 2, 3)


WRONG = {
    "a step of 0": lambda xp, **to: xp.arange(0, 3, 0, **to),
    "words": lambda xp, **to: xp.arange("a", **to),
    "no end": lambda xp, **to: xp.arange(0, float("nan"), **to),
    "fewer than none": lambda xp, **to: xp.linspace(0, 1, -1, **to),
    "a broken number": lambda xp, **to: xp.linspace(0, 1, 2.5, **to),
    "powers": lambda xp, **to: xp.logspace(0, 1, -1, **to),
    "ratios of 0": lambda xp, **to: xp.geomspace(0, 1, 5, **to),
    "rows of other lengths": lambda xp, **to: xp.asarray([[1], [2, 3]], **to),
    "a row into an element": lambda xp, **to: xp.zeros(3, **to).__setitem__(
        slice(None), [[1], [2, 3]]
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_numpy_refuses_on_the_host_is_an_error_of_both(name):
    expected = outcome(WRONG[name], (np,), {})
    assert isinstance(expected, Exception)
    with pytest.raises(gpuarray.GpuArrayError) as told:
        WRONG[name](gpuarray, context="null")
    kinds = (ZeroDivisionError, TypeError, ValueError)
    kind = next(kind for kind in kinds if isinstance(expected, kind))
    assert isinstance(told.value, kind)
