"""NumPy's own functions called with variables: ours of that name, or an error."""

import math

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import Mode, function, shared
from gpuarray.compiler.errors import GraphTypeError
from gpuarray.compiler.ops.protocols import dispatch
from gpuarray.compiler.tensor import nlinalg, slinalg
from gpuarray.scalars import SCALARS

VECTOR = np.array([0.5, -1.5, 2.0, 0.0])
OTHER = np.array([1.0, 0.25, -3.0, 2.0])
MATRIX = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
CUBE = np.arange(24.0).reshape(2, 3, 4)[:, ::-1]
COUNTS = np.array([3, 0, 1, 3])

x, y = T.dvector("x"), T.dvector("y")
m = T.dmatrix("m")

DISPATCHER = type(np.concatenate)


def value_of(expression, symbols):
    """What a function of the expressions gives; lists and tuples part by part."""
    mode = Mode(optimizer=None)
    if isinstance(expression, (list, tuple)):
        return [value_of(each, symbols) for each in expression]
    if not hasattr(expression, "owner"):
        return expression
    inputs, values = zip(*symbols, strict=True)
    run = function(list(inputs), expression, mode=mode, on_unused_input="ignore")
    return run(*values)


def check(call, *arrays):
    """``call`` of variables gives what it gives for arrays."""
    symbols = [(T.TensorType(a.dtype.name, (False,) * a.ndim)(), a) for a in arrays]
    found = value_of(call(*(symbol for symbol, _ in symbols)), symbols)
    with np.errstate(all="ignore"):
        wanted = call(*arrays)
    if not isinstance(found, list):
        found, wanted = [found], [wanted]
    assert len(found) == len(wanted)
    for mine, its in zip(found, wanted, strict=True):
        if isinstance(mine, (bool, np.dtype)):
            assert mine == its
            continue
        assert np.shape(mine) == np.shape(its)
        np.testing.assert_allclose(mine, its, rtol=1e-6, atol=1e-12)


