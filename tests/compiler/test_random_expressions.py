"""A hundred random expressions; `random_expressions.py` draws any number."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
import random_expressions
import random_program
from gpuarray.compiler import config, function, rewrites
from gpuarray.compiler.errors import InconsistencyError
from gpuarray.compiler.graph import fgraph as fgraph_module
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ifelse import ifelse
from gpuarray.compiler.rewrites.engine import engine
from gpuarray.compiler.rewrites.memory import inplace
from gpuarray.compiler.rewrites.passes import RULES
from random_drawing import Drawn, Values, quiet
from random_judging import Judged, rewritten


@pytest.mark.parametrize(("mode", "count"), [("unoptimized", 4), ("optimized", 10)])
def test_a_device_and_numpy_agree(context, mode, count):
    found = random_expressions.found(range(count), context, [mode])
    assert list(found) == []


@pytest.mark.parametrize("first", range(1000, 1100, 50))
def test_no_rewrite_changes_a_value(first):
    texts = {seed: rewritten(Drawn(seed)) for seed in range(first, first + 50)}
    assert {seed: text for seed, text in texts.items() if text} == {}


def test_what_is_drawn_is_seeded_and_varied():
    drawn = [Drawn(seed) for seed in range(100)]
    outputs = [output for each in drawn for output in each.outputs]
    for one in drawn[:8]:
        again = Drawn(one.seed)
        assert [str(v.owner) for v in one.outputs] == [
            str(v.owner) for v in again.outputs
        ]
    assert len({str(each.owner.op) for each in outputs}) > 60
    assert {each.ndim for each in outputs} >= {0, 1, 2, 3}
    assert len({each.dtype for each in outputs}) > 6


def test_a_wrong_rewrite_is_found(monkeypatch):
    @engine.rewrite(phase="simplify", ops=["true_div"])
    def wrong_quotient(node):
        """x / y -> x * y"""
        return T.mul(*node.inputs)

    monkeypatch.setitem(RULES, "simplify", [*RULES["simplify"], wrong_quotient])
    texts = [rewritten(Drawn(seed)) for seed in range(20)]
    assert any(text.startswith("wrong_quotient") for text in texts)


def ends(seeds):
    """What is wrong with each expression; an order that cannot be counts, too."""
    for seed in seeds:
        try:
            yield Judged(Drawn(seed)).found
        except InconsistencyError as error:
            yield str(error)


def test_an_output_that_is_overwritten_is_found(monkeypatch):
    def careless(self, fgraph):
        start(self, fgraph)
        self.kept = set()

    start = inplace.Memory.__init__
    monkeypatch.setattr(inplace.Memory, "__init__", careless)
    monkeypatch.setattr(inplace.Memory, "replaced", lambda *arguments: None)
    texts = list(ends(range(13, 14)))
    assert any("which was overwritten" in text for text in texts)


class Chosen:
    """An `ifelse` of values that both sides read, as if it were drawn."""

    def __init__(self, *outputs):
        n, x = T.iscalar("n"), T.dmatrix("x")
        read = T.dot(x, x.T)
        self.inputs, self.outputs = [n, x], [make(n, read) for make in outputs]
        self.values = Values({n: np.int32(1), x: np.arange(6.0).reshape(2, 3) / 9})


def of_both_sides(n, read):
    return ifelse(n, T.exp(read), T.tanh(read) + read.sum())


def of_one_side_alone(n, read):
    return ifelse(n, T.tanh(read), T.dot(read, T.exp(read)))


def of_no_side(n, read):
    return T.dot(read, read)


def test_both_sides_of_a_choice_overwrite_what_they_read():
    case = Judged(Chosen(of_both_sides))
    over = [node for node in case.fgraph.toposort() if node.op.destroy_map]
    assert len(over) == 2 and over[0].inputs[0] is over[1].inputs[0]
    assert case.found == ""


@pytest.mark.parametrize(
    "outputs", [[of_one_side_alone], [of_both_sides, of_no_side]], ids=len
)
def test_what_a_side_of_a_choice_overwrites_too_early_is_found(monkeypatch, outputs):
    assert Judged(Chosen(*outputs)).found == ""
    for module in (inplace, fgraph_module):
        monkeypatch.setattr(module, "excludes", lambda *guards: True)
    assert "which was overwritten" in Judged(Chosen(*outputs)).found


def test_the_program_tells_how_far_it_is_and_what_differs(monkeypatch, capsys):
    monkeypatch.setattr(random_program, "PROGRESS", -1.0)
    assert random_expressions.main(["--cases", "4", "--batch", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(",")[0] for line in lines] == ["host"] * 3
    assert "2 of 4 so far" in lines[0] and "4 of 4 in all" in lines[2]
    monkeypatch.setattr(Judged, "check_end", lambda self: 1 / 0)
    assert random_expressions.main(["--cases", "1"]) == 1
    assert "seed 0, raised: ZeroDivisionError" in capsys.readouterr().out


# ---- what random expressions have found ----


def test_the_logarithm_of_the_sum_of_no_exponentials_is_minus_infinity(context):
    x = T.dmatrix("x")
    with config.use(device=context.name):
        f = function([x], [T.log(T.exp(x).sum(0)), T.log(T.exp(x).sum())])
    columns, whole = f(np.ones((0, 3)))
    assert columns.tolist() == [-np.inf] * 3 and whole == -np.inf


def test_no_product_is_multiplied_by_zero_inside_a_routine(context):
    a, v = T.dmatrix("a"), T.dvector("v")
    with config.use(device=context.name):
        f = function([a, v], [0 * (v + T.dot(a, v)), (v + T.dot(a, v)) - v])
    product, difference = f([[np.inf, 1.0], [1.0, 1.0]], [1.0, np.inf])
    assert np.isnan(product).all() and np.isnan(difference[1])


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_a_number_with_an_imaginary_part_is_true(context, mode):
    z = T.zvector("z")
    made = [T.cast(z, "bool"), T.cast(T.constant([0.5j, 0j]), "bool")]
    with config.use(device=context.name):
        f = function([z], made, mode=mode)
    assert [each.tolist() for each in f([0.5j, 0j])] == [[True, False]] * 2
    assert made[0].owner.op.reference(np.array([0.5j])).tolist() == [True]


def values_as_rewritten(inputs, output, *arrays):
    """The values of an expression by NumPy, once it is rewritten."""
    fgraph = FunctionGraph(inputs, [output])
    rewrites.optimize(fgraph)
    with quiet():
        known = dict(zip(fgraph.inputs, map(np.asarray, arrays), strict=True))
        return Values(known).of(fgraph.outputs[0])


def test_a_product_in_which_constants_alone_cancel_keeps_its_order():
    r = T.fvector("r")
    one = T.constant(np.int8(1)).dimshuffle("x")
    product = r * T.true_div(one, r)
    value = values_as_rewritten([r], (product / r) / product, np.float32([1e-30]))
    np.testing.assert_allclose(value, [1e30], rtol=1e-5)


def test_the_inverse_square_of_a_half_lives_where_the_square_does_not():
    h = T.tensor("float16", (False,), "h")
    value = values_as_rewritten([h], h**-2, np.float16([300.0]))
    np.testing.assert_allclose(value, [1 / 300**2], rtol=0.02)


def test_a_length_with_an_axis_is_brought_to_the_device(context):
    x = T.dmatrix("x")
    length = x.shape[0].dimshuffle("x")
    with config.use(device=context.name):
        f = function([x], [T.eq(length, 3), length * 2, length.dimshuffle(0, "x")])
    same, twice, matrix = f(np.ones((3, 2)))
    assert (same.tolist(), twice.tolist(), matrix.tolist()) == ([True], [6], [[3]])


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_the_shape_of_a_vector_is_a_list_of_one(mode, context):
    v = T.dvector("v")
    with config.use(device=context.name):
        f = function([v], [v.shape * 2, T.stack([v.size]) + 1], mode=mode)
    assert [each.tolist() for each in f(np.ones(5))] == [[10], [6]]


def test_the_logarithm_of_a_sum_of_negative_exponents_comes_to_rest(context):
    x = T.drow("x")
    with config.use(device=context.name):
        f = function([x], T.log(T.exp(-x).sum()))
    np.testing.assert_allclose(f([[1000.0, 1001.0]]), -1000 + np.log1p(np.exp(-1)))


@pytest.mark.parametrize("number", [np.int8(0), np.int8(-128), np.uint8(2), True])
def test_a_sign_does_not_go_into_an_integer_that_has_no_negative(number):
    c = T.dvector("c")
    value = values_as_rewritten([c], -(c / T.constant(number)), [1.0, -3.0])
    with quiet():
        assert value.tolist() == (-(np.array([1.0, -3.0]) / number)).tolist()


@pytest.mark.parametrize("dtype", ["uint8", "bool"])
def test_a_part_that_has_no_negative_is_subtracted(dtype):
    x, u = T.lvector("x"), T.tensor(dtype, (), "u")
    zeros = T.zeros_like(T.cast(x, dtype))
    change = T.inc_subtensor if dtype == "uint8" else T.set_subtensor
    difference = x - change(zeros[0], u)
    assert values_as_rewritten([x, u], difference, [5, 6], 1).tolist() == [4, 6]
