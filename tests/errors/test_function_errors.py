"""What a user reads who makes a mistake in compiling or calling: class and text."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import (
    CompilerError,
    In,
    Out,
    clone,
    config,
    function,
    grad,
    jacobian,
    load,
    shared,
    subgraph_grad,
)
from gpuarray.compiler.graph.core import Constant
from gpuarray.compiler.tensor.nlinalg import pinv
from gpuarray.compiler.tensor.nnet.bn import batch_normalization_train

x, y, m = T.dvector("x"), T.dvector("y"), T.dmatrix("m")
state = T.dscalar("state")
w = shared(np.ones(3), name="w")
row = shared(np.ones((1, 3)), name="row", broadcastable=(True, False))
two = Constant(x.type, np.ones(2))

MISTAKES = [
    (lambda: function(x, x), TypeError, "the inputs are x, expected a list"),
    (lambda: function([3], x), TypeError, "input 0 is 3, expected a symbolic"),
    (lambda: function([x], x, name=3), TypeError, "function: the name is 3, expected"),
    (lambda: function([x, x], x), ValueError, "x is an input twice"),
    (lambda: function([w], w), TypeError, "the shared variable w; it is read"),
    (lambda: function([two], two), TypeError, "the constant"),
    (lambda: function([In(x, implicit=True)], x), TypeError, "implicit, so it needs"),
    (lambda: function([In(x, update=x)], x), TypeError, "updated, so it needs a value"),
    (lambda: function([In(x, value="a")], x), TypeError, "the value of the input x: "),
    (
        lambda: function([In(state, value=0, update=state + x)], x),
        TypeError,
        "the update of state is .*vector",
    ),
    (lambda: function([], x), ValueError, "x is needed, but it is no input"),
    (lambda: function([x, y], x), ValueError, "the input y is not used"),
    (
        lambda: function([x], w, on_unused_input="maybe"),
        ValueError,
        "'maybe'; it takes",
    ),
    (lambda: function([x], {1: x}), TypeError, "the key 1; expected texts"),
    (lambda: function([x], object()), TypeError, "function: output 0: .*given <object"),
    (lambda: function([x], [x, Out("a")]), TypeError, "output 1: .*given 'a'"),
    (
        lambda: function([x], x, updates=[w]),
        TypeError,
        "updates holds w; expected pairs",
    ),
    (lambda: function([x], x, updates={"w": x}), TypeError, "expected a variable"),
    (
        lambda: function([x], x, updates={x: x}),
        TypeError,
        "x is updated but is no shared",
    ),
    (
        lambda: function([x], x, updates=[(w, x), (w, w)]),
        ValueError,
        "updates names w twice",
    ),
    (
        lambda: function([x], x, updates={w: T.cast(x, "float32")}),
        TypeError,
        r"the update of w is .*cast it with .astype\('float64'\)",
    ),
    (lambda: function([x], x, updates={w: x.sum()}), TypeError, "or give it axes"),
    (lambda: function([m], m, updates={row: m}), TypeError, "must do so in the update"),
    (lambda: function([x], x, updates={w: "a"}), TypeError, "the update of w: "),
    (lambda: function([x], x, no_default_updates=[x]), TypeError, "True, False, or a"),
    (lambda: function([x], x, givens={3: x}), TypeError, "an expression for 3"),
    (lambda: function([x], x, givens=[(x, y), (x, w)]), ValueError, "x twice"),
    (lambda: function([x], x, givens={x: "a"}), TypeError, "x of .* is given: "),
    (lambda: function([m], x, givens={x: m}), TypeError, "rebuild_strict=False"),
    (lambda: function([x], x, givens={x: y, y: x}), ValueError, "x needs y"),
    (
        lambda: function([], x, givens={x: w + 1, w: x * 2}),
        ValueError,
        "givens go in a circle: x needs w needs x",
    ),
    (lambda: function([x], x, mode="FAST"), ValueError, "mode='FAST' is not known"),
    (lambda: clone([3]), TypeError, "clone: given 3, expected variables"),
    (lambda: clone(3), TypeError, "clone: given 3, expected variables"),
    (lambda: clone(x, 3), TypeError, "clone: replace is 3, a int; expected a mapping"),
    (lambda: clone(x, [x]), TypeError, "clone: replace holds x; expected pairs"),
    (lambda: clone(x, {x: "a"}), TypeError, "clone: x of .* is given: "),
    (lambda: clone(x, replace={x: m}), TypeError, "pass strict=False"),
    (lambda: load(3.5), TypeError, "load: path is 3.5, a float; expected a path"),
    (lambda: jacobian((), x), TypeError, "jacobian: given 0 expressions, expected one"),
    (lambda: grad(x.sum(), x, known_grads=3), TypeError, "known_grads is 3, a int"),
    (
        lambda: subgraph_grad([x], [x], start="x"),
        TypeError,
        "subgraph_grad: start is 'x', a str; expected a mapping",
    ),
    (
        lambda: batch_normalization_train(m, x, x, epsilon="x"),
        TypeError,
        "batch_normalization_train: epsilon is 'x', a str; expected a real number",
    ),
    (lambda: pinv(m, rcond="x"), TypeError, "pinv: rcond is 'x', a str; expected"),
    (lambda: shared(np.ones(3), broadcastable=(True, False)), ValueError, "of 1 axes"),
    (lambda: shared(np.ones(3), strict=True).set_value([1]), TypeError, "is strict"),
    (lambda: row.set_value(np.ones((2, 3))), TypeError, "has length 2 on axis 0"),
]


@pytest.mark.parametrize(("mistake", "kind", "text"), MISTAKES)
def test_a_mistake_in_compiling_is_told(mistake, kind, text, null):
    with config.use(device="null"), pytest.raises(kind, match=text) as caught:
        mistake()
    assert isinstance(caught.value, CompilerError)
    assert len(str(caught.value).splitlines()) <= 15


CALLS = [
    (lambda f: f(), TypeError, r"f: given 0 inputs .* expected 2: x, state \(or its"),
    (lambda f: f([1], 2, 3), TypeError, "given 3 inputs by position"),
    (lambda f: f([1], x=[1]), TypeError, "and x by name"),
    (lambda f: f([1], z=[1]), TypeError, "and z by name"),
    (lambda f: f([1], [1]), TypeError, r"f: input 1 \(state\): .*has 1 axes"),
    (lambda f: f("a"), TypeError, r"f: input 0 \(x\)"),
    (lambda f: f(np.ones(3, "complex64")), TypeError, r"f: input 0 \(x\)"),
    (lambda f: f(x), TypeError, "given the symbolic x"),
    (lambda f: f([[1, 2], [3]]), TypeError, r"\(x\): given a list that is no array"),
    (lambda f: f([1], output_subset=[1]), ValueError, "output_subset="),
    (lambda f: f["z"], KeyError, "nothing is kept for 'z'; there are values of"),
    (lambda f: f.copy(swap={w: w}), ValueError, "w is to be swapped, but"),
]


@pytest.mark.parametrize(("mistake", "kind", "text"), CALLS)
def test_a_mistake_in_a_call_is_told(mistake, kind, text, null):
    with config.use(device="null"):
        f = function([x, In(state, value=1)], x + state, name="f")
    with pytest.raises(kind, match=text) as caught:
        mistake(f)
    assert isinstance(caught.value, CompilerError)
    assert len(str(caught.value).splitlines()) <= 15
