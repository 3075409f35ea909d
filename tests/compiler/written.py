"""Expressions as text, read twice: of variables with our functions, and of arrays.

``m`` is our namespace on one side and NumPy on the other. Where NumPy has no such
function, what is expected of it stands behind ``::``. The ops' NumPy references compute
the values, so no kernel is compiled.
"""

import gpuarray.compiler.tensor as T
import numpy as np
from cases import f64, i32
from evaluate import evaluate
from gpuarray.compiler.compile.ops import Shape_i
from gpuarray.compiler.graph.core import constant
from gpuarray.compiler.graph.traverse import toposort
from gpuarray.compiler.ifelse import ifelse
from judge import assert_same
from test_gradient import assert_gradients_agree

ARRAYS = {
    "s": np.array(0.7),
    "v": f64(3),
    "w": f64(4),
    "v5": f64(5),
    "a": f64(3, 4),
    "b": f64(3, 4)[::-1] * 1.3,
    "c": f64(2, 3, 4),
    "d": f64(2, 1, 3, 2),
    "q": f64(3, 3) + 4 * np.eye(3),
    "qs": f64(2, 3, 3) + 4 * np.eye(3),
    "r": f64(1, 4),
    "k": f64(3, 1),
    "o": f64(1),
    "h": f64(1, 1),
    "l": f64(1, 3, 1),
    "u": f64(1, 4),
    "e": f64(0, 3),
    "e1": f64(0),
    "i": np.array([2, 0, -1, 1]),
    "i2": np.array([[2, 0], [-3, 1]]),
    "ir": np.array([[1, 0, 2]]),
    "ik": np.array([[1], [0]]),
    "n": np.array(2),
    "u8": np.array([3, 0, 250], "uint8"),
    "j": i32(3, 4),
    "p": np.array([2, 0, 1]),
    "g": np.array([[True, False, True, False], [False] * 4, [True] * 4]),
    "t": np.array([True, False, True]),
    "z": np.array([1 + 2j, -3j, 0.5]),
    "x32": f64(3, 4).astype("float32"),
    "x16": f64(3, 4).astype("float16"),
}
REPEATING = {
    "r": (True, False),
    "k": (False, True),
    "o": (True,),
    "h": (True, True),
    "l": (True, False, True),
    "ir": (True, False),
    "ik": (False, True),
}


SPACE = {"Shape_i": Shape_i, "T": T, "ifelse": ifelse, "np": np}


def rows(text):
    """The rows of a table, one a line; a line that is indented goes on with a row."""
    return text.strip().replace("\n    ", " ").splitlines()


def sides(text):
    """The variables of an expression, their values, its outputs, and those expected."""
    ours, _, theirs = text.partition(" :: ")
    names = compile(ours, "ours", "eval").co_names
    values = {name: ARRAYS[name] for name in ARRAYS if name in names}
    variables = {
        name: T.tensor(
            value.dtype, REPEATING.get(name, (False,) * np.ndim(value)), name
        )
        for name, value in values.items()
    }
    built = eval(ours, {**SPACE, "m": T, **variables})
    with np.errstate(all="ignore"):
        expected = eval(theirs or ours, {"m": np, "np": np, **ARRAYS})
    return list(variables.values()), list(values.values()), built, expected


def assert_numpys(text):
    """Values, dtypes and shapes are NumPy's, and what the graph says of them is so."""
    variables, arrays, built, expected = sides(text)
    given = dict(zip(variables, arrays, strict=True))
    outputs = list(built) if isinstance(built, (list, tuple)) else [built]
    wanted = list(expected) if isinstance(built, (list, tuple)) else [expected]
    for found, right in zip(evaluate(outputs, given), wanted, strict=True):
        assert_same(found, right)
    assert_shapes_are_told(outputs, given)


def assert_views(text, always):
    """What shares memory with an input is called a view of it, and ``always`` are."""
    variables, arrays, built, _ = sides(text)
    outputs = list(built) if isinstance(built, (list, tuple)) else [built]
    values = dict(zip(variables, arrays, strict=True))
    for node in toposort(outputs):
        given = [evaluate(each, values) for each in node.inputs]
        told = {
            **getattr(node.op, "view_map", {}),
            **getattr(node.op, "destroy_map", {}),
        }
        for output, result in enumerate(node.op.evaluate(node, given)):
            of = [i for i, x in enumerate(given) if np.shares_memory(x, result)]
            assert set(of) <= set(told.get(output, ())), node
            if isinstance(node.op, always) and result.ndim and result.size:
                assert of == [0], node


def assert_gradient(text):
    """The gradients by all float64 variables agree with finite differences."""
    variables, arrays, _, _ = sides(text)
    ours = text.partition(" :: ")[0]
    names = [variable.name for variable in variables]

    def build(*given):
        return eval(ours, {**SPACE, "m": T, **dict(zip(names, given, strict=True))})

    assert_gradients_agree(build, arrays, variables)


def assert_shapes_are_told(outputs, values):
    """The lengths that ops infer are those computed, and what they require is so."""
    shapes = {
        each: tuple(constant(length, "int64") for length in np.shape(values[each]))
        for each in values
    }
    for node in toposort(outputs):
        given = [
            shapes[each] if each in shapes else constant_shape(each)
            for each in node.inputs
        ]
        for wanted in node.op.requirements(node, given):
            assert_holds(wanted, values)
        told = node.op.infer_shape(node, given)
        for output, lengths in zip(node.outputs, told, strict=True):
            assert len(lengths) == output.type.ndim
            real = evaluate(output, values).shape
            for length, right in zip(lengths, real, strict=True):
                assert length is None or evaluate(constant_or(length), values) == right
            shapes[output] = tuple(constant(length, "int64") for length in real)


def constant_or(length):
    return constant(length) if isinstance(length, int) else length


def assert_holds(wanted, values):
    """What an op requires of lengths is so where it computes."""
    ends = [constant_or(each) for each in (wanted.left, wanted.right)]
    left, right = evaluate(ends, values)
    is_within = wanted.relation == "within"
    assert -right <= left < right if is_within else left == right


def constant_shape(variable):
    return tuple(constant(length, "int64") for length in np.shape(variable.data))
