"""NumPy's functions of variables with all that they take, drawn, by their references.

The calls are those of the array package. NumPy is the judge of values and shapes; what
each op on the way tells of the shape of its result must be so. What is not offered for
variables says so with an error of the compiler's.
"""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from differential import cases, outcome
from evaluate import evaluate
from functions import Draw
from gpuarray.compiler.errors import CompilerError
from gpuarray.compiler.graph.core import Constant, Variable, constant
from gpuarray.compiler.graph.traverse import toposort
from gpuarray.compiler.ops.linalg.products import batched
from gpuarray.compiler.ops.protocols import dispatch
from gpuarray.compiler.tensor import nlinalg

CASES = cases()
DRAWS = 16
# For which an axis of length 1 that is not known as such is as any other.
BROADCASTING = {
    "broadcast_arrays",
    "broadcast_to",
    "choose",
    "where",
    "select",
    "squeeze",
}


def is_offered(name):
    """Whether there is a function of the name for variables."""
    module, _, last = name.rpartition(".")
    known = any(hasattr(each, last) for each in (T, nlinalg))
    return name in dispatch.OWN or (known and module != "fft")


def as_variables(value, found, flags):
    """An argument with variables for its arrays; ``found`` has what they are."""
    if isinstance(value, np.ndarray):
        pattern = [flags and length == 1 for length in value.shape]
        variable = T.TensorType(value.dtype.name, pattern)()
        found[variable] = value
        return variable
    if isinstance(value, list | tuple):
        return type(value)(as_variables(each, found, flags) for each in value)
    return value


def parts_of(result):
    """The arrays or variables of a result, which may be nested."""
    if isinstance(result, list | tuple):
        return [part for each in result for part in parts_of(each)]
    return [result]


def shapes_told(outputs, values):
    """Lengths that ops tell of their results, with the lengths that these have."""
    nodes = toposort(outputs)
    variables = [*values, *(each for node in nodes for each in node.outputs)]
    arrays = evaluate(variables, values)
    shape_of = {v: np.shape(a) for v, a in zip(variables, arrays, strict=True)}
    pairs = []
    for node in nodes:
        known = [
            np.shape(each.data) if isinstance(each, Constant) else shape_of[each]
            for each in node.inputs
        ]
        given = [tuple(constant(n, "int64") for n in shape) for shape in known]
        told = node.op.infer_shape(node, given)
        for output, lengths in zip(node.outputs, told, strict=True):
            assert len(lengths) == output.type.ndim
            real = shape_of[output]
            pairs += [
                (n, m) for n, m in zip(lengths, real, strict=True) if n is not None
            ]
    return pairs


def compared(name, seed):
    """Compare a drawn call with NumPy's; whether it is offered for variables."""
    case = CASES[name]
    args, options = case.draw(Draw(seed, special=seed % 2 == 0))
    expected = outcome(case.numpy(), args, options)
    values = {}
    broadcasts = isinstance(case.numpy(), np.ufunc) or name in BROADCASTING
    flags = broadcasts or seed % 3 == 0
    args = as_variables(args, values, flags)
    options = {k: as_variables(v, values, flags) for k, v in options.items()}
    if name == "reciprocal" and next(iter(values.values())).dtype.kind in "iub":
        return False  # which gives floats, as Theano's
    if not values or isinstance(expected, Exception):
        return False
    try:
        with np.errstate(all="ignore"):
            made = parts_of(case.numpy()(*args, **options))
    except (CompilerError, NotImplementedError):
        return False
    outputs = [each for each in made if isinstance(each, Variable)]
    if not outputs:
        return False
    with np.errstate(all="ignore"):
        found = evaluate(outputs, values)
    rights = [np.asarray(each) for each in parts_of(expected)]
    assert len(made) == len(rights)
    rights = [
        right
        for each, right in zip(made, rights, strict=True)
        if isinstance(each, Variable)
    ]
    for value, right in zip(found, rights, strict=True):
        assert value.shape == right.shape
        assert_near(value, right, case.rtol)
    with np.errstate(all="ignore"):
        pairs = shapes_told(outputs, values)
        lengths = [n if isinstance(n, Variable) else constant(n) for n, _ in pairs]
        assert evaluate(lengths, values) == [m for _, m in pairs]
    return True


