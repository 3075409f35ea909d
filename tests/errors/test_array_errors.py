"""What a user reads who makes a mistake with arrays; and life goes on after it."""

import gpuarray
import numpy as np
import pytest
from gpuarray._native import check, lib
from gpuarray.config import Config
from gpuarray.errors import OF_STATUS, GpuArrayError


def works(context):
    """The context still computes."""
    x = gpuarray.asarray(np.arange(5.0, dtype="float32"), context=context)
    return np.asarray(x + x).tolist() == [0.0, 2.0, 4.0, 6.0, 8.0]


MISTAKES = [
    (lambda a: a + a.T, ValueError, r"add\(float32\[3, 4\], float32\[4, 3\]\) on null"),
    (lambda a: a + a.T, ValueError, "do not broadcast: axis -1 is 4 against 3"),
    (lambda a: a + "b", TypeError, "unsupported operand"),
    (lambda a: a + None, TypeError, "unsupported operand"),
    (lambda a: a + {1, 2}, TypeError, "unsupported operand"),
    (
        lambda a: a + np.ones((3, 4)),
        TypeError,
        r"gpuarray.asarray\(x, context='null'\)",
    ),
    (lambda a: np.ones((3, 4)) + a, TypeError, "an operand is a NumPy array"),
    (lambda a: np.isnat(a), TypeError, r"numpy\.isnat is not offered"),
    (lambda a: a == [1.0], TypeError, r"got a list.*asarray\(x, context='null'\)"),
    (lambda a: gpuarray.add(a, a, out=a[0]), ValueError, r"add: out has shape \(4,\)"),
    (
        lambda a: gpuarray.exp(a, out=a.broadcast_to((2, 3, 4))),
        ValueError,
        "exp: out is read-only",
    ),
    (
        lambda a: gpuarray.sum(a, out=gpuarray.zeros(3, "int8", "null")),
        (ValueError, NotImplementedError),
        "sum",
    ),
    (lambda a: a.astype("int8", casting="safe"), TypeError, "by the rule 'safe'"),
    (lambda a: gpuarray.Context("cuda0"), TypeError, r"gpuarray\.context\('opencl0:0'"),
    (lambda a: gpuarray.lexsort((a[0], a[1:, 0])), ValueError, "expected one shape"),
    (
        lambda a: gpuarray.lexsort((a[1:, 0], a[0])),
        ValueError,
        r"shapes \(2,\), \(4,\)",
    ),
    (lambda a: gpuarray.cross(a, a), ValueError, "expected 3"),
    (lambda a: gpuarray.block((a, a)), TypeError, "block: got a tuple"),
    (lambda a: gpuarray.block([[a], a]), ValueError, "expected one depth"),
    (lambda a: gpuarray.polyval([1], 2.0), TypeError, "polyval: got float"),
    (lambda a: gpuarray.tril_indices_from(a[0]), ValueError, "expected a matrix"),
    (lambda a: gpuarray.nanvar(a, ddof=1, correction=1), ValueError, "give one"),
    (lambda a: gpuarray.sum(np.ones(3)), TypeError, r"sum: got ndarray.*asarray\(x\)"),
    (lambda a: gpuarray.argsort([1, 2]), TypeError, r"argsort: got list"),
    (lambda a: gpuarray.exp([2.0]), TypeError, "no operand is a gpuarray array"),
    (lambda a: gpuarray.exp(a, out=3), TypeError, "exp: out"),
    (lambda a: gpuarray.add(a, object()), TypeError, "an operand is of object"),
    (lambda a: a & a, TypeError, r"bitwise_and: no loop for \(float32, float32\)"),
    (lambda a: a + b"1", TypeError, "unsupported operand"),
    (lambda a: a.__iadd__(1j), TypeError, "cannot be stored as float32"),
    (
        lambda a: gpuarray.zeros(3, "int8", "null") + 1000,
        OverflowError,
        "1000 is out of bounds for int8",
    ),
    (
        lambda a: gpuarray.zeros(3, "int8", "null") ** -1,
        ValueError,
        "negative integer powers",
    ),
    (lambda a: a @ a, ValueError, r"shapes \(3, 4\) and \(3, 4\) do not fit"),
    (lambda a: a @ np.ones(4), TypeError, r"NumPy array.*asarray\(x, context='null'\)"),
    (lambda a: a.dot(a), ValueError, r"^dot: shapes \(3, 4\) and \(3, 4\) do not fit"),
    (lambda a: gpuarray.dot(a[None], a), ValueError, r"^dot: shapes \(1, 3, 4\) and"),
    (lambda a: gpuarray.blas.gemm(1.0, a, a), ValueError, "^gemm: A is float32"),
    (lambda a: a.item(), ValueError, "has 12 elements, expected one; give an index"),
    (lambda a: a.view("int8x"), TypeError, "not understood"),
    (lambda a: a.T.view("int8"), ValueError, "strides of 16 bytes; .*copy the array"),
    (lambda a: a[:, :3].view("int64"), ValueError, "12 bytes, which int64 of 8 does"),
    (
        lambda a: a[0, 0].view("int8"),
        ValueError,
        "view: got int8 for a 0-d array of float32",
    ),
    (
        lambda a: a.view("int8")[:, 1:5].view("float32"),
        ValueError,
        "multiples of 4 bytes, as float32 needs; copy",
    ),
    (
        lambda a: gpuarray.random.default_rng("a", "null"),
        TypeError,
        "seed is 'a', expected an integer from 0",
    ),
    (
        lambda a: gpuarray.nan_to_num(a, nan="a"),
        TypeError,
        "nan_to_num: got 'a', expected real numbers to put in place",
    ),
    (
        lambda a: gpuarray.tensordot(a, a, gpuarray.zeros((), "float32", "null")),
        TypeError,
        "tensordot: axes is",
    ),
    (lambda a: a.reshape(5, 5), ValueError, "reshape"),
    (lambda a: a.reshape(-1, -1), ValueError, "more than one length"),
    (
        lambda a: a.reshape(-1, 5),
        ValueError,
        r"12 elements of shape \(3, 4\) do not fit",
    ),
    (lambda a: a.transpose(0, 0), ValueError, "an axis is repeated"),
    (lambda a: a.transpose(0), ValueError, "got 1 axes, expected 2"),
    (lambda a: a.sum(2), IndexError, "axis 2 is out of bounds for 2 dimensions"),
    (lambda a: a.sum((0, -2)), ValueError, "axis -2 is given twice"),
    (lambda a: a.sum("x"), TypeError, "axis 'x' is not an integer"),
    (lambda a: a.var(dtype="int32"), TypeError, "int32 does not hold a mean"),
    (lambda a: a[3], IndexError, "3 is out of bounds for axis 0 of length 3"),
    (lambda a: a[0, 0, 0], IndexError, "3 indices for an array of 2 axes"),
    (lambda a: a[..., ...], IndexError, "only one Ellipsis"),
    (lambda a: a[1.5], IndexError, "got float; expected integers"),
    (lambda a: a[[0.5, 1]], IndexError, "list of float64"),
    (lambda a: a[::0], IndexError, "slice step cannot be zero"),
    (lambda a: a.__setitem__(0, np.ones(3)), ValueError, "setitem"),
    (lambda a: a.astype("clongdouble"), TypeError, "is not offered; these are"),
    (lambda a: a.astype("no such"), TypeError, "not understood; dtypes are: .*float32"),
    (lambda a: bool(a), ValueError, r"a.any\(\) or a.all\(\)"),
    (lambda a: float(a), TypeError, r"shape \(3, 4\) is not one number"),
    (lambda a: a.broadcast_to((3, 5)), ValueError, "broadcast"),
    (
        lambda a: gpuarray.zeros(-1, context="null"),
        ValueError,
        "negative length in shape",
    ),
    (
        lambda a: gpuarray.zeros("ab", context="null"),
        TypeError,
        "not an integer or a seq",
    ),
    (lambda a: gpuarray.zeros((1,) * 40, context="null"), ValueError, "40 dimensions"),
    (
        lambda a: gpuarray.asarray(object(), context="null"),
        TypeError,
        "no array of numbers",
    ),
    (lambda a: gpuarray.asarray("text", context="null"), TypeError, "is not offered"),
    (lambda a: a.copy("X"), ValueError, "expected 'C', 'F', 'A' or 'K'"),
    (
        lambda a: gpuarray.add(a, a, out=gpuarray.zeros(3, "int8", "null")),
        TypeError,
        "cannot be stored as int8, the dtype of out",
    ),
    (lambda a: gpuarray.add(a, a, out=a[0]), ValueError, "add"),
    (lambda a: gpuarray.context("cuda-1"), GpuArrayError, "cuda-1"),
    (lambda a: gpuarray.context("metal0"), GpuArrayError, "opencl0:1"),
    (lambda a: gpuarray.context("cuda99"), GpuArrayError, "cuda"),
    (lambda a: gpuarray.context("opencl99:0"), GpuArrayError, "opencl"),
    (lambda a: gpuarray.context(3), TypeError, "expected a name such as 'cuda0'"),
]


