"""What is known while a graph is built is not computed: variables as they are given."""

import pytest
from gpuarray.compiler.graph.traverse import toposort
from written import rows, sides

ITSELF = rows("""
T.alloc(s) is s
T.alloc(s, ()) is s
T.as_tensor_variable(a) is a
T.as_tensor_variable(a, ndim=2) is a
T.cast(a, 'float64') is a
T.cast(a, 'floatX') is a
a.astype('float64') is a
+a is a
a.transfer('cpu') is a
a.dimshuffle(0, 1) is a
a.dimshuffle(-2, -1) is a
a.swapaxes(0, -2) is a
a.transpose(0, 1) is a
v.T is v
s.T is s
T.shape_padleft(a, 0) is a
T.shape_padright(a, 0) is a
T.squeeze(a) is a
T.squeeze(a, ()) is a
T.expand_dims(a, ()) is a
T.moveaxis(a, 0, 0) is a
T.rollaxis(a, 0) is a
T.rollaxis(a, 1, 2) is a
T.atleast_1d(a) is a
T.atleast_2d(a) is a
T.atleast_3d(c) is c
T.atleast_nd(a, 2) is a
T.broadcast_like(a, b) is a
T.broadcast_arrays(a, b)[1] is b
T.broadcast_arrays(a)[0] is a
T.patternbroadcast(r, (True, False)) is r
T.addbroadcast(r, 0) is r
T.unbroadcast(r, 1) is r
T.unbroadcast(r) is r
T.flatten(v) is v
T.flatten(a, 2) is a
T.join(0, a) is a
T.join(1, r) is r
T.concatenate([a]) is a
T.repeat(a, 1, 0) is a
T.tile(a, 1) is a
T.tile(a, (1, 1)) is a
T.roll(r, 1, 0) is r
T.roll(a, 0, 0) is a
T.pad(a, 0) is a
T.pad(a, 0, mode='edge') is a
T.pad(a, 0, mode='mean') is a
T.pad(a, ((0, 0), (0, 0)), constant_values=((1, 2), (3, 4))) is a
T.diff(a, 0) is a
T.default(None, a) is a
T.default(a, b) is a
T.cpu_contiguous(a) is a
T.extra_ops.cpu_contiguous(a) is a
T.scalar_from_tensor(s) is s
T.tensor_from_scalar(s) is s
T.nlinalg.matrix_power(q, 1) is q
T.nlinalg.matrix_dot(q) is q
T.largest(a) is a
T.stacklists(a) is a
T.extract_constant(a) is a
T.as_tensor_variable(a.shape).owner.op == T.shape(a).owner.op
round(j) is j
np.round(j) is j
np.ravel(v) is v
np.flip(s) is s
np.clip(a, None, None) is a
T.stack([n, a.shape[1]])[0] is n
T.concatenate([T.stack([n, 3]), T.stack([4, n])])[3] is n
T.concatenate([T.stack([n, 3]), T.stack([4, n])])[1:][2] is n
T.concatenate([T.stack([n, 3]), a.shape]).owner.inputs[0] is n
type(T.concatenate([T.stack([u8[0]]), T.stack([u8[1]])]).owner.op) is T.MakeVector
type(T.concatenate([T.shape(s), T.shape(s)]).owner.op) is T.Join
type(T.concatenate([T.stack([n, 3]), p]).owner.op) is T.Join
type(T.concatenate([T.stack([s, s]), T.stack([s, s])]).owner.op) is T.Join
type(T.concatenate([T.stack([n, n]), T.stack([s, s])]).owner.op) is T.Join
type(T.concatenate([T.constant([1, 2]), T.constant([3])]).owner.op) is T.Join
type(T.concatenate([T.constant([[1, 2]]), ir]).owner.op) is T.Join
type(T.concatenate([T.constant([[1, 2]]), ir], 1).owner.op) is T.Join
""")

NODES = rows("""
r.shape[0] -> 0
T.constant([1, 2]).shape[0] -> 0
a.shape[1] -> 1
a.size -> 3
s.size -> 0
h.size -> 1
T.arange(3) -> 1
T.arange(n) -> 2
T.arange(0, n) -> 2
T.arange(1, 3) -> 4
T.arange(0, 4, 2) -> 4
T.arange(1, 5, 2) -> 7
T.arange(0, n, 1) -> 2
T.zeros((2, 3)) -> 1
T.zeros((n, 3)) -> 2
T.diag(v) -> 2
T.diag(v, 1) -> 3
T.concatenate([a.shape, a.shape]) -> 5
T.concatenate([a.shape, v.shape])[2] -> 1
T.stack([n, n])[0] -> 0
a[:, None] -> 1
a[None][0] -> 2
a[1:, None] -> 2
a[...] -> 1
a[:] -> 1
a[0, None, 1] -> 2
T.pad(v, 1) -> 8
T.pad(a, ((0, 0), (1, 1))) -> 9
T.pad(v, (1, 2), constant_values=(1, 1)) -> 8
T.dot(a, w) -> 1
T.tensordot(a, b, [[1], [1]]) -> 2
T.outer(v, w) -> 3
T.batched_dot(c, c.transpose(0, 2, 1)) -> 2
T.sum(a) -> 1
T.sum(a, 1, keepdims=True) -> 2
T.repeat(v, 2) -> 7
T.tile(v, 2) -> 7
T.repeat(r, n, 0) -> 6
T.repeat(v, n) -> 7
T.tile(r, (n, 2)) -> 7
T.tile(T.constant([1, 2]), 3) -> 3
T.repeat(T.constant([1, 2]), 3) -> 3
T.tile(T.constant([1, 2]), n) -> 6
T.roll(v, 1) -> 9
T.flatten(a) -> 1
T.flatten(c, 2) -> 3
T.kron(k, r) -> 7
T.nnet.relu(a) -> 1
T.nnet.relu(a, 0) -> 1
T.nnet.relu(a, 0.0) -> 1
T.nlinalg.matrix_power(q, 8) -> 3
T.nlinalg.matrix_power(q, 3) -> 2
T.round(v) -> 1
np.round(v) -> 1
abs(v) ** 0.5 -> 2
""")


@pytest.mark.parametrize("text", ITSELF)
def test_nothing_is_made_of_what_is_so_already(text):
    assert sides(f"{text} :: 0")[2]


@pytest.mark.parametrize("row", NODES, ids=lambda row: row.partition(" -> ")[0])
def test_as_few_nodes_are_made_as_are_needed(row):
    text, _, count = row.partition(" -> ")
    built = sides(f"{text} :: 0")[2]
    assert len(toposort([built])) == int(count)