def assert_near(value, right, rtol):
    """Equal to the digits that the narrower of the dtypes has.

    A sum of small integers wraps in their dtype, as Theano's does; of small integers
    NumPy gives halves, which end before our floats do.
    """
    if value.dtype.kind in "iu" and right.dtype.kind in "iu":
        right = right.astype(value.dtype)
    digits = [np.finfo(x.dtype).eps for x in (value, right) if x.dtype.kind in "fc"]
    tolerance = max(digits, default=0) * 8 * rtol
    size = np.abs(right[np.isfinite(right)]).max(initial=0)
    kept = np.isfinite(right) | (value.dtype.itemsize <= right.dtype.itemsize)
    np.testing.assert_allclose(
        value[kept].astype("c16"),
        right[kept].astype("c16"),
        tolerance,
        tolerance * size,
    )


@pytest.mark.filterwarnings("ignore:(Mean of empty|Degrees of freedom)")
@pytest.mark.parametrize("name", sorted(CASES))
def test_drawn(name):
    failed, done = [], 0
    for seed in range(DRAWS):
        try:
            done += compared(name, seed)
        except Exception as error:
            failed.append(f"seed {seed}: {type(error).__name__}: {error}")
    assert not failed, "\n".join(failed)
    assert done or not is_offered(name)


SMALL = np.array([[1.0, 4.0], [2.0, 8.0], [3.0, 5.0]])
# What no draw has met, or few of them would.
CALLS = [
    *(
        pytest.param(
            lambda x, ddof=ddof: (np.var(x, 0, ddof=ddof), np.std(x, 1, ddof=ddof)),
            SMALL,
            id=f"ddof {ddof}",
        )
        for ddof in (1, 2, 3, 4, 0.5)
    ),
    *(
        pytest.param(lambda x, a=a, b=b: np.clip(x, a, b), SMALL, id=f"clip {a} {b}")
        for a, b in ((None, None), (2.0, None), (None, 3.0), (3.0, 2.0))
    ),
    pytest.param(lambda x: np.cov(x, rowvar=False), SMALL[:, 0], id="cov of a vector"),
    pytest.param(lambda x: np.pad(x, 1, "mean"), SMALL > 2, id="mean of truths"),
    pytest.param(lambda x: np.inner(x, x), SMALL[:2], id="inner of a square"),
]


@pytest.mark.filterwarnings("ignore:Degrees of freedom")
@pytest.mark.parametrize(("call", "array"), CALLS)
def test_calls_at_the_edges(call, array):
    x = T.TensorType(array.dtype.name, (False,) * array.ndim)()
    with np.errstate(all="ignore"):
        right = parts_of(call(array))
        found = evaluate(parts_of(call(x)), {x: array})
    for value, its in zip(found, right, strict=True):
        assert value.shape == np.shape(its)
        assert_near(value, np.asarray(its), 1)


@pytest.mark.parametrize("lengths", [(1, 2), (2, 1), (1, 1), (2, 2)])
def test_stacks_of_one_matrix_are_as_long_as_the_other(lengths):
    stacks = [
        np.arange(n * 6.0).reshape(n, *s)
        for n, s in zip(lengths, ((3, 2), (2, 3)), strict=True)
    ]
    x, y = (T.TensorType("float64", (len(a) == 1, False, False))() for a in stacks)
    values = {x: stacks[0], y: stacks[1]}
    output = batched(x, y)
    np.testing.assert_array_equal(evaluate(output, values), np.matmul(*stacks))
    assert all(evaluate(n, values) == m for n, m in shapes_told([output], values))


def test_a_list_of_axes_is_no_number_of_them():
    x = T.dmatrix("x")
    for axes in ([1], (1,)):
        with pytest.raises((CompilerError, ValueError)):
            T.tensordot(x, x, axes)


def test_methods_of_what_is_no_row_are_refused_by_name():
    x, own = T.dmatrix("x"), np.frompyfunc(max, 2, 1)
    with pytest.raises(CompilerError, match=r"outer: not offered"):
        own.outer(x, x)