@pytest.mark.parametrize(("mistake", "kind", "says"), MISTAKES)
def test_a_mistake_is_named(a, mistake, kind, says):
    with pytest.raises(kind, match=says) as caught:
        mistake(a)
    if "unsupported operand" not in says and "ufuncs" not in says:
        assert isinstance(caught.value, GpuArrayError)
    assert len(str(caught.value).splitlines()) <= 15


def test_every_status_has_a_class():
    statuses = {getattr(lib, name) for name in dir(lib) if name.endswith("_ERROR")}
    statuses.discard(lib.GA_NO_ERROR)
    assert statuses == set(OF_STATUS)
    for status, kind in OF_STATUS.items():
        with pytest.raises(kind):
            check(status)
    check(lib.GA_NO_ERROR)


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        ("OutOfMemory", MemoryError),
        ("BadValue", ValueError),
        ("BadIndex", IndexError),
        ("BadType", TypeError),
        ("Unsupported", NotImplementedError),
        ("LibraryMissing", ImportError),
        ("KernelError", RuntimeError),
        ("ContextLost", RuntimeError),
        ("DeviceNotFound", LookupError),
    ],
)
def test_each_class_is_also_a_builtin(kind, builtin):
    assert issubclass(getattr(gpuarray, kind), (builtin, GpuArrayError))
    assert issubclass(getattr(gpuarray, kind), builtin)