CASES = {
    "all": (lambda x: np.all(x, axis=1), MATRIX),
    "allclose": (lambda x, y: np.allclose(x, y, rtol=5), VECTOR, OTHER),
    "amax": (lambda x: np.amax(x, 1), MATRIX),
    "amin": (lambda x: np.amin(x, 1), MATRIX),
    "angle": (lambda x: np.angle(x + 1j, deg=True), VECTOR),
    "any": (lambda x: np.any(x, axis=0), MATRIX),
    "argmax": (lambda x: np.argmax(x, axis=1), MATRIX),
    "argmin": (lambda x: np.argmin(x), MATRIX),
    "argsort": (lambda x: np.argsort(x, axis=0), MATRIX),
    "around": (lambda x: np.around(x * 1.2345, 2), MATRIX),
    "atleast_1d": (lambda x, y: np.atleast_1d(x, y), VECTOR, MATRIX),
    "atleast_2d": (lambda x: np.atleast_2d(x), VECTOR),
    "atleast_3d": (lambda x: np.atleast_3d(x), MATRIX),
    "bincount": (lambda n: np.bincount(n, minlength=6), COUNTS),
    "broadcast_arrays": (lambda x, y: np.broadcast_arrays(x, y), MATRIX, MATRIX),
    "broadcast_to": (lambda x: np.broadcast_to(x, (2, 4)), VECTOR),
    "can_cast": (lambda x: np.can_cast(x.dtype, "float32"), VECTOR),
    "choose": (lambda n, x: np.choose(n % 2, [x, -x]), COUNTS, VECTOR),
    "clip": (lambda x: np.clip(x, -1.0, 1.0), VECTOR),
    "compress": (lambda x: np.compress([True, False, True], x, axis=1), MATRIX),
    "concat": (lambda x, y: np.concatenate([x, y, OTHER]), VECTOR, OTHER),
    "concatenate": (lambda x, y: np.concatenate((x, y), axis=1), MATRIX, MATRIX),
    "copy": (lambda x: np.copy(x), VECTOR),
    "count_nonzero": (lambda x: np.count_nonzero(x, axis=0), VECTOR),
    "cov": (lambda x: np.cov(x), MATRIX),
    "cumprod": (lambda x: np.cumprod(x, axis=1), MATRIX),
    "cumsum": (lambda x: np.cumsum(x), MATRIX),
    "diag": (lambda x: np.diag(x, k=1), VECTOR),
    "diagonal": (lambda x: np.diagonal(x, 1, axis1=1, axis2=2), CUBE),
    "diff": (lambda x: np.diff(x, 2, axis=0), MATRIX),
    "dot": (lambda x, y: np.dot(x, y), VECTOR, OTHER),
    "expand_dims": (lambda x: np.expand_dims(x, (0, 2)), VECTOR),
    "flatnonzero": (lambda x: np.flatnonzero(x), VECTOR),
    "flip": (lambda x: np.flip(x, (0, -1)), CUBE),
    "fliplr": (lambda x: np.fliplr(x), MATRIX),
    "flipud": (lambda x: np.flipud(x), MATRIX),
    "full_like": (lambda x: np.full_like(x, 3.0), MATRIX),
    "hstack": (lambda x, y: np.hstack([x, y]), MATRIX, MATRIX),
    "i0": (lambda x: np.i0(x), VECTOR),
    "imag": (lambda x: np.imag(x * 2j), VECTOR),
    "inner": (lambda x, y: np.inner(x, y), CUBE, VECTOR),
    "isclose": (lambda x, y: np.isclose(x, y, atol=2), VECTOR, OTHER),
    "iscomplexobj": (lambda x: np.iscomplexobj(x), VECTOR),
    "isrealobj": (lambda x: np.isrealobj(x), VECTOR),
    "kron": (lambda x, y: np.kron(x, y), VECTOR, MATRIX),
    "linspace": (lambda x: np.linspace(x[0], 3.0, 5), VECTOR),
    "max": (lambda x: np.max(x, axis=(0, 2), keepdims=True), CUBE),
    "mean": (lambda x: np.mean(x, axis=-1), CUBE),
    "min": (lambda x: np.min(x), CUBE),
    "moveaxis": (lambda x: np.moveaxis(x, 0, -1), CUBE),
    "ndim": (lambda x: np.ndim(x), CUBE),
    "nonzero": (lambda x: np.nonzero(x), MATRIX),
    "ones_like": (lambda x: np.ones_like(x), MATRIX),
    "outer": (lambda x, y: np.outer(x, y), VECTOR, OTHER),
    "pad": (lambda x: np.pad(x, 2, mode="constant", constant_values=7), VECTOR),
    "permute_dims": (lambda x: np.transpose(x, (2, 0, 1)), CUBE),
    "prod": (lambda x: np.prod(x, 0), MATRIX),
    "ptp": (lambda x: np.ptp(x, axis=0), MATRIX),
    "ravel": (lambda x: np.ravel(x), CUBE),
    "ravel_multi_index": (lambda n: np.ravel_multi_index((n, n), (4, 5)), COUNTS),
    "real": (lambda x: np.real(x), VECTOR),
    "repeat": (lambda x: np.repeat(x, 2, axis=0), MATRIX),
    "reshape": (lambda x: np.reshape(x, (4, -1)), CUBE),
    "result_type": (lambda x: np.result_type(x, np.float32), VECTOR),
    "roll": (lambda x: np.roll(x, 2), VECTOR),
    "rollaxis": (lambda x: np.rollaxis(x, 2), CUBE),
    "round": (lambda x: np.round(x * 123.456, -1), MATRIX),
    "searchsorted": (lambda x: np.searchsorted([-1.0, 0.0, 1.0], x, "right"), VECTOR),
    "shape": (lambda x: np.shape(x), CUBE),
    "size": (lambda x: np.size(x, 1), CUBE),
    "sort": (lambda x: np.sort(x, axis=0), MATRIX),
    "split": (lambda x: np.split(x, [1, 3], axis=2), CUBE),
    "squeeze": (lambda x: np.squeeze(x[:, :1], axis=1), CUBE),
    "stack": (lambda x, y: np.stack([x, y], axis=1), VECTOR, OTHER),
    "std": (lambda x: np.std(x, axis=1, ddof=1), MATRIX),
    "sum": (lambda x: np.sum(x, axis=(0, 1), keepdims=True), CUBE),
    "swapaxes": (lambda x: np.swapaxes(x, 0, 2), CUBE),
    "take": (lambda x: np.take(x, [2, 0], axis=1), MATRIX),
    "take_along_axis": (
        lambda x: np.take_along_axis(x, np.array([[0], [2], [1]]), axis=1),
        MATRIX,
    ),
    "tensordot": (lambda x, y: np.tensordot(x, y, axes=1), CUBE, VECTOR),
    "tile": (lambda x: np.tile(x, (2, 3)), MATRIX),
    "trace": (lambda x: np.trace(x, 1), MATRIX),
    "transpose": (lambda x: np.transpose(x), CUBE),
    "tril": (lambda x: np.tril(x, -1), MATRIX),
    "triu": (lambda x: np.triu(x, 1), MATRIX),
    "unique": (lambda n: np.unique(n, return_counts=True), COUNTS),
    "unravel_index": (lambda n: np.unravel_index(n, (2, 3)), COUNTS),
    "var": (lambda x: np.var(x, ddof=1), MATRIX),
    "vdot": (lambda x, y: np.vdot(x, y), MATRIX, MATRIX),
    "vstack": (lambda x, y: np.vstack([x, y]), VECTOR, OTHER),
    "where": (lambda x, y: np.where(x > 0, x, y), VECTOR, OTHER),
    "zeros_like": (lambda x: np.zeros_like(x), MATRIX),
    "linalg.cholesky": (lambda x: np.linalg.cholesky(x), MATRIX),
    "linalg.det": (lambda x: np.linalg.det(x), MATRIX),
    "linalg.diagonal": (lambda x: np.linalg.diagonal(x), CUBE),
    "linalg.eig": (lambda x: np.linalg.eig(x)[0].real.sum(), MATRIX),
    "linalg.eigh": (lambda x: np.linalg.eigh(x)[0], MATRIX),
    "linalg.eigvalsh": (lambda x: np.linalg.eigvalsh(x), MATRIX),
    "linalg.inv": (lambda x: np.linalg.inv(x), MATRIX),
    "linalg.lstsq": (lambda x: np.linalg.lstsq(x, x[0])[0], MATRIX),
    "linalg.matrix_power": (lambda x: np.linalg.matrix_power(x, 3), MATRIX),
    "linalg.norm": (lambda x: np.linalg.norm(x, 1, axis=0), MATRIX),
    "linalg.pinv": (lambda x: np.linalg.pinv(x), MATRIX),
    "linalg.qr": (lambda x: np.abs(np.linalg.qr(x)[1]), MATRIX),
    "linalg.solve": (lambda x: np.linalg.solve(x, x[0]), MATRIX),
    "linalg.svd": (lambda x: np.linalg.svd(x, compute_uv=False), MATRIX),
    "linalg.tensorinv": (lambda x: np.linalg.tensorinv(x, ind=1), MATRIX),
    "linalg.tensorsolve": (lambda x: np.linalg.tensorsolve(x, x[0]), MATRIX),
    "linalg.trace": (lambda x: np.linalg.trace(x), CUBE),
}
"""A call of each function of NumPy's that has a counterpart."""


