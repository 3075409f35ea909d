"""Loops with ``until`` whose iterations are several launches."""

import gpuarray.compiler.tensor as T
import numpy as np
from gpuarray.compiler import config, function, scan
from gpuarray.compiler.ops.elemwise.elemwise import Composite, Elemwise
from gpuarray.compiler.ops.scan.scan import Scan
from gpuarray.compiler.scan_module import until


def test_counters_beside_a_product_are_one_launch(context):
    """What counts iterations, and what ends them, is elementwise over one scalar."""
    with config.use(device=context.name, floatX="float32"):
        a, x = T.fmatrix("a"), T.fvector("x")

        def step(v, k, a):
            return [T.dot(a, v), k + 2], until(T.ge(k, 7))

        zero = T.constant(0, dtype="int64")
        (traces, counts), _ = scan(
            step, outputs_info=[x, zero], non_sequences=[a], n_steps=30
        )
        f = function([a, x], [traces[-1], counts])
    (loop,) = [n for n in f.maker.fgraph.toposort() if isinstance(n.op, Scan)]
    steps = [n.op for n in loop.op.placed_body.toposort() if isinstance(n.op, Elemwise)]
    assert len([op for op in steps if isinstance(op.scalar, Composite)]) == 1
    assert len(steps) <= 2  # the vector stays what it was once the condition held
    turn = np.array([[0, 1], [-1, 0]], "float32")
    last, numbers = f(turn, np.array([1, 2], "float32"))
    np.testing.assert_array_equal(numbers, [2, 4, 6, 8, 10])
    np.testing.assert_array_equal(last, np.linalg.matrix_power(turn, 5) @ [1, 2])


def test_an_integer_of_a_state_may_be_a_length(context):
    with config.use(device=context.name, floatX="float32"):
        x, zero = T.fvector("x"), T.constant(0, dtype="int64")
        counts, sums = scan(
            lambda k, x: [k + 1, x[: k * 2 + 1].sum()],
            outputs_info=[zero, None],
            non_sequences=[x],
            n_steps=3,
        )[0]
        f = function([x], [counts, sums])
    numbers, totals = f(np.arange(1, 9, dtype="float32"))
    np.testing.assert_array_equal(numbers, [1, 2, 3])
    np.testing.assert_array_equal(totals, [1, 6, 15])
