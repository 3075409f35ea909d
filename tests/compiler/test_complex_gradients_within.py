"""Gradients of complex graphs are the same within loops and other ops of graphs."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import Mode, OpFromGraph, function, grad, map, scan
from loops import numbers

pytestmark = pytest.mark.usefixtures("in_float64")


C = T.constant(0.5 - 0.25j)
STEPS = {
    "square": lambda s, a: s * a + a * a,
    "scaled": lambda s, a: s * C + a,
    "conjugate": lambda s, a: T.conj(s) * C + a,
    "parts": lambda s, a: s + T.real(a) * T.imag(a) * C,
    "exponential": lambda s, a: T.exp(a * 0.5) / (2 + s),
}


def by_hand(step, z, start):
    states = [start]
    for k in range(4):
        states.append(step(states[-1], z[k]))
    return T.stack(states[1:])


def by_scan(step, z, start, **options):
    return scan(lambda a, s: step(s, a), z, start, **options)[0]


def in_segments(step, z, start):
    return by_scan(step, z, start, checkpoint=2)


def by_graphs(step, z, start):
    s, a = T.zscalar(), T.zscalar()
    op = OpFromGraph([s, a], [step(s, a)])
    return by_hand(op, z, start)


def cost(h):
    return (T.real(h) ** 2 + 3 * T.imag(h)).sum()


@pytest.mark.parametrize("through", [by_scan, in_segments, by_graphs])
@pytest.mark.parametrize("name", STEPS)
def test_states(name, through):
    z, start = T.zvector("z"), T.zscalar("start")
    arrays = numbers(4) + 1j * numbers(4, seed=1), np.complex128(0.5 + 1j)
    gradients = [
        grad(cost(each(STEPS[name], z, start)), [z, start])
        for each in (by_hand, through)
    ]
    want = function([z, start], gradients[0])(*arrays)
    for mode in (Mode(optimizer=None), None):
        found = function([z, start], gradients[1], mode=mode)(*arrays)
        for got, right in zip(found, want, strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-12)


@pytest.mark.parametrize("name", STEPS)
def test_rows(name):
    z = T.zvector("z")
    array = numbers(4) + 1j * numbers(4, seed=1)
    plain, mapped = STEPS[name](z, z), map(lambda a: STEPS[name](a, a), z)[0]
    want, found = (
        function([z], grad(cost(each), z))(array) for each in (plain, mapped)
    )
    np.testing.assert_allclose(found, want, rtol=1e-12)


def test_a_gradient_is_the_direction_of_steepest_ascent():
    z, start = T.zvector("z"), T.zscalar("start")
    h = by_scan(STEPS["square"], z, start)
    arrays = numbers(4) + 1j * numbers(4, seed=1), np.complex128(0.5 + 1j)
    of_cost = function([z, start], cost(h))
    found = function([z, start], grad(cost(h), start))(*arrays)
    ends = [
        (of_cost(arrays[0], arrays[1] + d) - of_cost(arrays[0], arrays[1] - d)) / 2e-6
        for d in (1e-6, 1e-6j)
    ]
    np.testing.assert_allclose(found, ends[0] + 1j * ends[1], rtol=1e-6)