def names_in_both():
    """NumPy's functions of which there is one of ours by the same name."""
    plain = {n for n in T.__all__ if isinstance(getattr(np, n, None), DISPATCHER)}
    listed = {*nlinalg.__all__, *slinalg.__all__}
    linear = {n for n in listed if isinstance(getattr(np.linalg, n, None), DISPATCHER)}
    return {*plain, *(f"linalg.{n}" for n in linear)}


def test_every_function_of_both_names_is_among_the_cases():
    offered = names_in_both() | {*dispatch.OWN, *dispatch.SYNONYMS}
    assert offered - {*dispatch.WRITES} == {*CASES}


@pytest.mark.filterwarnings("ignore::gpuarray.HostNotice")
@pytest.mark.parametrize("name", CASES)
def test_a_function_gives_what_it_gives_of_arrays(name):
    call, *arrays = CASES[name]
    check(call, *arrays)


UFUNCS = {
    row.ufunc: row for row in SCALARS.values() if row.ufunc and row.ufunc.nout == 1
}


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_a_ufunc_is_the_function_of_its_row(ufunc):
    row = UFUNCS[ufunc]
    takes_floats = any(loop.startswith("d" * ufunc.nin) for loop in ufunc.types)
    x = T.TensorType("float64" if takes_floats else "int64", (False,))("x")
    operands = [x] * ufunc.nin
    made = ufunc(*operands)
    assert made.owner.op == dispatch.math.FUNCTIONS[row.name](*operands).owner.op


