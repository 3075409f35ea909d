"""Where arrays are made, on contexts that are not the default, and without kernels.

The null device holds arrays and runs no kernel: what works on it queues nothing.
"""

import gpuarray
import numpy as np
import pytest
from calls import assert_as_numpys, label, moved, ours
from functions import named
from gpuarray import blas, elemwise
from gpuarray.errors import BadValue, OutOfMemory, TooLarge
from judge import assert_same

# ---- made on the context that is named ----

V = np.array([3.0, -1.0, 2.0])
MADE = [
    ("arange", 3), ("linspace", 0, 1, 3), ("logspace", 0, 1, 3), ("geomspace", 1, 8, 4),
    ("empty", 3), ("zeros", 3), ("ones", 3), ("full", 3, 2.5), ("eye", 3),
    ("identity", 3), ("tri", 3), ("asarray", [1, 2]), ("asanyarray", V), ("array", [1]),
    ("ascontiguousarray", V), ("asfortranarray", V), ("indices", (2, 3)),
    ("indices", (2, 3), {"sparse": True}), ("diag_indices", 3), ("tril_indices", 3),
    ("triu_indices", 3), ("fromfunction", lambda i: i, (3,)),
]  # fmt: skip


@pytest.fixture
def default_null(null):
    """The null context is the default one."""
    before = gpuarray.get_default_context()
    gpuarray.set_default_context(null)
    yield null
    gpuarray.set_default_context(before)


@pytest.mark.parametrize("call", MADE, ids=label)
def test_all_is_made_on_the_context_that_is_named(first_context, default_null, call):
    name, *arguments = call
    options = arguments.pop() if isinstance(arguments[-1], dict) else {}
    made = named(gpuarray, name)(*arguments, **options, context=first_context)
    for one in made if isinstance(made, tuple) else (made,):
        assert one.context is first_context


@pytest.mark.parametrize("word", ["context", "device"])
def test_arguments_in_numpys_order_and_by_name(null, word):
    """The order or the copy behind the dtype, and the context by its name."""
    place = {word: "null"}
    listed = np.asfortranarray([[1, 2], [3, 4]], "int8")
    made = [
        gpuarray.empty((2, 3), "int8", "F", **place),
        gpuarray.zeros((2, 3), "int8", "F", **place),
        gpuarray.asarray(listed, "int8", "F", **place),
        gpuarray.asarray(listed, "int8", "F", copy=True, **place),
        gpuarray.asanyarray(listed, "int8", "F", **place),
        gpuarray.array(listed, "int8", True, "F", **place),
        gpuarray.array(listed, "int8", True, order="F", **place),
    ]
    for each in made:
        assert (each.context, each.dtype, each.flags.fnc) == (null, np.int8, True)
    assert gpuarray.array([1], "int8", True, "F", ndmin=3, **place).ndim == 3


def test_a_condition_is_on_the_context_of_the_array(first_context, null):
    a = moved(V, first_context)
    with pytest.raises(BadValue, match="expected one context"):
        gpuarray.extract(gpuarray.zeros(3, "bool", null), a)
    assert_same(gpuarray.extract([1, 0, 2], a), V[[0, 2]])


@pytest.mark.parametrize("dtype", [int, bool])
def test_an_index_is_on_the_context_of_the_array(dtype, first_context, null):
    a, index = moved(V, first_context), gpuarray.zeros(3, dtype, null)
    told = f"the index is on null.*, the array on {a.context.name}; use index.transfer"
    with pytest.raises(BadValue, match=told):
        a[index]
    with pytest.raises(BadValue, match=told):
        a[index] = 1.0


# ---- of no elements ----

NONE, COUNTS = np.zeros(0), np.zeros(0, int)
EMPTY = [
    *((f"{name}.accumulate", np.zeros(shape), axis) for name in ("subtract", "add")
      for shape in ((0, 3), (3, 0)) for axis in (0, 1)),
    ("subtract.reduceat", np.zeros((0, 3)), []), ("bincount", COUNTS),
    ("bincount", COUNTS, {"minlength": 3}), ("bincount", COUNTS, NONE),
    ("histogram", NONE, 3, (0, 1)), ("searchsorted", V, NONE), ("resize", V, 0),
    ("resize", NONE, (2, 2)), ("fft.fft", np.zeros((0, 3))),
    ("fft.irfft", np.zeros((0, 3))), ("fft.hfft", np.zeros((0, 3))),
]  # fmt: skip


@pytest.mark.parametrize("call", EMPTY, ids=label)
def test_no_elements_need_no_kernel(null, call):
    assert_as_numpys(call, null)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize(("where", "what"), [([], 5.0), ([1], []), ([], [])])
def test_nothing_is_put_without_a_kernel(null, mode, where, what):
    assert ours(("put", V, where, what, mode), null) is None


# ---- of too many ----

LONG, SIDE = 2**60, 2**31
TOO_LARGE = {
    "arange": lambda x, m, n: gpuarray.arange(LONG, context="null"),
    "argsort": lambda x, m, n: gpuarray.argsort(x),
    "cumsum": lambda x, m, n: gpuarray.cumsum(x),
    "elemwise1": lambda x, m, n: elemwise.elemwise1(x, "-"),
    "elemwise2": lambda x, m, n: elemwise.elemwise2(x, "*", 2, x),
    "empty": lambda x, m, n: gpuarray.empty(LONG, context="null"),
    "eye": lambda x, m, n: gpuarray.eye(SIDE, context="null"),
    "full": lambda x, m, n: gpuarray.full(LONG, 1.0, context="null"),
    "gemm": lambda x, m, n: gpuarray.gemm(1.0, m, n),
    "gemm_bias": lambda x, m, n: blas.gemm_bias(m, n, n[0]),
    "gemmBatch_3d": lambda x, m, n: blas.gemmBatch_3d(1.0, m[None], n[None]),
    "gemv": lambda x, m, n: gpuarray.gemv(1.0, x[:, None], x[:1]),
    "ger": lambda x, m, n: gpuarray.ger(1.0, n[0], n[0]),
    "linspace": lambda x, m, n: gpuarray.linspace(0, 1, LONG, context="null"),
    "matmul": lambda x, m, n: m @ n,
    "ones": lambda x, m, n: gpuarray.ones(LONG, context="null"),
    "pad": lambda x, m, n: gpuarray.pad(x[:1], LONG),
    "polyval": lambda x, m, n: gpuarray.polyval(x[:1], x),
    "sort": lambda x, m, n: gpuarray.sort(x),
    "topk": lambda x, m, n: gpuarray.topk(x, LONG // 2),
    "zeros": lambda x, m, n: gpuarray.zeros(LONG, context="null"),
    "zeros_like": lambda x, m, n: gpuarray.zeros_like(x),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_an_error_of_memory_names_the_function(null, name):
    one = gpuarray.zeros(1, "float32", null)
    shapes = (LONG,), (SIDE, 1), (1, SIDE)
    with pytest.raises((TooLarge, OutOfMemory), match=f"^{name}: "):
        TOO_LARGE[name](*(one.broadcast_to(shape) for shape in shapes))