# ---- contexts ----


def test_arrays_of_two_contexts_do_not_mix(context, null):
    here, there = (gpuarray.zeros(3, "float32", c) for c in (context, null))
    for mix in (
        lambda: here + there,
        lambda: gpuarray.where(here, there, 0),
        lambda: here.__setitem__(0, there),
        lambda: here.__iadd__(there),
        lambda: here @ there,
    ):
        with pytest.raises(ValueError, match=rf"{context.name} and null|transfer"):
            mix()
    assert works(context)


def test_a_closed_context_says_so_and_opens_anew(null):
    a = gpuarray.zeros(3, "float32", null)
    null.close()
    assert null.closed and repr(null) == "<closed context 'null'>"
    with pytest.raises(ValueError, match="context 'null' is closed"):
        a + a
    with pytest.raises(ValueError, match="is closed"):
        gpuarray.zeros(3, context=null)
    with pytest.raises(ValueError, match="is closed"):
        null.sync()
    assert np.asarray(a).tolist() == [0, 0, 0]
    null.close()
    again = gpuarray.context("null")
    assert again is not null and gpuarray.zeros(3, context=again).size == 3


def test_the_default_device_of_the_environment_is_checked():
    with pytest.raises(ValueError, match="GPUARRAY_DEVICE='gpu7' names no device"):
        Config.from_environment({"GPUARRAY_DEVICE": "gpu7"})
    assert Config.from_environment({"GPUARRAY_DEVICE": "cuda1"}).device == "cuda1"


def test_contexts_are_kept_by_name_and_may_be_the_default(null):
    assert gpuarray.context("null") is null and gpuarray.init("null") is null
    assert gpuarray.context(null) is null
    with null.as_default() as chosen:
        assert chosen is null and gpuarray.get_default_context() is null
        assert gpuarray.zeros(2).context is null
    gpuarray.set_default_context("null")
    assert gpuarray.zeros(2).context is null
    gpuarray.set_default_context(None)


# ---- memory ----


def test_memory_beyond_the_limit_is_refused_and_freed_memory_comes_back(context):
    context.sync()
    context.trim()
    held = context.memory_info()
    context.limit = held.live + held.cached + (1 << 20)
    try:
        with pytest.raises(MemoryError, match=r"4000000|limit"):
            gpuarray.zeros(1_000_000, "float32", context)
        assert works(context)
    finally:
        context.limit = 0
    gpuarray.zeros(1_000_000, "float32", context)
    with pytest.raises(ValueError, match="expected 0"):
        context.limit = -1


def test_more_than_a_device_can_address_is_refused(context):
    with pytest.raises(GpuArrayError, match=r"empty|bytes"):
        gpuarray.empty((2**31, 2**31, 2**31), "float64", context)
    with pytest.raises(MemoryError):
        gpuarray.empty((2**45,), "float64", context)
    assert works(context)


def test_deleted_arrays_give_their_memory_back(context):
    context.sync()
    before = context.memory_info()
    a = gpuarray.zeros(1000, "float32", context)
    during = context.memory_info()
    assert during.n_live == before.n_live + 1
    assert during.live >= before.live + 4000
    del a
    assert context.memory_info().n_live == before.n_live
    context.trim()
    assert context.memory_info().cached == 0


# ---- kernels ----

GOOD = """
KERNEL void twice(GLOBAL_MEM ga_float *x, ga_size n, ga_float by) {
  for (ga_size i = GID_0 * LDIM_0 + LID_0; i < n; i += GDIM_0 * LDIM_0)
    x[i] *= by;
}
"""
TYPES = [gpuarray.Array, gpuarray.SIZE, "float32"]


def test_a_kernel_of_the_user_runs(context):
    x = gpuarray.asarray(np.arange(1000, dtype="float32"), context=context)
    kernel = gpuarray.GpuKernel(GOOD, "twice", TYPES, context)
    kernel(x, 1000, 2.0, n=1000)
    kernel(x, 1000, 3.0, blocks=4, threads=32)
    assert np.asarray(x).tolist() == (np.arange(1000) * 6.0).tolist()


