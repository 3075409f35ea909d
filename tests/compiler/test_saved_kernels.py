"""Kernels of a program's own in files: what their Python may do, and what is told.

`test_clients` runs such functions at shapes that Python never saw.
"""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, kernel_op, plan as p
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.gpukernels.basic_ops import greatest, least, same
from gpuarray.compiler.gpukernels.bodies import Steps
from gpuarray.compiler.gpukernels.custom.launch_steps import bits_of
from gpuarray.compiler.gpukernels.custom.symbolic import (
    HostArray,
    HostInteger,
    Unrecordable,
)
from own_kernels import Branching, Scaled, Sums
from own_ops import windows

MATRIX = p.ArrayValue("float32", (False, False))


def of_two(signature, body, n, reference):
    """An op of two arrays, without a gradient."""

    def op(m, g, z, x, y):
        return None, None

    op.__name__ = op.__qualname__ = "of_two"
    return kernel_op(signature, body, n=n, reference=reference)(op)


added = of_two(
    "float32 x[...], float32 y[...] -> float32 z[...]",
    "for (ga_ssize i = GID_0 * LDIM_0 + LID_0; i < size; i += GDIM_0 * LDIM_0)"
    " STORE(z, i, LOAD(x, i) + LOAD(y, i));",
    "size",
    lambda x, y: x + y,
)
product_of = of_two(
    "float32 x[n, m], float32 y[m, k] -> float32 z[n, k]",
    """for (ga_ssize i = GID_0 * LDIM_0 + LID_0; i < n * k; i += GDIM_0 * LDIM_0) {
      ga_float sum = 0;
      for (ga_ssize j = 0; j < m; j++)
        sum += LOAD(x, i / k * m + j) * LOAD(y, j * k + i % k);
      STORE(z, i, sum);
    }""",
    "n * k",
    lambda x, y: x @ y,
)


def symbols():
    """The steps of a body of two integers, and these."""
    s = Steps([p.IntValue(), p.IntValue()], [])
    return s, HostInteger(s, 0), HostInteger(s, 1)


def value_of(s, x, a, b):
    """What the integer is where the two are ``a`` and ``b``, by the steps."""
    known = {0: a, 1: b}
    operations = {
        "add": lambda m, n: m + n,
        "sub": lambda m, n: m - n,
        "mul": lambda m, n: m * n,
        "floor_divide": lambda m, n: m // n,
        "mod": lambda m, n: m % n,
        "minimum": min,
        "maximum": max,
        "lt": lambda m, n: int(m < n),
        "le": lambda m, n: int(m <= n),
        "eq": lambda m, n: int(m == n),
        "bitwise_and": lambda m, n: m & n,
        "bitwise_or": lambda m, n: m | n,
    }
    for step in s.steps:
        if isinstance(step, p.HostInt):
            known[step.outs[0]] = step.value
        else:
            operands = (known[number] for number in step.ins)
            known[step.outs[0]] = operations[step.label](*operands)
    return known[x.number]


FORMULAS = [
    lambda n, m: (n + 3) // 4 * m - 1,
    lambda n, m: 5 - n + (2 * m) % 3,
    lambda n, m: 100 // (n + 10) + 7 % (m + 8),
    lambda n, m: least(n, m) * greatest(n, 3) + least(2, m),
    lambda n, m: (n < m) + 2 * (n <= m) + 4 * (n > m) + 8 * (n >= m),
    lambda n, m: (n == m) + 2 * (n != m) + 4 * (n.__gt__(3)) + 8 * (n == 2),
    lambda n, m: abs(-n) + +m,
    lambda n, m: ((n > 1) & (m > 1)) + 2 * ((n > 1) | (m > 1)),
    lambda n, m: int(np.int64(3)) * n + np.int32(2) * m,
    lambda n, m: np.prod([n, m]) + 0 * n,
]


@pytest.mark.parametrize("formula", FORMULAS)
def test_arithmetic_is_recorded_as_python_computes_it(formula):
    for a, b in [(1, 2), (2, 1), (5, 5), (7, 0), (-3, 4)]:
        s, n, m = symbols()
        assert value_of(s, formula(n, m), a, b) == formula(a, b)


@pytest.mark.parametrize(
    "use",
    [bool, int, float, hash, str, repr, range, "{}".format, lambda n: n / 2,
     lambda n: max(n, 3), lambda n: n**2, lambda n: n in {1, 2}, lambda n: [0] * n,
     lambda n: n + 0.5, lambda n: np.zeros(n), lambda n: n and 1],
)  # fmt: skip
def test_what_needs_to_know_a_number_is_refused(use):
    _, n, _ = symbols()
    with pytest.raises(Unrecordable):
        use(n)


