"""Random expressions with and without each phase; what fusion may and may not do."""

import random

import numpy as np
import pytest
from gpuarray.compiler import grad, rewrites, tensor as T
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.elemwise.elemwise import Cast, Composite, Elemwise
from gpuarray.compiler.ops.fused.mapreduce import MapReduce
from gpuarray.compiler.ops.fused.multi_tensor import MultiTensor
from gpuarray.compiler.ops.reduce.reduce import Reduce
from gpuarray.compiler.rewrites.engine.rows import with_scalar
from gpuarray.compiler.rewrites.fusion.partition import Moved, Partition
from gpuarray.scalars import SCALARS
from run_graph import run_graph

PHASES = [phase.name for phase in rewrites.PHASES]
EXACT = [phase.name for phase in rewrites.PHASES if phase.is_exact]

PATTERNS = [(False, False), (True, False), (False, True), ()]
DTYPES = ["float64", "float32", "float16", "int32", "uint8", "bool"]
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-30, -40.0, 1e3]


class Expression:
    """A random graph over the table, its inputs, and values for them."""

    def __init__(self, seed, dtypes=DTYPES, special=True):
        self.rng = np.random.default_rng(seed)
        self.inputs = [
            TensorType(dtype, pattern)(f"x{i}")
            for i, (dtype, pattern) in enumerate(
                (self.pick(dtypes), self.pick(PATTERNS)) for _ in range(4)
            )
        ]
        self.values = {v: self.value(v.type, special) for v in self.inputs}
        self.pool = list(self.inputs)
        while len(self.pool) < 20:
            self.grow()
        count = int(self.rng.integers(1, 4))
        self.outputs = [*self.pool[-count:], self.pool[-8]]

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def value(self, kind, special):
        lengths = zip((5, 7)[: kind.ndim], kind.broadcastable, strict=True)
        shape = tuple(1 if flag else length for length, flag in lengths)
        if kind.dtype == "bool":
            return self.rng.integers(0, 2, shape).astype(bool)
        if kind.dtype[0] in "iu":
            return self.rng.integers(-9, 10, shape).astype(kind.dtype)
        found = self.rng.uniform(0.5, 2.0, shape)
        if special:
            found = np.where(
                self.rng.random(shape) < 0.3, self.rng.choice(SPECIAL, shape), found
            )
        return found.astype(kind.dtype)

    def grow(self):
        """Add a row of random operands, or a cast, a number or a reduction."""
        chance = self.rng.random()
        if chance < 0.1:
            made = Elemwise(Cast(self.pick(DTYPES[:4])))(self.pick(self.pool))
        elif chance < 0.2:
            made = self.pick(self.pool) * self.pick([1, 2, -1, 0.5])
        elif chance < 0.3:
            matrix = self.pick(self.pool)
            if matrix.type.ndim != 2:
                return
            made = T.max(matrix, axis=self.pick([0, 1]), keepdims=True)
        else:
            row = self.pick(list(SCALARS.values()))
            try:
                made = Elemwise(row)(*(self.pick(self.pool) for _ in range(row.arity)))
            except TypeError:
                return
            if row.name == "power" and made.type.dtype[0] in "iu":
                return  # NumPy raises for a negative exponent
        self.pool.append(made)


def optimized(inputs, outputs, phases=PHASES):
    fgraph = FunctionGraph(inputs, outputs)
    rewrites.optimize(fgraph, phases)
    fgraph.check()
    return fgraph


def elementwise(fgraph):
    return [node for node in fgraph.toposort() if isinstance(node.op, Elemwise)]


@pytest.mark.parametrize("phase", [*EXACT, "all that are exact"])
def test_an_exact_phase_changes_no_value(phase):
    for seed in range(60):
        given = Expression(seed)
        plain = run_graph(FunctionGraph(given.inputs, given.outputs), given.values)
        phases = EXACT if phase == "all that are exact" else [phase]
        fgraph = optimized(given.inputs, given.outputs, phases)
        for left, right in zip(plain, run_graph(fgraph, given.values), strict=True):
            assert left.dtype == right.dtype
            np.testing.assert_allclose(right, left, rtol=3e-6, err_msg=f"seed {seed}")


@pytest.mark.parametrize("phases", [["stabilize"], PHASES], ids=["stabilize", "all"])
def test_stabilizing_agrees_where_the_formula_is_well_behaved(phases):
    for seed in range(60):
        given = Expression(seed, dtypes=["float64"], special=False)
        plain = run_graph(FunctionGraph(given.inputs, given.outputs), given.values)
        results = run_graph(
            optimized(given.inputs, given.outputs, phases), given.values
        )
        for left, right in zip(plain, results, strict=True):
            if left.dtype.kind == "f":
                fine = np.isfinite(left)
                np.testing.assert_allclose(
                    right[fine],
                    left[fine],
                    rtol=1e-6,
                    atol=1e-9,
                    err_msg=f"seed {seed}",
                )


