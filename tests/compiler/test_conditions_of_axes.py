"""What moves, adds, repeats and joins axes, on both sides of its conditions."""

import gpuarray.compiler.tensor as T
import pytest
import test_conditions_of_creation as creation
import test_conditions_of_picking as picking
from gpuarray.compiler.ops.broadcast.broadcast import BroadcastTo
from written import assert_gradient, assert_numpys, assert_views, rows

OF_REALS = rows("""
m.moveaxis(c, 0, 2)
m.moveaxis(c, -1, 0)
m.moveaxis(c, [0, 1], [-1, 0])
m.moveaxis(c, (2, 0), (0, 1))
m.moveaxis(d, (3, 0, 1), (0, 2, 1))
m.rollaxis(c, 2)
m.rollaxis(c, 0, 3)
m.rollaxis(c, 0, 2)
m.rollaxis(c, 0, 1)
m.rollaxis(c, 1, -1)
m.rollaxis(c, 2, 1)
m.rollaxis(c, 1, -3)
m.rollaxis(c, -1, -2)
m.expand_dims(a, 0)
m.expand_dims(a, -1)
m.expand_dims(a, (0, 2))
m.expand_dims(a, (0, -1))
m.expand_dims(s, 0)
T.shape_padaxis(a, 1) :: a[:, None]
T.shape_padleft(a) :: a[None]
T.shape_padleft(a, 0) :: a
T.shape_padleft(a, 2) :: a[None, None]
T.shape_padright(a) :: a[..., None]
T.shape_padright(a, 2) :: a[..., None, None]
m.squeeze(l)
m.squeeze(l, 0)
m.squeeze(l, -1)
m.squeeze(l, (0, 2))
m.squeeze(u, 0)
T.atleast_nd(s) :: s[None]
T.atleast_nd(v, 3) :: v[None, None]
T.atleast_nd(v, 3, left=False) :: v[:, None, None]
T.atleast_nd(a, 1) :: a
m.atleast_1d(s)
m.atleast_1d(a)
m.atleast_2d(s)
m.atleast_2d(v)
m.atleast_2d(c)
m.atleast_3d(s)
m.atleast_3d(v)
m.atleast_3d(a)
m.atleast_3d(d)
list(m.atleast_2d(s, v))
list(m.broadcast_arrays(r, k))
list(m.broadcast_arrays(k, r, s))
list(m.broadcast_arrays(a, w))
list(m.broadcast_arrays(a, b))
list(m.broadcast_arrays(s, c))
list(m.broadcast_arrays(h, o))
T.broadcast_like(r, a) :: np.broadcast_to(r, a.shape)
T.broadcast_like(w, c) :: np.broadcast_to(w, c.shape)
T.broadcast_like(a, b) :: a
T.broadcast_like(s, k) :: np.broadcast_to(s, k.shape)
T.makeKeepDims(c, c.sum(1), 1) :: c.sum(1, keepdims=True)
T.makeKeepDims(c, c.sum(), None) :: c.sum(keepdims=True)
T.makeKeepDims(c, c.sum((0, 2)), (0, -1)) :: c.sum((0, 2), keepdims=True)
T.specify_shape(a, (3, 4)) :: a
T.specify_shape(u, (1, 4)) :: u
T.specify_shape(r, (1, 4)) :: r
T.specify_shape(s, ()) :: s
T.specify_shape(a, b.shape) :: a
m.broadcast_to(r, (3, 4))
m.broadcast_to(k, (3, 4))
m.broadcast_to(w, (2, 3, 4))
m.broadcast_to(s, (2,))
m.broadcast_to(s, ())
m.broadcast_to(s, (2, 0))
m.broadcast_to(l, (2, 3, 1))
T.broadcast_to(r, a.shape) :: np.broadcast_to(r, a.shape)
T.broadcast_to(s, n, 1) :: np.broadcast_to(s, 2)
T.patternbroadcast(u, (True, False)) :: u
T.addbroadcast(u, -2) :: u
T.unbroadcast(r, 0) :: r
T.unbroadcast(l, 0, 2) :: l
T.as_tensor_variable(v, ndim=2) :: v[None]
T.as_tensor_variable(l, ndim=2) :: l[0]
T.as_tensor_variable(a, ndim=2) :: a
T.as_tensor_variable([[1.0, 2.5]], ndim=3) :: np.array([[[1.0, 2.5]]])
T.as_tensor_variable([[1.0, 2.5]], ndim=1) :: np.array([1.0, 2.5])
T.as_tensor_variable([s, 2 * s]) :: np.array([s, 2 * s])
T.constant([1.5], ndim=3) :: np.array([[[1.5]]])
m.transpose(c)
m.transpose(c, (1, 2, 0))
m.transpose(c, (-1, 0, 1))
c.transpose()
c.transpose(1, 0, 2)
c.transpose((1, 0, 2))
c.transpose([2, 0, 1])
v.transpose(0)
s.transpose()
m.swapaxes(c, 0, 2)
m.swapaxes(c, -1, 1)
m.swapaxes(c, 1, 1)
a.dimshuffle([1, 0]) :: a.T
a.dimshuffle(-1, 'x', 0) :: a.T[:, None]
k.dimshuffle(0) :: k[:, 0]
h.dimshuffle() :: h[0, 0]
a.flatten() :: a.ravel()
c.flatten(2) :: c.reshape(2, 12)
c.flatten(outdim=2) :: c.reshape(2, 12)
d.flatten(3) :: d.reshape(2, 1, 6)
c.flatten(3) :: c
s.flatten() :: s.ravel()
v.flatten(1) :: v
m.reshape(a, (2, -1))
m.reshape(a, (-1, 1))
m.reshape(a, -1)
m.reshape(s, (1, 1))
m.reshape(s, (-1,))
m.reshape(o, ())
T.reshape(a, b.shape[::-1]) :: a.reshape(4, 3)
T.reshape(a, (n, -1)) :: a.reshape(2, -1)
T.reshape(a, (n * 2, a.shape[0])) :: a.reshape(4, 3)
T.reshape(a, n * 6, ndim=1) :: a.reshape(12)
a.reshape(4, 3)
a.reshape((4, 3))
a.reshape(-1)
m.concatenate([a, b])
m.concatenate([a, b], 1)
m.concatenate([a, b], -1)
m.concatenate([a, a, r])
m.concatenate([r, r])
m.concatenate([r, r], 1)
m.concatenate([r, u], 1)
m.concatenate([u, r], 1)
m.concatenate([r])
m.concatenate([a, j])
m.concatenate([x32, a])
T.join(1, a, b, a) :: np.concatenate([a, b, a], 1)
T.join(-2, a, b) :: np.concatenate([a, b])
m.stack([a, b])
m.stack([a, b], axis=1)
m.stack([a, b], axis=-1)
m.stack([a, b], axis=2)
m.stack([s, 2.5 * s, s])
m.stack([r, r], axis=1)
m.stack([v])
T.stack(v, v) :: np.stack([v, v])
T.stack([v, v], 1) :: np.stack([v, v], 1)
T.stack(s, s) :: np.stack([s, s])
T.stacklists([[s, s], [s, 2 * s]]) :: np.array([[s, s], [s, 2 * s]])
T.stacklists([[v, v]]) :: np.array([[v, v]])
T.horizontal_stack(a, k) :: np.hstack([a, k])
T.vertical_stack(a, r) :: np.vstack([a, r])
T.split(v5, [2, 0, 3], 3) :: np.split(v5, [2, 2])
T.split(v5, [1, 4]) :: np.split(v5, [1])
T.split(a, [1, 3], axis=1) :: np.split(a, [1], 1)
T.split(a, [1, 3], 2, -1) :: np.split(a, [1], 1)
T.split(a, [3], 1) :: [a]
T.split(a, np.array([1, 2]), 2) :: np.split(a, [1])
T.split(a, [n, a.shape[0] - n], 2) :: np.split(a, [2])
T.split(a, [n, a.shape[0] - n])[1] :: a[2:]
m.tile(v, 3)
m.tile(a, 2)
m.tile(a, (2, 1))
m.tile(a, (1, 2))
m.tile(a, (2, 1, 3))
m.tile(r, (2, 3))
m.tile(s, (2,))
m.tile(a, (1, 1))
m.tile(a, (0, 2))
T.tile(a, (n, 1)) :: np.tile(a, (2, 1))
T.tile(a, i[:2] * 0 + 2, ndim=2) :: np.tile(a, (2, 2))
T.tile(v, (2,), ndim=2) :: np.tile(v, (1, 2))
m.repeat(a, 2)
m.repeat(a, 2, 0)
m.repeat(a, 2, -1)
m.repeat(a, 0, 0)
m.repeat(a, [1, 0, 2], 0)
m.repeat(a, [1, 0, 2, 1], 1)
m.repeat(v, [2, 0, 1])
m.repeat(s, 3)
m.repeat(r, [2], 0)
m.repeat(k, [2, 0, 1], 0)
m.repeat(r, [2, 0, 1, 3], 1)
T.repeat(a, n, 1) :: np.repeat(a, 2, 1)
T.repeat(v, T.abs(p)) :: np.repeat(v, [2, 0, 1])
T.repeat(l, T.abs(p), 1) :: np.repeat(l, [2, 0, 1], 1)
m.roll(v, 1)
m.roll(v, -1)
m.roll(v, 0)
m.roll(v, 4)
m.roll(a, 2)
m.roll(a, 1, 0)
m.roll(a, -1, 1)
m.roll(a, (1, 2), (0, 1))
m.roll(a, 1, (0, 1))
m.roll(a, (1, 1), 0)
m.roll(r, 1, 0)
m.roll(r, 1, 1)
m.roll(e, 2, 0)
T.roll(a, n, 1) :: np.roll(a, 2, 1)
T.roll(s, 1) :: s
""")