@pytest.mark.parametrize(
    "use",
    [len, bool, np.asarray, iter, str, lambda x: x[0], lambda x: x.flags,
     lambda x: x.offset + 4, lambda x: x.strides[0] // 4, lambda x: x.offset == 0,
     lambda x: {x.offset}, lambda x: x.context, lambda x: int(x.strides[1])],
)  # fmt: skip
def test_what_needs_to_know_an_array_is_refused(use):
    x = HostArray(Steps([MATRIX], []), 0)
    assert isinstance(x, gpuarray.Array)
    assert (x.ndim, x.itemsize, x.dtype.name) == (2, 4, "float32")
    with pytest.raises(Unrecordable):
        use(x)


def test_helpers_take_numbers_as_well():
    assert (least(3, 2), greatest(3, 2)) == (2, 3)
    same(2, 2, None, "differ")
    with pytest.raises(GraphValueError, match="lengths differ"):
        same(2, 3, None, "lengths differ")


def test_numbers_are_the_bytes_of_arguments():
    for kind, value in [("float32", -1.5), ("float64", 1e300), ("int8", -1),
                        ("float16", 0.5), ("complex64", 1 + 2j), ("ssize", -7),
                        ("size", 2**64 - 1), ("bool", True)]:  # fmt: skip
        dtype = np.dtype({"ssize": "i8", "size": "u8"}.get(kind, kind))
        bits = bits_of(kind, value) % 2**64
        data = bits.to_bytes(8, "little")[: dtype.itemsize]
        assert np.frombuffer(data, dtype)[0] == dtype.type(value)
    for kind, value in [("complex128", 1j), ("int32", 1.5), ("size", np.float32(0.5))]:
        with pytest.raises(Unrecordable):
            bits_of(kind, value)


def test_a_launch_that_branches_is_named_and_runs_from_what_was_called(
    first_context, tmp_path
):
    x = T.fmatrix("x")
    value = np.float32([[1, 2, 3]])
    with config.use(device=first_context.name):
        f = function([x], Branching()(x), name="f")
        f(value)
        says = r"Branching: it branches on a number at .*own_kernels.py:\d+, made at"
        with pytest.warns(UserWarning, match=says):
            f.save(tmp_path / "f", graph=False)
    f = gpuarray.load_function(tmp_path / "f", first_context)
    np.testing.assert_array_equal(f(value), 2.5 * value - 1)
    with pytest.raises(NotImplementedError):
        f(value[:, :2])


@pytest.mark.filterwarnings("error")
def test_views_and_variants_run_from_the_file(context, tmp_path):
    x = T.fmatrix("x")
    with config.use(device=context.name):
        f = function([x], [Scaled()(x.T[::-1]), *Sums()(x)], name="f")
    f.save(tmp_path / "f", graph=False)
    g = gpuarray.load_function(tmp_path / "f", context)
    for shape in [(3, 4), (3, 5), (1, 1), (0, 4), (40, 70), (4, 0)]:
        value = np.random.default_rng(1).standard_normal(shape).astype("f4")
        wanted = [2.5 * value.T[::-1] - 1, value.sum(1)]
        for found in (f(value), g(value)):
            for each, right in zip(found, wanted, strict=False):
                np.testing.assert_allclose(each, right, rtol=1e-4, atol=1e-5)
            assert (np.asarray(found[2]) == 1 + (shape[1] > 4)).all()


def test_lengths_that_a_kernel_cannot_take_are_told(first_context, tmp_path):
    v, w, k = T.fvector("v"), T.fvector("w"), T.lscalar("k")
    x, y = T.fmatrix("x"), T.fmatrix("y")
    ones = np.ones(4, "f4")
    with config.use(device=first_context.name):
        function([v, w, k], windows(v, w, k)).save(tmp_path / "w", graph=False)
        function([x, y], added(x, y)).save(tmp_path / "a", graph=False)
        function([x, y], product_of(x, y)).save(tmp_path / "p", graph=False)
    f = gpuarray.load_function(tmp_path / "w", first_context)
    with pytest.raises(ValueError, match="length -2"):
        f(ones, ones, 7)
    for name, text in [("a", "one shape"), ("p", "m is another length in x and y")]:
        f = gpuarray.load_function(tmp_path / name, first_context)
        square = np.ones((2, 2), "f4")
        np.testing.assert_array_equal(f(square, square), 2 * square)
        with pytest.raises(ValueError, match=text):
            f(square, np.ones((3, 2), "f4"))