def test_a_chain_becomes_one_node():
    x, y = T.dmatrices("x", "y")
    (node,) = optimized([x, y], [T.exp(x * y) + T.tanh(x)], ["fuse"]).toposort()
    assert isinstance(node.op.scalar, Composite)
    assert len(node.inputs) == 2


def test_a_chain_of_hundreds_fuses_in_pieces_without_recursion():
    x = T.dvector("x")
    y = x
    for _ in range(600):
        y = T.tanh(y * 1.01 + 0.5)
    fgraph = optimized([x], [y])
    assert 2 <= len(fgraph.apply_nodes) <= 20


def test_siblings_on_one_array_become_one_node_of_several_outputs():
    x = T.dmatrix("x")
    (node,) = optimized(
        [x], [T.exp(x), T.tanh(x), x > 0], ["canonicalize", "fuse"]
    ).toposort()
    assert len(node.outputs) == 3


def test_siblings_of_different_lengths_stay_apart():
    x, y, a = T.dvector("x"), T.dvector("y"), T.dscalar("a")
    (node,) = optimized([x, y, a], [x * a, y * a], ["fuse"]).toposort()[-1:]
    assert isinstance(node.op, MultiTensor) and len(node.op.parts) == 2
    results = [T.dot(x * a, x), T.dot(y * a, y)]
    assert len(elementwise(optimized([x, y, a], results, ["fuse"]))) == 2


def test_a_shared_producer_is_computed_once_and_comes_out():
    x = T.dvector("x")
    e = T.exp(x)
    (node,) = optimized([x], [e, e * 2, e + 1], ["canonicalize", "fuse"]).toposort()
    assert [step.op for step in node.op.scalar.steps].count("exp") == 1
    assert len(node.outputs) == 3


def test_a_group_never_needs_its_own_result():
    x = T.dmatrix("x")
    e = T.exp(x)
    fgraph = optimized([x], [e / T.sum(e, axis=0, keepdims=True) + e], ["fuse"])
    assert len(elementwise(fgraph)) == 2


def test_what_lies_between_two_neighbours_keeps_them_apart():
    x, A = T.dvector("x"), T.dmatrix("A")
    e = T.exp(x)
    fgraph = optimized([x, A], [T.dot(e, A) * e + x], ["fuse"])
    assert len(elementwise(fgraph)) == 2


def test_a_cheap_row_is_computed_in_the_matrix_and_a_costly_one_before():
    X, b = T.dmatrix("X"), T.drow("b")
    assert len(elementwise(optimized([X, b], [X * (b + 1)], ["fuse"]))) == 1
    assert len(elementwise(optimized([X, b], [X * T.exp(b)], ["fuse"]))) == 2


def test_a_number_is_computed_where_the_array_is():
    x, a = T.dvector("x"), T.dscalar("a")
    assert len(elementwise(optimized([x, a], [x * T.exp(a)]))) == 1


def test_a_reduction_takes_in_what_it_alone_reads():
    x, y = T.dmatrices("x", "y")
    fgraph = optimized([x, y], [T.sum(T.sqr(x - y), axis=1)])
    (node,) = fgraph.toposort()
    assert isinstance(node.op, MapReduce)
    assert isinstance(node.op.composite, Composite)
    rng = np.random.default_rng(0)
    values = {v: rng.normal(size=(3, 4)) for v in (x, y)}
    wanted = ((values[x] - values[y]) ** 2).sum(1)
    np.testing.assert_allclose(run_graph(fgraph, values)[0], wanted)


def test_a_reduction_leaves_what_others_read_too():
    x = T.dvector("x")
    square = T.sqr(x)
    fgraph = optimized([x], [square, T.sum(square)])
    assert [type(node.op) for node in fgraph.toposort()] == [Elemwise, Reduce]


def test_the_arithmetic_of_lengths_stays_single_nodes():
    x = T.dmatrix("x")
    fgraph = optimized([x], [x.shape[0] * x.shape[1] + 1])
    assert all(
        isinstance(n.op.scalar, type(SCALARS["add"])) for n in elementwise(fgraph)
    )


def test_a_subclass_and_its_place_survive_fusion():
    class PlacedElemwise(Elemwise):
        __props__ = (*Elemwise.__props__, "context_name")

    def apply(row, *inputs):
        op = PlacedElemwise(SCALARS[row])
        op.context_name = "cuda0"
        return Apply(op, inputs, [inputs[0].type()]).out

    x = T.dvector("x")
    (node,) = optimized([x], [apply("tanh", apply("exp", x))], ["fuse"]).toposort()
    assert type(node.op) is PlacedElemwise
    assert node.op.context_name == "cuda0"


def test_a_copy_with_another_scalar_leaves_the_op_alone():
    op = Elemwise(SCALARS["exp"])
    made = with_scalar(op, SCALARS["log"], {0: 0})
    assert (str(op), dict(op.destroy_map)) == ("Elemwise{exp,no_inplace}", {})
    assert (str(made), made.destroy_map) == ("Elemwise{log}[(0, 0)]", {0: [0]})


