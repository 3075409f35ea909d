"""The graph core: types, variables, walks, and the graph under rewriting."""

import functools
import pickle
from types import MappingProxyType

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from evaluate import evaluate
from gpuarray.compiler import (
    FunctionGraph,
    Op,
    grad,
)
from gpuarray.compiler.errors import (
    GraphArgumentError,
    GraphTypeError,
    InconsistencyError,
)
from gpuarray.compiler.graph.core import (
    Apply,
    Constant,
    constant,
    short_value,
    traced_as,
)
from gpuarray.compiler.graph.lazy import is_lazy
from gpuarray.compiler.graph.requirements import equal, within
from gpuarray.compiler.graph.traverse import (
    ancestors,
    clone,
    clone_replace,
    inputs_of,
    same_graph,
    toposort,
)
from gpuarray.compiler.ifelse import ifelse
from gpuarray.compiler.ops.control.guarded_updates import Reports
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.scalars import SCALARS

# Variables.


def test_a_variable_remembers_the_users_line():
    x = T.vector("x")
    y = T.exp(x) + 1
    for variable in (x, y, y.owner.inputs[0]):
        assert variable.tag.trace.file == __file__
        assert "T." in str(variable.tag.trace)
    with traced_as(None):
        assert T.vector().tag.trace is None


def test_long_constants_print_their_ends():
    assert short_value(np.arange(8.0)) == "[0. 1. 2. .. 5. 6. 7.]"
    assert short_value(np.arange(7.0)) == "[0. 1. 2. 3. 4. 5. 6.]"
    assert short_value(np.ones((2, 3))) == "(2, 3) of 1.0"
    assert short_value(np.float64(0.5)) == "0.5"


def test_variables_print_by_name_or_by_op_or_by_type():
    x = T.vector("x")
    assert str(x) == "x"
    assert str(T.vector()) == "<TensorType(float64, vector)>"
    assert str(T.exp(x)) == "Elemwise{exp,no_inplace}.0"
    assert str(T.exp(T.fvector()).owner) == (
        "Elemwise{exp,no_inplace}(<TensorType(float32, vector)>)"
    )


def test_constants_print_their_value():
    assert str(T.constant(1.5)) == "TensorConstant{1.5}"
    assert str(T.constant([0.5])) == "TensorConstant{(1,) of 0.5}"
    assert str(T.constant([0, 1, 2])) == "TensorConstant{[0 1 2]}"
    assert len(str(T.constant(np.arange(100)))) < 50


def test_equal_constants_have_one_signature():
    assert constant(1).signature == constant(1).signature
    assert constant(1).equals(constant(1))
    assert not constant(1).equals(constant(1.0))
    assert not constant(0.0).equals(constant(-0.0))
    long = np.arange(1000)
    assert constant(long).signature == constant(long.copy()).signature
    assert len({constant(long).signature, constant(long + 1).signature}) == 2


def test_a_constant_is_not_written_and_does_not_follow_the_array():
    array = np.ones(3)
    made = T.constant(array)
    array[0] = 5
    np.testing.assert_array_equal(made.data, [1, 1, 1])
    with pytest.raises(ValueError, match="read-only"):
        made.data[0] = 2


def test_a_node_takes_and_gives_variables():
    x = T.vector()
    op = Elemwise(SCALARS["exp"])
    with pytest.raises(GraphTypeError, match="takes and gives"):
        Apply(op, [3], [x.type()])
    with pytest.raises(GraphTypeError, match="already computed"):
        Apply(op, [x], [T.exp(x)])


def test_ops_of_equal_properties_are_equal():
    assert Elemwise(SCALARS["exp"]) == Elemwise(SCALARS["exp"])
    assert Elemwise(SCALARS["exp"]) != Elemwise(SCALARS["log"])
    assert Elemwise(SCALARS["exp"]) != Elemwise(SCALARS["exp"], {0: 0})
    assert len({Elemwise(SCALARS["exp"]), Elemwise(SCALARS["exp"])}) == 1


# Walks.


def chain(x, length):
    for _ in range(length):
        x = T.exp(x)
    return x


def test_an_op_that_lists_no_properties_is_equal_to_itself_alone():
    class Plain(Op):
        pass

    class Empty(Op):
        __props__ = ()

    one, other = Plain(), Plain()
    assert one.properties is None and str(one) == "Plain"
    assert one == one and one != other and len({one, other}) == 2
    assert Empty().properties == () and Empty() == Empty()
    assert len({Empty(), Empty()}) == 1 and Empty() != one


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_an_integer_takes_the_smallest_dtype_that_holds_it(dtype):
    wider = {"int8": "int16", "int16": "int32", "int32": "int64", "int64": "uint64"}
    ends = np.iinfo(dtype)
    for value in (int(ends.min), int(ends.max)):
        assert constant(value).dtype == dtype and constant(value).data == value
    assert constant(int(ends.max) + 1).dtype == wider[dtype]
    if dtype != "int64":
        assert constant(int(ends.min) - 1).dtype == wider[dtype]


