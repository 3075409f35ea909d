"""Conditions of rules as tables: an expression, and what one rule alone makes of it.

A table maps the name of a rule to lines ``before -> after``; ``same`` says that the
rule must not apply. Both sides are run on numbers, too. A list of expressions is a
graph of several outputs.
"""

from dataclasses import replace
from functools import partial, reduce as fold

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler.graph.core import Constant, Variable, constant
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ops.broadcast.broadcast import Rebroadcast
from gpuarray.compiler.ops.creation.joining import Join
from gpuarray.compiler.ops.elemwise.elemwise import (
    Cast,
    Composite,
    CompositeStep,
    Elemwise,
)
from gpuarray.compiler.ops.reduce.reduce import Reduce
from gpuarray.compiler.ops.shape.shape import DimShuffle, Shape_i
from gpuarray.compiler.ops.slicing.subtensor import Subtensor
from gpuarray.compiler.ops.variables.basic import MakeVector
from gpuarray.compiler.rewrites.arithmetic.exponentials import (
    logsumexp,
    sum_of_exponentials,
)
from gpuarray.compiler.rewrites.arrays.subtensor import view
from gpuarray.compiler.rewrites.engine.engine import Fixpoint, Log, examples_of
from gpuarray.compiler.rewrites.passes import all_rules
from gpuarray.scalars import SCALARS
from run_graph import run_graph
from test_rewrites import EXACT, is_same, leaves, namespace, text_of

RULES = {rule.name: rule for rule in all_rules()}

OF_DTYPES = {
    "f": "float32", "g": "float32", "h": "float16", "b": "bool", "m": "int8",
    "w": "uint8", "j": "int32", "c": "complex128", "o": "complex128",
}  # fmt: skip
"""Vectors that are of another dtype than the examples of rules have."""
LEAVES = {
    **{name: partial(T.vector, dtype=dtype) for name, dtype in OF_DTYPES.items()},
    **dict.fromkeys("nl", T.lscalar),
    **{"d": T.fscalar, "q": T.zscalar, "F": T.fmatrix, "K": T.lmatrix, "D": T.zmatrix},
    "H": lambda name: T.matrix(name, "float16"),
    **{"r": T.drow, "s": T.dcol, "p": lambda name: T.tensor("float64", (True,), name)},
}
NUMBERS = np.array([0.5, -0.0, -2.0, np.nan, np.inf, 3.0, 1.0, 0.0, -1.0])


def values_of(variable):
    """Numbers for a leaf: 4 along each axis; floats of one axis have special ones."""
    kind = variable.type
    shape = [1 if flag else 4 for flag in kind.broadcastable]
    rng = np.random.default_rng(sum(map(ord, variable.name)))
    dtype = kind.numpy_dtype
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return rng.choice([2, 0, 3, 1], shape).astype(dtype)
    if dtype.kind == "f" and kind.ndim == 1:
        return rng.choice(NUMBERS, shape).astype(dtype)
    found = rng.normal(size=shape) + (
        1j * rng.normal(size=shape) if dtype.kind == "c" else 0
    )
    return np.asarray(found).astype(dtype)


def cases(table):
    """The parameters of `check`, one for each line."""
    return [
        pytest.param(name, each.before, each.after, id=f"{name}: {each.before}")
        for name, lines in table.items()
        for each in examples_of(lines)
    ]


def check(name, before, after):
    """Apply one rule: the graph and its numbers are those of the other side."""
    rule = RULES[name]
    variables = leaves() | {each: make(each) for each, make in LEAVES.items()}
    scope = namespace(variables) | HELPERS
    left = outputs_of(before, scope)
    right = left if after == "same" else outputs_of(after, scope)
    inputs = list(variables.values())
    written, made, wanted = (
        FunctionGraph(inputs, each) for each in (left, left, right)
    )
    Fixpoint(made, [rule], Log()).run()
    made.check()
    for found, side in zip(made.outputs, wanted.outputs, strict=True):
        assert found.type == side.type
        assert is_same(found, side), text_of(found)
    values = {each: values_of(each) for each in inputs}
    judge(rule, result_of(written, values), result_of(made, values))


def long_one(value):
    """A vector of one number, whose type does not say that it has one."""
    return Constant(T.dvector, np.array([value]))


PAIR = Composite(
    ("float64", "float64"),
    (CompositeStep("add", (0, 1), "float64"), CompositeStep("mul", (0, 1), "float64")),
    (2, 3),
)
TWICE = Composite(
    ("float64",),
    (CompositeStep("exp", (0,), "float64"), CompositeStep("neg", (0,), "float64")),
    (1, 2),
)


def sub(x, *parts):
    """`x` indexed by parts as they are, nothing of which is left out or counted."""
    return view(
        x,
        [
            tuple(map(index, (p.start, p.stop, p.step)))
            if isinstance(p, slice)
            else index(p)
            for p in parts
        ],
    )


def index(part):
    """A part of an index as `view` takes it."""
    return (
        part if part is None or isinstance(part, Variable) else constant(part, "int64")
    )


def powers(x):
    """Exponentials along columns and their sums, without the largest exponents."""
    return sum_of_exponentials(T.exp(x).sum(0, keepdims=True)).shifted()


HELPERS = {
    "sub": sub,
    "inplace_exp": Elemwise(SCALARS["exp"], {0: 0}),
    "Join": Join,
    "MakeVector": MakeVector,
    "Shape_i": Shape_i,
    "Subtensor": Subtensor,
    "long_one": long_one,
    "pair": Elemwise(PAIR),
    "twice": Elemwise(TWICE),
    "fused": Elemwise(replace(TWICE, outputs=(2,))),
    "cast_to": lambda x, dtype: Elemwise(Cast(dtype))(x),
    "DimShuffle": DimShuffle,
    "Rebroadcast": Rebroadcast,
    "Reduce": Reduce,
    "lse": logsumexp,
    "powers": powers,
    "chain": lambda v, n: fold(T.mul, [v] * n),
    "negated": lambda v, n: fold(lambda done, _: -done, range(n), v),
    "np": np,
}
"""Nodes that no public function makes: of several results, or of no effect."""


def outputs_of(text, scope):
    """The variables that a text says."""
    found = eval(text, scope)
    return [found] if isinstance(found, Variable) else list(found)


def result_of(fgraph, values):
    """The arrays, or the error that running raises."""
    try:
        return run_graph(fgraph, values)
    except (AssertionError, IndexError, ValueError) as error:
        return error


def judge(rule, wanted, found):
    """The same numbers, or errors of the same class."""
    if isinstance(wanted, Exception):
        assert type(found) is type(wanted), found
        return
    for left, right in zip(wanted, found, strict=True):
        right = np.asarray(right)
        assert right.dtype == left.dtype and right.shape == left.shape
        told = np.ones(left.shape, bool) if EXACT[rule.phase] else np.isfinite(left)
        tolerance = 8 * np.finfo(left.dtype).eps if left.dtype.kind in "fc" else 0
        np.testing.assert_allclose(
            right[told], left[told], rtol=tolerance, atol=tolerance
        )