@pytest.mark.parametrize("seed", [63, 368, 471, 544, 715])
def test_groups_that_span_others_never_wait_for_each_other(seed):
    """Barriers between rows; here a group once came to need its own result."""
    rng = random.Random(seed)
    x = T.dmatrix("x")
    values = [x]
    for _ in range(40):
        a, b = rng.choice(values[-6:]), rng.choice(values)
        steps = [
            lambda a, b: a + b,
            lambda a, b: a * b,
            lambda a, b: a - T.max(b, axis=1, keepdims=True),
            lambda a, b: a / b.sum(axis=0),
            T.dot,
        ]
        values.append(rng.choice(steps)(a, b))
    fgraph = FunctionGraph([x], values[-3:])
    rewrites.optimize(fgraph, ["fuse"])
    fgraph.check()


def test_the_work_of_fusion_grows_as_the_graph_does(monkeypatch):
    """In the gradient of a chain, what reads a step stands far behind it."""
    asked = []
    needs = Partition.needs
    monkeypatch.setattr(
        Partition,
        "needs",
        lambda self, group: asked.append(group) or needs(self, group),
    )
    W, U, start = T.dmatrices("W", "U", "start")
    rates = []
    for length in (20, 80):
        given = [T.dmatrix() for _ in range(length)]
        state = start
        for x in given:
            state = T.tanh(T.dot(x, U) + T.dot(state, W))
        results = grad(T.sqr(state).sum(), [W, U])
        fgraph = FunctionGraph([*given, W, U, start], results)
        rewrites.optimize(fgraph, ["canonicalize"])
        nodes = len(fgraph.apply_nodes)
        asked.clear()
        rewrites.optimize(fgraph, ["fuse"])
        assert len(fgraph.apply_nodes) < 0.7 * nodes
        rates.append(len(asked) / nodes)
    assert rates[1] < 1.2 * rates[0] < 2


def test_numbers_are_ordered_anew_where_no_room_is_left():
    x = T.dvector("x")
    partition = Partition(FunctionGraph([x], [T.exp(x) + T.sqrt(T.tanh(x))]))
    ranks = partition.rank
    for place, group in enumerate(sorted(ranks, key=ranks.get), 1):
        ranks[group] = place
    partition.ranks = sorted(ranks.values())
    before = sorted(ranks, key=ranks.get)
    partition.put_beside(before[1], Moved({before[2]}, is_before=True))
    assert sorted(ranks, key=ranks.get) == [before[0], before[2], before[1], before[3]]
    partition.put_beside(before[3], Moved({before[1]}, is_before=False))
    after = [before[0], before[2], before[3], before[1]]
    assert sorted(ranks, key=ranks.get) == after
    assert partition.ranks == sorted(ranks.values())


def test_what_is_computed_again_may_be_read_by_several_results():
    x, w = T.dmatrix("x"), T.dmatrix("w")
    kept = T.tanh(x)
    again, product = 1 - kept, T.dot(kept, w)
    fgraph = FunctionGraph([x, w], [again + product, again * product])
    rewrites.optimize(fgraph)
    (node,) = {output.owner for output in fgraph.outputs}
    assert [str(each.owner.op) for each in node.inputs[1:]] == [
        "Elemwise{tanh,no_inplace}",
        "dot",
    ]
    a, b = np.eye(2), np.ones((2, 2))
    first, second = run_graph(fgraph, dict(zip(fgraph.inputs, (a, b), strict=True)))
    again, product = 1 - np.tanh(a), np.tanh(a) @ b
    np.testing.assert_allclose(first, again + product)
    np.testing.assert_allclose(second, again * product)


KEPT = {
    "nobody else": (lambda e, y: [], 1),
    "the caller": (lambda e, y: [e], 2),
    "the caller, transposed": (lambda e, y: [e.T], 2),
    "a node that is not fused": (lambda e, y: [T.sort(e, axis=0)], 2),
    "a product": (lambda e, y: [T.dot(e, y)], 2),
}


@pytest.mark.parametrize("name", KEPT)
def test_axes_are_moved_before_computing_where_nobody_else_reads(name):
    X, Y = T.dmatrices("X", "Y")
    others, count = KEPT[name]
    e = T.exp(X)
    outputs = [T.tanh(e.T) + Y, *others(e, Y)]
    values = {X: np.arange(6.0).reshape(2, 3), Y: np.ones((3, 2))}
    plain = run_graph(FunctionGraph([X, Y], outputs), values)
    fgraph = FunctionGraph([X, Y], outputs)
    rewrites.optimize(fgraph)
    kernels = [node for node in fgraph.toposort() if isinstance(node.op, Elemwise)]
    assert len(kernels) == count
    for left, right in zip(plain, run_graph(fgraph, values), strict=True):
        np.testing.assert_allclose(right, left)
