"""What each op says of itself: that it is told apart by all that it is made of, too.

Two nodes whose ops compare equal become one, and a compiled function is found again by
its ops; so what an op is given when it is made stands in ``__props__``.
"""

import importlib
import inspect
import pkgutil

import gpuarray.compiler
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import function
from gpuarray.compiler.gradient import (
    disconnected_grad,
    grad_clip,
    grad_scale,
    zero_grad,
)
from gpuarray.compiler.graph.core import Op
from gpuarray.compiler.ops.reduce.reduce import Reduce

MARKS = {
    "zero": zero_grad,
    "disconnected": disconnected_grad,
    "clip": lambda x: grad_clip(x, -1, 1),
    "scale": lambda x: grad_scale(x, 2),
}

# What these are made of, where they are told apart by something else.
OTHERWISE = {
    "CGpuKernelBase": "a user's class says",
    "ExternalCOp": "a user's class says",
    "KernelOp": "the name stands for the functions on the host",
    "OpFromGraph": "its graph, compared as a graph",
    "Elemwise": "the row's key",
    "Rowwise": "the pattern as items",
    "MultiTensor": "the pattern as items",
    "Solve": "the other three are hints without a meaning here",
}


def ops():
    """Every class of ops of the compiler that says how it is made."""
    package = gpuarray.compiler
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(found.name)
    waiting, seen = [Op], set()
    while waiting:
        known = {x for x in waiting.pop().__subclasses__() if x not in seen}
        waiting += known
        seen |= known
    ours = [x for x in seen if x.__module__.startswith(package.__name__)]
    made = [x for x in ours if x.__init__ is not Op.__init__]
    return sorted(made, key=lambda x: (x.__module__, x.__name__))


@pytest.mark.parametrize("op", ops(), ids=lambda op: op.__name__)
def test_props_are_what_an_op_is_made_of(op):
    parameters = [*inspect.signature(op.__init__).parameters][1:]
    if op.__name__ in OTHERWISE:
        assert set(getattr(op, "__props__", ())) != set(parameters)
        return
    assert sorted(op.__props__) == sorted(parameters)


@pytest.mark.parametrize("monoid", ["maximum", "minimum", "add", "mul"])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)], ids=str)
def test_a_fold_of_none_says_where_it_begins(monoid, axes):
    nothing = np.zeros((0, 3), "float32")
    first = {"maximum": -np.inf, "minimum": np.inf, "add": 0, "mul": 1}[monoid]
    right = np.full(nothing.sum(axes).shape, first, "float32")
    got = Reduce(monoid, axes, of_none=True).reference(nothing)
    np.testing.assert_array_equal(got, right, strict=True)
    if np.isinf(first) and 0 in axes:
        with pytest.raises(ValueError):
            Reduce(monoid, axes).reference(nothing)


@pytest.mark.parametrize("mark", MARKS.values(), ids=MARKS)
def test_the_shape_of_a_marked_value_is_that_of_the_value(mark):
    x = T.fmatrix("x")
    f = function([x], mark(x).shape)
    assert f(np.ones((2, 5), "float32")).tolist() == [2, 5]
    node = mark(x).owner
    assert node.op.infer_shape(node, [(7, 8)]) == [(7, 8)]
