"""Products, quotients and sums of very many: their factors are found in a few steps."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, grad, rewrites, shared
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.rewrites.arithmetic import distribution, exponentials, products
from gpuarray.compiler.rewrites.arithmetic.exponentials import is_positive
from gpuarray.compiler.rewrites.arithmetic.products import factors_of, product_of
from gpuarray.compiler.rewrites.engine.patterns import call, constant_of

X, Y, Z = T.dvector("x"), T.dvector("y"), T.dvector("z")
W = shared(np.ones(4), name="w")

STEPS = {
    "a product": lambda z, k: z * X,
    "a product from the right": lambda z, k: X * z,
    "factors": lambda z, k: z * (X + k),
    "a quotient": lambda z, k: z / (X + k),
    "a quotient from the right": lambda z, k: (X + k) / z,
    "squares": lambda z, k: z * z,
    "signs and numbers": lambda z, k: -(z * 1.01 / W),
    "a chain": lambda z, k: T.tanh(z * 1.01 + W),
    "a sum of positive ones": lambda z, k: z + T.exp(X * k),
}


def steps(name, n):
    z = T.exp(X) if "positive" in name else X
    for k in range(n):
        z = STEPS[name](z, k)
    return z / Y * z if "positive" in name else z


def gradient(name, n):
    return grad(steps(name, n).sum(), X)


LOOKS = [
    (products, "_opened"),
    (distribution, "_terms"),
    (exponentials, "_is_positive_itself"),
]


def compiled_in(n, made, monkeypatch):
    """How many variables are looked at for factors, positive ones and terms."""
    looked = 0

    def counted(look):
        def wrapped(*args):
            nonlocal looked
            looked += 1
            return look(*args)

        return wrapped

    with monkeypatch.context() as patch:
        for module, name in LOOKS:
            patch.setattr(module, name, counted(getattr(module, name)))
        fgraph = FunctionGraph([X, Y, W], [made(n)])
        rewrites.optimize(fgraph)
    return looked


@pytest.mark.parametrize("of", [steps, gradient])
@pytest.mark.parametrize("name", STEPS)
def test_looking_for_factors_grows_with_the_length_of_a_chain(name, of, monkeypatch):
    short, long = (
        compiled_in(n, lambda n: of(name, n), monkeypatch) for n in (60, 240)
    )
    assert short < long < 5 * short


@pytest.mark.parametrize("name", STEPS)
def test_chains_of_more_than_a_thousand_are_compiled(name, null):
    with config.use(device="null"):
        function([X, Y], steps(name, 1200), on_unused_input="ignore")


@pytest.mark.parametrize("name", ["a quotient", "signs and numbers", "a chain"])
def test_gradients_of_long_chains_are_compiled(name, null):
    with config.use(device="null"):
        function([X], gradient(name, 600))


@pytest.mark.parametrize("name", ["a product", "a quotient from the right"])
def test_a_long_chain_is_what_it_says(name, on_context):
    x = np.array([0.999, 1.0, 1.001])
    z = x
    for k in range(1200):
        z = z * x if name == "a product" else (x + k) / z
    with config.use(floatX="float64"):
        f = function([X], steps(name, 1200))
    np.testing.assert_allclose(f(x), z, rtol=1e-9)


def number(value):
    return T.constant(np.float64(value))


def test_factors_come_from_left_to_right():
    found = factors_of(
        product_of((X * number(2)) / (Y * Z / -W) * call("reciprocal", X / T.exp(Y)))
    )
    *first, last = [
        each.variable for each in found if constant_of(each.variable) is None
    ]
    assert first == [X, Y, Z, W, X] and last.owner.inputs == [Y]
    assert [each.is_above for each in found] == [1, 1, 0, 0, 1, 0, 1]
    assert constant_of(found[1].variable) == 2


def test_too_many_factors_are_none():
    z = X
    for _ in range(23):
        z = z * -Y / number(0.5)
    known = [each.variable for each in factors_of(product_of(z))]
    assert [v for v in known if v in (X, Y)] == [X, *[Y] * 23]
    assert product_of(z * Y) is None and product_of(X / z) is None
    z = X
    for _ in range(300):
        z = z * number(1.01)
    assert product_of(z) is None


def test_what_is_shared_by_many_ways_is_looked_at_once():
    z = T.exp(X)
    for _ in range(200):
        z = z + z
    assert is_positive(z) and not is_positive(z + X)
    z = X
    for _ in range(200):
        z = z * z
    assert product_of(z) is None


def test_a_factor_goes_into_a_long_sum():
    s = T.nnet.sigmoid(Y)
    fgraph = FunctionGraph([X, Y], [sum((X + k) / s for k in range(200)) * s])
    rewrites.optimize(fgraph)
    assert not [each for each in fgraph.toposort() if "div" in str(each.op)]