def test_equal_lengths_are_required_where_they_are_two_that_are_known():
    one, other = T.lscalar(), T.lscalar()
    for pair in ((one, one), (None, one), (one, None), (None, None)):
        assert equal(*pair) == []
    assert equal(one, other) == [("equal", one, other)]
    assert within(one, None) == []
    assert within(one, other) == [("within", one, other)]


def test_walks_do_not_recurse():
    x = T.vector("x")
    end = chain(x, 5000)
    assert len(toposort([end])) == 5000
    assert inputs_of([end]) == [x]
    assert len(toposort([clone_replace(end, {x: T.vector("y")})])) == 5000
    FunctionGraph([x], [end]).check()


def test_toposort_puts_a_node_after_those_it_needs():
    x, y = T.vector("x"), T.vector("y")
    a = T.exp(x)
    b = a * y
    c = b + a
    order = toposort([c, a])
    assert set(order) == {a.owner, b.owner, c.owner}
    assert order.index(a.owner) < order.index(b.owner) < order.index(c.owner)


def test_a_cycle_is_reported():
    x = T.vector("x")
    a = T.exp(x)
    b = T.log(a)
    a.owner.inputs[0] = b
    with pytest.raises(InconsistencyError, match="cycle"):
        toposort([b])


def test_ancestors_come_once_and_stop_at_blockers():
    x, y = T.vector("x"), T.vector("y")
    a = x * y
    b = a + a
    assert list(ancestors([b])) == [b, a, x, y]
    assert list(ancestors([b], blockers=[a])) == [b, a]
    assert inputs_of([b], blockers=[a]) == [a]


def test_clone_replace_keeps_what_needs_no_change():
    x, y = T.dvector("x"), T.dvector("y")
    kept = T.exp(y)
    out = x * 2 + kept
    new = clone_replace(out, {x: y})
    assert new is not out
    assert kept in list(ancestors([new]))
    assert x not in list(ancestors([new]))
    assert clone_replace([kept], {x: y}) == [kept]
    a = np.array([1.0, 2])
    np.testing.assert_array_equal(evaluate(new, {y: a}), 2 * a + np.exp(a))


def test_clone_replace_infers_types_anew():
    x = T.dvector("x")
    out = T.exp(x) + 1
    assert clone_replace(out, {x: T.fvector()}).dtype == "float32"
    assert clone_replace(out, {T.exp: T.exp}) is out
    assert clone_replace(x, {x: out}) is out


def test_clone_makes_fresh_nodes_over_the_same_leaves():
    x = T.vector("x")
    y = T.exp(x) + 1
    memo = {}
    (copy,) = clone([y], memo)
    assert copy is memo[y]
    assert copy.owner is not y.owner
    assert same_graph(copy, y)
    assert not same_graph(y, T.exp(x) + 2)
    assert copy.tag.trace == y.tag.trace


def test_a_node_is_one_deeper_than_the_deepest_that_it_needs():
    x, y = T.dvectors("x", "y")
    deep = T.exp(T.exp(x))
    for given in ((deep, y), (y, deep), (deep, T.exp(y)), (T.exp(y), deep)):
        assert T.add(*given).owner.depth == 3
    assert T.exp(x).owner.depth == 1


def test_an_op_with_a_reference_is_computed_by_it_on_the_host():
    class Both(Op):
        def infer(self, x):
            return x

        def reference(self, x):
            return x + 1

        def make_thunk(self, node, storage_map, compute_map, no_recycling, impl=None):
            raise AssertionError("not asked for")

    x = T.dvector("x")
    found = evaluate(Both()(x), {x: np.zeros(2)})
    np.testing.assert_array_equal(found, np.ones(2))


def test_an_op_is_known_by_how_many_arguments_its_gradient_takes():
    class Own(Op):
        def grad(self, m, g, y, x):
            return g

    class Theanos(Op):
        def grad(self, inputs, output_gradients):
            return output_gradients

    class Several(Op):
        def L_op(self, inputs, outputs, output_gradients):
            return output_gradients

    of_each = [(Own(), False), (Theanos(), True), (Several(), True)]
    for takes, expected in ((2, True), (4, False)):
        set_later = Own()
        set_later.grad = [lambda a, b: [b], lambda m, g, y, x: g][takes == 4]
        of_each.append((set_later, expected))
    for op, expected in of_each:
        assert op.has_gradient_of_each_input == expected, op


class Crossed(Op):
    """Two arrays as they are, in the other order: each a view of one of them."""

    __props__ = ()
    view_map = MappingProxyType({0: [1], 1: [0]})

    def infer(self, x, y):
        return [y, x]

    def reference(self, x, y):
        return [y, x]


def test_each_output_may_be_a_view_of_another_input():
    x, y = T.dvectors("x", "y")
    fgraph = FunctionGraph([x, y], [*Crossed()(x, y), T.exp(x)])
    first, second, other = fgraph.outputs
    assert [fgraph.view_root(each) for each in fgraph.outputs] == [y, x, other]
    assert fgraph.seen_through(first) == [first, y]
    assert fgraph.seen_through(second) == [second, x]
    assert fgraph.seen_through(other) == [other]
    assert fgraph.views_of(x) == [x, second]
    assert fgraph.views_of(y) == [y, first]
    assert set(fgraph.readers(x)) == {second.owner, other.owner}
    assert fgraph.readers(y) == [first.owner]