@pytest.mark.parametrize("ufunc", [np.divmod, np.modf, np.frexp])
def test_ufuncs_of_two_results(ufunc):
    arrays = [VECTOR, OTHER][: ufunc.nin]
    check(lambda *given: list(ufunc(*given)), *arrays)


def test_operators_between_arrays_and_variables():
    check(lambda x: VECTOR * x, OTHER)
    check(lambda x: np.float64(2) * x - np.int8(3), OTHER)
    check(lambda x: MATRIX @ x, MATRIX)
    check(lambda x: np.add(x, 1), VECTOR)
    check(lambda x: 2 ** np.abs(x), VECTOR)
    check(lambda x: np.float32(3) < x, VECTOR)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.add.reduce(x),
        lambda x: np.add.reduce(x, axis=None),
        lambda x: np.multiply.reduce(x, axis=1, keepdims=True),
        lambda x: np.maximum.reduce(x, axis=(0, 1)),
        lambda x: np.logical_and.reduce(x),
        lambda x: np.add.accumulate(x),
        lambda x: np.multiply.accumulate(x, axis=1),
        lambda x: np.subtract.outer(x, x[0]),
        lambda x: np.matmul(x, x),
    ],
)
def test_methods_of_ufuncs(call):
    check(call, MATRIX)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.where(x),
        lambda x: np.clip(x, 0.0, None),
        lambda x: np.clip(x, None, 1.0),
        lambda x: np.clip(x, min=0.0),
        lambda x: np.round(x),
        lambda x: np.split(x, 2),
        lambda x: np.size(x),
        lambda x: np.flip(x),
        lambda x: np.sum(x),
    ],
)
def test_arguments_that_are_left_out(call):
    check(call, VECTOR)


def test_python_rounds_a_variable():
    symbols = [(x, VECTOR)]
    assert [*value_of(round(x), symbols)] == [*np.round(VECTOR)]
    assert [*value_of(round(x * 0.33, 1), symbols)] == [*np.round(VECTOR * 0.33, 1)]


def test_rounding_of_integers_keeps_them():
    check(lambda n: np.round(n, 2), COUNTS)
    check(lambda n: np.round(n * 14, -1), COUNTS)


@pytest.mark.parametrize(
    ("call", "name", "instead"),
    [
        (lambda: np.median(x), "median", "T "),
        (lambda: np.einsum("i,i", x, y), "einsum", "T "),
        (lambda: np.fft.fft(x), "fft.fft", "T.fft.rfft"),
        (lambda: np.sum(x, where=[True]), "sum", "where="),
        (lambda: np.sum(x, initial=3), "sum", "initial="),
        (lambda: np.sum(x, out=np.zeros(())), "sum", "out="),
        (lambda: np.exp(x, out=np.zeros(3)), "exp", "out="),
        (lambda: np.exp(x, where=np.array([True])), "exp", "where="),
        (lambda: np.add(x, 1, dtype="float32"), "add", "T.cast"),
        (lambda: np.add.at(x, 0, 1), "add.at", "T.inc_subtensor"),
        (lambda: np.add.reduceat(x, [0]), "add.reduceat", "T "),
        (lambda: np.hypot.reduce(x), "hypot.reduce", "T "),
        (lambda: np.add.reduce(x, initial=2), "add.reduce", "initial="),
        (lambda: np.fill_diagonal(m, 0), "fill_diagonal", "new = T.fill_diagonal"),
        (lambda: np.put(x, 0, 1), "put", "T.set_subtensor"),
        (lambda: np.copyto(x, 1), "copyto", "T.where"),
        (lambda: np.concatenate([x, y], dtype="int8"), "concatenate", "dtype="),
    ],
)
def test_what_has_no_counterpart_says_so(call, name, instead):
    with pytest.raises(GraphTypeError, match="symbolic") as told:
        call()
    assert str(told.value).startswith(f"numpy.{name}: ")
    assert instead in str(told.value)


