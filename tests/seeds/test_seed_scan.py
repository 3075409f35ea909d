"""The programs with ``scan`` of the slides "GPU Programming made Easy" (HPCS 2011)."""

import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy
import pytest
from gpuarray.compiler.plan_steps import LoopStep

pytestmark = pytest.mark.usefixtures("on_context")


def inner_fct(prior_result, A):
    return prior_result * A


def test_power():
    k = T.iscalar("k")
    A = T.vector("A")
    # Symbolic description of the result
    result, updates = theano.scan(
        fn=inner_fct, outputs_info=T.ones_like(A), non_sequences=A, n_steps=k
    )
    # Scan has provided us with A**1 through A**k. Keep only the last
    # value. Scan notices this and does not waste memory saving them.
    final_result = result[-1]
    power = theano.function(inputs=[A, k], outputs=final_result, updates=updates)
    assert power(range(10), 2).tolist() == [0, 1, 4, 9, 16, 25, 36, 49, 64, 81]
    (loop,) = (step for step in power.plan.steps if isinstance(step, LoopStep))
    assert {power.plan.array(n).ndim for n in loop.outs} == {1}  # no trace


def components_of(coefficients, x, most=10000):
    full_range = theano.tensor.arange(most)
    components, _ = theano.scan(
        fn=lambda coeff, power, free_var: coeff * (free_var**power),
        outputs_info=None,
        sequences=[coefficients, full_range],
        non_sequences=x,
    )
    return components


def test_polynomial():
    coefficients = theano.tensor.vector("coefficients")
    x = T.scalar("x")
    polynomial = components_of(coefficients, x).sum()
    calculate_polynomial = theano.function(inputs=[coefficients, x], outputs=polynomial)
    test_coeff = numpy.asarray([1, 0, 2], dtype=numpy.float32)
    assert calculate_polynomial(test_coeff, 3) == 19.0


def test_exercise_5_the_reduction_is_done_by_scan():
    coefficients = theano.tensor.vector("coefficients")
    x = T.scalar("x")
    sums, _ = theano.scan(
        fn=lambda coeff, power, sofar, free_var: sofar + coeff * (free_var**power),
        outputs_info=T.as_tensor_variable(numpy.asarray(0, "float64")),
        sequences=[coefficients, theano.tensor.arange(10000)],
        non_sequences=x,
    )
    calculate_polynomial = theano.function(inputs=[coefficients, x], outputs=sums[-1])
    assert calculate_polynomial(numpy.asarray([1, 0, 2], "float32"), 3) == 19.0


def test_sum_is_a_loop_over_z_plus_x():
    x = T.vector("x")
    total, _ = theano.reduce(
        lambda x_i, z: z + x_i, x, T.as_tensor_variable(numpy.asarray(0, "float64"))
    )
    assert theano.function([x], total)([1, 2, 3.5]) == 6.5


def test_previous_steps_a_stopping_condition_and_a_gradient():
    start, most = T.vector("start"), T.scalar("most")
    sums, _ = theano.scan(
        lambda a, b, most: (a + b, theano.scan_module.until(a + b > most)),
        outputs_info={"initial": start, "taps": [-2, -1]},
        non_sequences=most,
        n_steps=100,
    )
    slope = T.grad(sums[-1], start)
    f = theano.function([start, most], [sums, slope])
    numbers, by_start = f([1, 1], 20)
    assert numbers.tolist() == [2, 3, 5, 8, 13, 21]
    assert by_start.tolist() == [8, 13]