def test_what_counts_reports_follows_what_reports_but_not_what_reads_the_count():
    x, k = T.dvector("x"), T.lvector("k")
    y = x[k]
    outputs = [x[k + T.cast(Reports()(), "int64")], y, T.exp(x), y[k]]
    for order in ([0, 1, 2, 3], [3, 2, 1, 0]):
        fgraph = FunctionGraph([x, k], [outputs[i] for i in order])
        late, first, _, last = (fgraph.outputs[order.index(i)].owner for i in range(4))
        (count,) = (n for n in fgraph.apply_nodes if isinstance(n.op, Reports))
        found = fgraph.reporters()
        assert list(found) == [count]
        assert sorted(map(id, found[count])) == sorted(map(id, (first, last)))
        place = fgraph.toposort().index
        assert max(place(first), place(last)) < place(count) < place(late)


def test_a_graph_is_made_and_rewritten_in_time_linear_in_its_size():
    x = T.dvector("x")
    fgraph = FunctionGraph([x], [chain(x, 2000)])
    for node in fgraph.toposort():
        fgraph.replace(node.out, T.sqrt(node.inputs[0]), "rule")
    assert len(fgraph.log) == 2000
    assert {str(node.op) for node in fgraph.apply_nodes} == {
        "Elemwise{sqrt,no_inplace}"
    }


def test_a_constant_is_told_from_a_variable():
    assert isinstance(T.constant(1), Constant)
    assert isinstance(T.as_tensor_variable(np.ones(3)), Constant)
    x = T.vector()
    assert T.as_tensor_variable(x) is x
    assert T.as_tensor_variable(T.exp(x).owner).owner is not None


def test_a_clone_has_the_name_that_is_given_or_its_own():
    x = T.dvector("x")
    assert (x.clone().name, x.clone("y").name) == ("x", "y")
    c = constant(2.0, name="c")
    assert (c.clone().name, c.clone("d").name) == ("c", "d")


def test_what_a_derivative_was_derived_from_is_not_pickled():
    x = T.dvector("x")
    slope = grad((3 * x).sum(), x)
    assert slope.tag.derived_from and vars(slope.tag).keys() > {"derived_from"}
    again = pickle.loads(pickle.dumps(slope))
    assert not hasattr(again.tag, "derived_from")
    assert vars(again.tag).keys() == vars(slope.tag).keys() - {"derived_from"}


@pytest.mark.parametrize("value", [[[1], [1, 2]], "text", object(), 1 << 70])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(GraphArgumentError, match="constant: "):
        constant(value)


def test_graphs_are_the_same_by_operations_leaves_and_what_stands_for_what():
    x, y = T.dvectors("xy")
    assert same_graph(T.exp(x) + y, T.exp(x) + y)
    assert same_graph(x + 2, x + 2) and not same_graph(x + 2, x + 3)
    assert same_graph(x * y, y * x, {x: y, y: x})
    parts = T.split(x, [1, 1], 2), T.split(x, [1, 1], 2)
    assert same_graph(parts[0][1], parts[1][1])
    for one, other in [
        (x, y), (x, T.exp(x)), (x + y, x - y), (x + y, y + x), (x + 2, x + y),
        (parts[0][0], parts[1][1]), (T.exp(x), constant(1.0)), (x + y, T.exp(x)),
        (T.stack([x, y]), T.stack([x, y, x])),
    ]:  # fmt: skip
        assert not same_graph(one, other) and not same_graph(other, one)


def test_an_op_that_may_leave_inputs_alone_is_lazy():
    x = T.dvector("x")
    assert is_lazy(ifelse(T.iscalar(), x, x).owner.op)
    assert not is_lazy(T.exp(x).owner.op)


def test_an_op_may_be_asked_for_shapes_as_theanos_are_and_through_a_wrapper():
    def wrapped(method):
        @functools.wraps(method)
        def call(*arguments):
            return method(*arguments)

        return call

    class Plain(Op):
        __props__ = ()

        def infer(self, x):
            return x

        def infer_shape(self, node, input_shapes):
            return [input_shapes[0]]

    class Theanos(Plain):
        def infer_shape(self, fgraph, node, input_shapes):
            assert fgraph is None
            return [input_shapes[0]]

    x = T.dvector("x")
    kinds = [Plain, Theanos]
    for kind in (Plain, Theanos):

        class Wrapped(kind):
            infer_shape = wrapped(kind.infer_shape)

        kinds.append(Wrapped)
    for kind in kinds:
        node = kind()(x).owner
        assert node.op.output_shapes(node, [(3,)]) == [(3,)], kind


def test_a_variable_put_in_its_own_place_is_no_change():
    x = T.dvector("x")
    fgraph = FunctionGraph([x], [T.exp(x)])
    fgraph.replace(fgraph.outputs[0], fgraph.outputs[0], "nothing")
    assert fgraph.log == []
    fgraph.check()