def test_a_kernel_that_does_not_compile_shows_log_and_source(context):
    source = GOOD.replace("*= by", "*= buy")
    with pytest.raises(gpuarray.KernelError, match="buy") as caught:
        gpuarray.GpuKernel(source, "twice", TYPES, context)
    assert "KERNEL void twice" in str(caught.value)
    assert works(context)


def test_a_kernel_that_is_not_in_the_source_is_named(context):
    with pytest.raises(GpuArrayError, match="thrice"):
        gpuarray.GpuKernel(GOOD, "thrice", TYPES, context)
    assert works(context)


def test_wrong_arguments_of_a_kernel_are_named(context, null):
    kernel = gpuarray.GpuKernel(GOOD, "twice", TYPES, context)
    x = gpuarray.zeros(3, "float32", context)
    with pytest.raises(TypeError, match="2 arguments, expected 3"):
        kernel(x, 3, n=3)
    with pytest.raises(TypeError, match="argument 0 is int"):
        kernel(3, 3, 1.0, n=3)
    with pytest.raises(ValueError, match="on null, the kernel on"):
        kernel(gpuarray.zeros(3, "float32", null), 3, 1.0, n=3)
    with pytest.raises(ValueError, match="give n, or both"):
        kernel(x, 3, 1.0)
    with pytest.raises(ValueError, match="same 1 to 3 dimensions"):
        kernel(x, 3, 1.0, blocks=(1, 1), threads=1)
    assert works(context)


# ---- the null device ----


COMPUTING = [
    lambda a: a + a,
    lambda a: a * 2,
    lambda a: a.sum(),
    lambda a: gpuarray.sort(a),
    lambda a: a[:, ::-1].copy(),
    lambda a: a[gpuarray.zeros(2, "int64", "null")],
    lambda a: gpuarray.ones(3, context="null"),
    lambda a: gpuarray.RawKernel("KERNEL void f(GLOBAL_MEM float *x) {}", "f")(a, n=1),
]


@pytest.mark.parametrize("compute", COMPUTING)
def test_the_null_device_refuses_to_compute(a, compute):
    with pytest.raises(NotImplementedError, match="null device holds arrays and comp"):
        compute(a)
    assert np.asarray(a.copy()).tolist() == np.zeros((3, 4)).tolist()


def test_the_null_device_may_run_dry(null):
    a = gpuarray.zeros(3, context=null)
    null.runs_dry = True
    try:
        assert (a + a).shape == (3,)
    finally:
        null.runs_dry = False
    with pytest.raises(NotImplementedError):
        a + a


def test_masks_pick_nothing_on_a_dry_device(null):
    gpuarray.asarray(np.full(999, -1), context=null)  # what freed memory then holds
    mask = gpuarray.asarray(np.ones(7, bool), context=null)
    null.runs_dry = True
    try:
        assert gpuarray.empty(7, context=null)[mask].shape == (0,)
    finally:
        null.runs_dry = False


def test_only_the_null_device_runs_dry(context):
    with pytest.raises(ValueError, match="runs its kernels"):
        context.runs_dry = True


# ---- devices that are not there ----


@pytest.mark.parametrize("name", ["cuda77", "opencl77:0", "opencl0:77", "gpu"])
def test_a_wrong_name_says_which_devices_there_are(first_context, name):
    with pytest.raises(GpuArrayError) as caught:
        gpuarray.context(name)
    _, devices = str(caught.value).split("the devices of this machine are ")
    assert first_context.name in devices.split(";")[0].split(", ")
    assert "pip install" not in str(caught.value)


def test_a_device_of_the_list_is_a_context(first_context):
    (found,) = (one for one in gpuarray.devices() if one.context == first_context.name)
    assert gpuarray.context(found) is first_context
    assert gpuarray.asarray([1.0], context=found).context is first_context


# ---- kernels that do not compile ----


def test_a_long_log_is_cut_to_the_first_mistake(context):
    lines = "".join(f"  int a{i} = {i};\n" for i in range(60))
    head = "KERNEL void f(GLOBAL_MEM float *x) {\n"
    kernel = gpuarray.RawKernel(f"{head}{lines}  x[0] = nowhere;\n}}", "f")
    with pytest.raises(gpuarray.KernelError) as caught:
        kernel(gpuarray.zeros(1, "float32", context), n=1)
    said = str(caught.value)
    assert len(said.splitlines()) <= 15
    assert "nowhere" in said and "  62    x[0] = nowhere;" in said
    assert "int a59" in said and "int a3;" not in said
    assert "  10    int a8 = 8;" in caught.value.details
    assert works(context)
