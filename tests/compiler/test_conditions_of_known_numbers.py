"""Numbers and lengths that a graph tells without being computed."""

import math

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from evaluate import evaluate
from gpuarray.compiler.errors import NotScalarConstantError
from gpuarray.compiler.graph.core import Apply, Op, constant
from gpuarray.compiler.graph.traverse import toposort
from gpuarray.compiler.graph.types import generic
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.linalg.slinalg import PADE
from gpuarray.compiler.ops.shape.lengths import lengths_of
from gpuarray.compiler.ops.shape.shape import Shape_i
from written import rows, sides

KNOWN = rows("""
2 -> 2
[3, 3] -> 3
np.ones((2, 2)) * 4 -> 4.0
T.constant(5) -> 5
T.constant(5).dimshuffle('x', 'x') -> 5
T.alloc(6, n, 2) -> 6
T.patternbroadcast(T.constant([7]), (False,)) -> 7
T.reshape(T.constant([8, 8]), (2, 1)) -> 8
T.cast(9, 'float32') -> 9.0
T.cast(2.75, 'int8') -> 2
T.second(a, 1.5) -> 1.5
T.fill(a, T.constant(2) + 1) -> 3
T.constant(2) + 3 -> 5
T.exp(T.constant(0.0)) -> 1.0
T.constant([1, 2, 3])[1] -> 2
T.constant([1, 2, 2])[1:] -> 2
T.constant([[1, 2], [3, 4]])[1, 0] -> 3
T.stack([n, 4, n])[1] -> 4
T.stack([n, 4, n])[-2] -> 4
T.Subtensor(['int64'])(T.stack([n, 4]), 1) -> 4
T.Subtensor(['int64'])(T.stack([4, n]), -2) -> 4
T.Subtensor(['int64'])(T.Join(0)(T.stack([n, 4]), T.stack([5, n])), 2) -> 5
T.Subtensor(['int64'])(T.cast(T.stack([n, 4]), 'float32'), 1) -> 4.0
T.Subtensor(['int64'])(T.stack([n, 300]).astype('int8'), 1) -> 44
T.Subtensor(['int64'])(T.stack([n, 300]).astype('int8').astype('int32'), 1) -> 44
Shape_i(0)(r) -> 1
Shape_i(1)(T.constant([[1, 2]])) -> 2
T.alloc(6, n, 2)[n] -> 6
T.tensor_copy(T.constant(3)) -> 3
""")
UNKNOWN = rows("""
n
a
[1, 2]
T.constant(np.zeros(0))
n + 1
T.exp(a)
T.second(a, n)
T.stack([n, 4])[0]
T.Subtensor(['int64'])(T.stack([n, 4]), n)
T.Subtensor(['int64'])(T.stack([n, 4]), 0)
T.Subtensor(['int64'])(T.exp(T.stack([n, 4])), 1)
T.Subtensor(['int64'])(a.shape, 0)
T.stack([n, 4])[n:]
Shape_i(1)(r)
Shape_i(0)(a)
T.sum(T.constant([1, 1]))
T.divmod(n, 2)[0]
""")


def built(text):
    return sides(f"{text} :: 0")[2]


@pytest.mark.parametrize("row", KNOWN, ids=lambda row: row.partition(" -> ")[0])
def test_a_number_is_seen_through_what_does_not_change_it(row):
    text, _, told = row.partition(" -> ")
    found = T.get_scalar_constant_value(built(text))
    assert (found.shape, repr(found.item())) == ((), told)
    assert T.extract_constant(built(text)) == found


@pytest.mark.parametrize("text", UNKNOWN)
def test_what_is_computed_is_no_number(text):
    variable = built(text)
    with pytest.raises(NotScalarConstantError, match="no number that is known before"):
        T.get_scalar_constant_value(variable)
    assert T.extract_constant(variable) is variable