OF_OTHERS = rows("""
m.shape(a)
m.shape(s) :: np.array([], 'int64')
m.shape(e)
a.shape[1] :: np.int64(4)
a.shape[-1] :: np.int64(4)
c.shape[1:] :: np.array([3, 4])
c.shape[::-1] :: np.array([4, 3, 2])
c.shape[2:1] :: np.array([], 'int64')
a.size :: np.int64(12)
s.size :: np.int64(1)
v.size :: np.int64(3)
c.size :: np.int64(24)
h.size :: np.int64(1)
T.concatenate([a.shape, [5]]) :: np.array([3, 4, 5])
T.concatenate([[5], a.shape, c.shape[:1]]) :: np.array([5, 3, 4, 2])
T.stack([n, a.shape[1]]) :: np.array([2, 4])
m.repeat(g, 2, 0)
m.concatenate([g, j])
m.roll(j, 1, 0)
T.specify_shape(p, (3,)).shape :: np.array([3])
T.fill(a, j).shape :: np.array([3, 4])
T.reshape(a, (2, n * 3)).shape :: np.array([2, 6])
T.reshape(a[:, :2], p + 1, ndim=3) :: np.reshape(a[:, :2], (3, 1, 2))
T.reshape(e, p, ndim=3) :: np.reshape(e, (2, 0, 1))
T.broadcast_to(r, (n + 1, 4)).shape :: np.array([3, 4])
T.split(v5, [2, 3], 2)[1].shape :: np.array([3])
T.tile(a, (n, 3)).shape :: np.array([6, 12])
T.repeat(r, n, 0).shape :: np.array([2, 4])
T.repeat(r, n, 1).shape :: np.array([1, 8])
""")


@pytest.mark.parametrize("text", [*OF_REALS, *OF_OTHERS])
def test_axes_are_numpys(text):
    assert_numpys(text)


@pytest.mark.parametrize("text", OF_REALS)
def test_gradients_of_axes_agree_with_differences(text):
    assert_gradient(text)


ALWAYS = (
    *(T.DimShuffle, T.ExtractDiag, T.Rebroadcast, T.SpecifyShape, T.Split),
    *(T.Subtensor, BroadcastTo),
)


@pytest.mark.parametrize("text", [*OF_REALS, *creation.OF_REALS, *picking.OF_REALS])
def test_what_shares_memory_is_a_view(text):
    assert_views(text, ALWAYS)