def increment(array):
    array += x


@pytest.mark.parametrize(
    ("ask", "instead"),
    [
        (lambda: bool(x), "T.switch(condition, a, b) or ifelse"),
        (lambda: bool(x > 0), "T.switch(condition, a, b) or ifelse"),
        (lambda: 1 if x > 0 else 0, "T.switch(condition, a, b) or ifelse"),
        (lambda: x and y, "T.switch"),
        (lambda: not x, "T.switch"),
        (lambda: 0 < x < 1, "&"),
        (lambda: min(x, y), "T.switch"),
        (lambda: bool(shared(1.0)), "is not None"),
        (lambda: int(x), "T.cast"),
        (lambda: float(x), "T.cast"),
        (lambda: complex(x), "T.cast"),
        (lambda: math.exp(x), "T.exp"),
        (lambda: len(x), "x.shape[0]"),
        (lambda: range(x.shape[0]), "T.arange"),
        (lambda: [1, 2][x.shape[0]], "T.as_tensor_variable"),
        (lambda: np.zeros(x.shape), "T.zeros"),
        (lambda: np.arange(x.shape[0]), "T."),
        (lambda: sum(x), "T.sum"),
        (lambda: max(x), "T.max"),
        (lambda: x in y, "T.any(T.eq("),
        (lambda: np.asarray(x), "x.eval()"),
        (lambda: np.array([x, y]), "T.as_tensor_variable"),
        (lambda: VECTOR[x], "x.eval()"),
        (lambda: VECTOR.dot(x), "T.as_tensor_variable"),
        (lambda: increment(np.zeros(3)), "out= is written"),
    ],
)
def test_asking_a_variable_for_its_value_names_ours(ask, instead):
    with pytest.raises(GraphTypeError) as told:
        ask()
    assert instead in str(told.value)


def test_a_length_that_the_graph_tells():
    assert len(m.shape) == 2
    assert len(T.row("r")) == 1
    assert len(T.stack([x[0], y[0], x[1]])) == 3
    assert [*map(len, (T.constant([1, 2]), T.constant(MATRIX)))] == [2, 3]
    with pytest.raises(TypeError, match="scalar"):
        len(T.dscalar("s"))
    check(lambda x: sum(x.shape), CUBE)


def test_variables_are_equal_only_to_themselves():
    assert x == x
    assert x != y
    assert x in [y, x]
    assert [y, x].index(x) == 1
    assert {x: 1, y: 2}[y] == 2
    assert x not in {y}


@pytest.mark.parametrize("array", [VECTOR, np.float64(2), np.int8(1)])
def test_an_array_is_no_variable(array):
    assert not array == x  # noqa: SIM201
    assert array != x
    assert not x == array  # noqa: SIM201
    assert x != array
    assert x not in [array, y]
    assert x in [array, x]


def test_comparing_by_function_is_element_by_element():
    check(lambda x, y: np.equal(x, y), VECTOR, OTHER)
    check(lambda x: np.equal(VECTOR, x), VECTOR)
    check(lambda x: np.not_equal(2.0, x), VECTOR)


def test_other_classes_are_asked_in_their_turn():
    class Other:
        __array_ufunc__ = None

        def __rmul__(self, other):
            return "other's"

        def __array_function__(self, *_):
            return "other's"

    assert np.concatenate([x, Other()]) == "other's"
    with pytest.raises(TypeError, match="shared"):
        gpuarray.zeros(3, context="null") * x


@pytest.mark.parametrize("other", [(), (3,), (3, 2), (2, 3, 2)], ids=str)
@pytest.mark.parametrize("one", [(), (3,), (2, 3), (4, 2, 3)], ids=str)
def test_a_product_is_of_arrays_of_any_axes(one, other):
    a, b = (np.arange(1.0, math.prod(each) + 1).reshape(each) for each in (one, other))
    check(np.dot, a, b)


def test_a_choice_is_between_two():
    for given in ((x > 0, y), (x > 0, None, y), (x > 0, y, None)):
        with pytest.raises((TypeError, ValueError)):
            np.where(*given)