def test_arithmetic_or_all_but_constants_may_be_left_out():
    four, two = T.constant(2) + 2, T.cast(T.constant(2.0), "int8")
    for options, told in (
        ({}, (True, True)),
        ({"elemwise": False}, (False, True)),
        ({"only_process_constants": True}, (False, False)),
    ):
        for variable, is_told in zip((four, two), told, strict=True):
            found = T.extract_constant(variable, **options)
            assert (found is not variable) == is_told
    deep = T.constant(1)
    for _ in range(10):
        deep = T.tensor_copy(deep)
    assert T.extract_constant(deep) == 1
    deep = T.tensor_copy(deep)
    assert T.extract_constant(deep) is deep


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("T.is_flat(v)", True),
        ("T.is_flat(a)", False),
        ("T.is_flat(a, 2)", False),
        ("T.is_flat(T.flatten(a))", True),
        ("T.is_flat(T.flatten(c, 2), 2)", True),
        ("T.is_flat(T.flatten(c, 2))", False),
        ("T.is_flat(T.reshape(a, (12,)))", False),
        ("T.is_flat(T.exp(v))", False),
        ("T.is_flat(T.reshape(a, p, ndim=3), 3)", False),
        ("T.get_vector_length(o)", 1),
        ("T.get_vector_length(T.stack([s, s, s]))", 3),
        ("T.get_vector_length(c.shape)", 3),
        ("T.get_vector_length([1, 2])", 2),
        ("len(T.stack([s, s]))", 2),
        ("len(r)", 1),
        ("len(T.constant([[1, 2], [3, 4], [5, 6]]))", 3),
        ("len(list(T.constant([[1, 2], [3, 4]])))", 2),
        ("len(list(c.shape))", 3),
        ("len(list(r))", 1),
        ("[x.ndim for x in r]", [1]),
        ("a.ndim", 2),
        ("np.ndim(a)", 2),
        ("np.iscomplexobj(z)", True),
        ("np.iscomplexobj(a)", False),
        ("np.isrealobj(z)", False),
        ("np.isrealobj(a)", True),
        ("np.result_type(x32, j)", np.dtype("float64")),
        ("np.can_cast(x32, 'float64')", True),
        ("np.can_cast(a, 'float32')", False),
        ("bool(np.array([1.0, 2.0, 3.0]) == v)", False),
        ("bool(np.array([1.0, 2.0, 3.0]) != v)", True),
    ],
)
def test_what_a_graph_tells_at_once(text, told):
    assert sides(f"{text} :: 0")[2] == told


@pytest.mark.parametrize("text", ["T.nlinalg.qr(a)[0]", "T.nlinalg.svd(a, False)[1]"])
def test_the_lengths_of_factors_cost_no_factorization(text):
    needed = toposort(lengths_of(built(text)))
    assert {type(node.op) for node in needed} == {Shape_i, Elemwise}


class Paired(Op):
    """An op with a result that has no axes, beside an array."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [generic(), x.type()])


def test_an_array_has_lengths_beside_what_has_none():
    _, array = Paired()(T.dvector())
    assert [length.owner.op for length in lengths_of(T.exp(array))] == [Shape_i(0)]


def test_coefficients_of_pade_are_quotients_of_factorials():
    f = math.factorial
    whole = [f(26 - k) * f(13) // (f(k) * f(13 - k)) for k in range(14)]
    assert [number / whole[-1] for number in whole] == list(PADE)


PARTS = (None, 0, 2, -1, -4)


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("step", [None, 2, -1, -3])
def test_the_length_of_a_slice_is_told(step, is_known):
    x, start, stop = T.dvector("x"), T.lscalar("start"), T.lscalar("stop")
    for first in PARTS:
        for last in PARTS:
            ends = [
                each if is_known or each is None else variable
                for each, variable in ((first, start), (last, stop))
            ]
            node = (x * 2)[slice(*ends, step)].owner
            for length in (0, 1, 3, 5):
                given = [[constant(length)], *[[]] * len(node.inputs[1:])]
                ((told,),) = node.op.infer_shape(node, given)
                found = evaluate(told, {start: first or 0, stop: last or 0})
                assert found == len(range(length)[slice(first, last, step)])


def test_a_step_that_is_not_known_tells_no_length():
    x, n = T.dvector("x"), T.lscalar("n")
    node = (x * 2)[::n].owner
    assert node.op.infer_shape(node, [[constant(3)], []]) == [(None,)]
    assert (x[:n]).owner.op.infer_shape(x[:n].owner, [[constant(3)], []]) == [(None,)]
