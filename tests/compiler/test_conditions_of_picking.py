"""Indices, what they change, and functions that pick, sort, count and scan."""

import gpuarray.compiler.tensor as T
import pytest
from gpuarray.compiler.ops.index.advanced import ARRAY, MASK, are_distinct
from written import assert_gradient, assert_numpys, rows

OF_REALS = rows("""
a[0]
a[-1, 2]
a[0:2]
a[1:]
a[:0]
(2 * a)[0:]
(2 * a)[::n] :: (2 * a)[::2]
a[:2, ::2]
a[::-1]
a[2:0:-1, 3:0:-2]
a[-2:, :-1]
a[5:]
a[:-5]
a[None]
a[:, None]
a[..., 0]
a[..., None, 1:]
a[None, :, None, 2]
c[1, ..., 2]
c[..., 1, :2]
c[:, 1]
c[()]
r[0]
r[:1]
r[1:]
r[:, 1]
r[::2]
s[None]
s[...]
a[[0, None]] :: a[0, None]
a[[slice(0, 2), Ellipsis]] :: a[0:2]
a[n] :: a[2]
a[:n] :: a[:2]
a[-n:] :: a[-2:]
a[::n] :: a[::2]
a[::-n] :: a[::-2]
a[n:0:-1] :: a[2:0:-1]
a[p] :: a[p]
a[p, 1]
a[p, p]
a[:, p]
a[None, p]
a[p, None]
a[i2]
a[i2, i2]
a[i2, 1:]
a[ir, ik]
a[ik, 1]
a[ir[:, :2], ik]
a[[0, 2]]
a[[2, -1], 1:3]
c[1, p]
c[:, p, 1]
c[1, :, p]
c[p[:2] // 2, :, p[1:]]
c[..., p]
c[:, 1, p, None]
c[:, None, p]
c[None, 1, p]
c[1, None, p]
c[0, ..., None, p]
d[1, :, p]
d[:, 0, p, 1]
d[:, 0, :, p % 2]
c[None, p % 2, :, p]
a[g]
a[t]
a[t, p[:2]]
c[:, t]
c[1, t, 2:]
c[:, g]
c[None, 0, g]
a[np.array([True, False, True])]
a[np.zeros((3, 4), bool)]
a[[]]
a[np.array([], 'int64'), 1:]
r[[0, 0]]
r[ir[0] * 0]
m.take(a, p)
m.take(a, p, 0)
m.take(a, i2, -1)
m.take(a, [7, -8, 13], mode='wrap')
m.take(a, [7, -8, 5], 1, mode='wrap')
m.take(a, [7, -8, 5], 1, mode='clip')
m.take(a, 2, 1)
T.take(a, n, 1) :: a[:, 2]
m.compress([True, False, True], a, 0)
m.compress([0, 1, 1], a, 1)
m.compress([0, 1, 1, 0, 1], a)
T.nonzero_values(a * (a > 0)) :: a[a > 0]
m.choose(p % 2, [v, 2 * v])
T.choose(p, [v, 2 * v, w[:3]]) :: np.choose(p, [v, 2 * v, w[:3]])
T.choose(p, [v]  * 3) :: v
m.choose(p * 0, [v])
m.choose(p % 2, a[:2, :3])
m.choose(n % 2, a)
m.choose(ir % 2, c[:, :, 0])
m.choose([5, -1, 1], [v, 2 * v], mode='wrap')
m.choose([5, -1, 1], [v, 2 * v], mode='clip')
m.choose([5, -1, 1], a[:, :3], mode='wrap')
m.choose([5, -1, 1], a[:, :3], mode='clip')
T.permute_row_elements(a[:, :3], p) :: a[:, :3][:, p]
T.permute_row_elements(v, p) :: v[p]
T.permute_row_elements(v, p, inverse=True) :: v[np.argsort(p)]
T.permute_row_elements(v, ir) :: v[ir]
T.permute_row_elements(a[:2, :2], i2 * 0 + [[1, 0], [0, 1]]) :: np.array([a[0, 1::-1],
    a[1, :2]])
m.take_along_axis(a, i[None] % 3, 0)
m.take_along_axis(a, np.array([[0], [2], [-1]]), 1)
m.take_along_axis(a, np.array([[0], [2], [-1]]), -1)
m.sort(a)
m.sort(a, 0)
m.sort(a, None)
m.sort(c, 1)
a.sort(axis=0) :: np.sort(a, 0)
T.sort(c, n - 1) :: np.sort(c, 1)
T.topk(a, 2) :: np.sort(a)[:, :1:-1]
T.topk(a, -3) :: np.sort(a)[:, :3]
T.topk(a, 1, 0) :: a.max(0, keepdims=True)
T.topk(a, -1, axis=None) :: a.min(keepdims=True).ravel()
T.topk(a, n, 1) :: np.sort(a)[:, :1:-1]
m.cumsum(a)
m.cumsum(a, 0)
m.cumsum(a, -1)
m.cumprod(a)
m.cumprod(a, 1)
m.cumprod(a * (a > -1), 0)
m.cumprod(c, 1)
m.cumsum(s)
m.diff(a)
m.diff(a, 2)
m.diff(a, 1, 0)
m.diff(a, 0)
m.diff(a, 5)
T.bincount(p, v) :: np.bincount(p, v)
T.bincount(p % 2, v, 4) :: np.bincount(p % 2, v, 4)
T.unique(a) :: np.unique(a)
T.unique(a, axis=0) :: np.unique(a, axis=0)
T.unique(c, axis=-1) :: np.unique(c, axis=-1)
T.unique(a, True, True, True)[0] :: np.unique(a)
T.set_subtensor(a[0], s) :: np.where([[1], [0], [0]], s, a)
T.set_subtensor(a[1:], 2 * v[0]) :: np.where([[0], [1], [1]], 2 * v[0], a)
T.set_subtensor(a[:, 1], v) :: np.c_[a[:, :1], v, a[:, 2:]]
T.set_subtensor(a[:, None, 1], v[:, None]) :: np.c_[a[:, :1], v, a[:, 2:]]
T.set_subtensor(a[None], r) :: np.broadcast_to(r, a.shape)
T.set_subtensor(a.T[1], v).T :: np.c_[a[:, :1], v, a[:, 2:]]
T.set_subtensor(a[:, 1:][:, 0], v)[:, 0] :: v
T.inc_subtensor(a[:n], r) :: np.r_[a[:2] + r, a[2:]]
T.inc_subtensor(a[n], w) :: np.r_[a[:2], a[2:] + w]
T.inc_subtensor(a[::-2], w) :: a + [[1], [0], [1]] * w
T.inc_subtensor(r[0], w) :: r + w
T.inc_subtensor(r[:], u) :: r + u
T.inc_subtensor(a[[0, 0, 2]], w) :: a + [[2], [0], [1]] * w
T.inc_subtensor(a[[0, 0, 2]], w, ignore_duplicates=True) :: a + [[1], [0], [1]] * w
T.inc_subtensor(a[[0, 0, 2]], b, set_instead_of_inc=True) :: np.array([b[1], a[1],
    b[2]])
T.set_subtensor(a[[0, 0, 2]], b) :: np.array([b[1], a[1], b[2]])
T.set_subtensor(a[p], b) :: b[np.argsort(p)]
T.set_subtensor(a[p, p], v) :: np.where(np.eye(3, 4, dtype=bool),
    np.r_[v[np.argsort(p)], 0][None], a)
T.set_subtensor(a[p * 0, p * 0 - 1], v) :: np.where(np.arange(12).reshape(3, 4) == 3,
    v[2], a)
T.set_subtensor(a[g], 0.5) :: np.where(g, 0.5, a)
T.set_subtensor(a[g], s) :: np.where(g, s, a)
T.inc_subtensor(a[g], s) :: np.where(g, a + s, a)
T.inc_subtensor(a[t], w) :: a + t[:, None] * w
T.set_subtensor(a[t, 1], s) :: np.where(t[:, None] & (np.arange(4) == 1), s, a)
T.set_subtensor(a[:, p], b[:, :3])[:, 3] :: a[:, 3]
T.put_along_axis(a, np.array([[0], [2], [-1]]), k, 1)[1, 2] :: k[1, 0]
""")

OF_OTHERS = rows("""
T.constant(5)[None] :: np.array([5], 'int8')
m.nonzero(g)
m.nonzero(p)
T.nonzero(g, return_matrix=True) :: np.array(np.nonzero(g))
T.nonzero(p, True) :: np.array(np.nonzero(p))
m.flatnonzero(g)
m.flatnonzero(e1)
j[1:, p]
g[p]
z[p]
m.compress(t, g, 0)
m.choose(p, [p, p * 2, u8])
T.inverse_permutation(p) :: np.argsort(p)
T.inverse_permutation(ir) :: np.argsort(ir)
T.inverse_permutation(np.array([[1, 0], [0, 1]])) :: np.array([[1, 0], [0, 1]])
T.inverse_permutation(u8[1:2]) :: np.array([0], 'uint8')
m.sort(j)
m.sort(g, 0)
m.sort(x32 * np.float32('nan'))
m.argsort(a)
m.argsort(a, 0)
m.argsort(a, None)
m.argsort(np.array([2, 1, 2, 1, 2]))
T.argtopk(a, 2) :: np.argsort(-a)[:, :2]
T.argtopk(a, -2, 0) :: np.argsort(a, 0)[:2]
T.argtopk(a, 1, None) :: np.array([a.argmax()])
T.argtopk(np.array([2, 1, 2, 1, 2]), 4) :: np.array([0, 2, 4, 1])
T.argtopk(np.array([2, 1, 2, 1, 2]), -3) :: np.array([1, 3, 0])
T.argtopk(a, 2, idx_dtype='uint8') :: np.argsort(-a)[:, :2].astype('uint8')
T.topk_and_argtopk(a, 2)[1] :: np.argsort(-a)[:, :2]
T.topk(a, n - 5).shape :: np.array([3, 3])
T.topk(a, -1).shape :: np.array([3, 1])
m.argmax(a)
m.argmax(a, 0)
m.argmax(a, -1)
m.argmin(a)
m.argmin(c, 1)
m.argmax(a, axis=1, keepdims=True)
m.argmin(a, keepdims=True)
T.argmax(c, (0, 2)) :: np.moveaxis(c, 1, 0).reshape(3, 8).argmax(1)
T.argmax(c, axis=[1, 0]) :: c.reshape(6, 4).argmax(0)
m.argmax(np.array([1, 3, 3, 1]))
m.argmin(np.array([3, 1, 3, 1]))
T.max_and_argmax(a, 1, True) :: [a.max(1, keepdims=True), a.argmax(1, keepdims=True)]
T.cumsum(j, 1) :: np.cumsum(j, 1, 'int32')
m.cumsum(t)
m.cumprod(t)
T.cumsum(x16, 1) :: np.cumsum(x16, 1, 'float32').astype('float16')
T.cumsum(u8) :: np.cumsum(u8, dtype='uint8')
T.CumOp(1, 'add', reverse=True)(j) :: np.cumsum(j[:, ::-1], 1, 'int32')[:, ::-1]
T.CumOp(0, 'mul', True)(a) :: np.cumprod(a[::-1], 0)[::-1]
m.diff(g)
m.diff(j, axis=0)
m.bincount(p)
m.bincount(p, minlength=5)
m.bincount(p, minlength=2)
m.bincount(np.array([], 'int64'))
m.bincount(np.array([], 'int64'), minlength=2)
T.bincount(p, assert_nonneg=True) :: np.bincount(p)
T.bincount(p, minlength=n * 2) :: np.bincount(p, minlength=4)
T.bincount(u8[:2], weights=j[0, :2]) :: np.bincount(u8[:2], j[0, :2]).astype('int32')
T.unique(j, True) :: np.unique(j, True)
T.unique(j, return_inverse=True) :: np.unique(j, return_inverse=True)
T.unique(j, return_counts=True) :: np.unique(j, return_counts=True)
T.unique(j % 2, True, True, True) :: np.unique(j % 2, True, True, True)
T.unique(j % 2, True, True, True, 0) :: np.unique(j % 2, True, True, True, 0)
T.unique(j % 2, return_inverse=True, axis=-1) :: np.unique(j % 2, return_inverse=True,
    axis=-1)
T.unique(r, axis=0) :: np.unique(r, axis=0)
m.searchsorted([1, 2, 2, 3], p)
m.searchsorted([1, 2, 2, 3], p, 'right')
m.searchsorted([1, 2, 2, 3], 2.5)
m.searchsorted([3, 1, 2], p, 'left', [1, 2, 0])
m.searchsorted([3, 1, 2], p, sorter=[1, 2, 0], side='right')
m.searchsorted([1.5, 2.5], p)
m.ravel_multi_index([p, p], (3, 4))
m.ravel_multi_index([p, p], (3, 4), order='F')
m.ravel_multi_index([p, p, p * 0], (3, 4, 2))
m.ravel_multi_index([[5, -1], [-7, 9]], (3, 4), mode='wrap')
m.ravel_multi_index([[5, -1], [-7, 9]], (3, 4), mode='clip')
m.ravel_multi_index([[5, -1], [-7, 9]], (3, 4), mode=('clip', 'wrap'))
T.ravel_multi_index([p, p], (n + 1, 4)) :: np.ravel_multi_index([p, p], (3, 4))
T.ravel_multi_index([p, p], p[:2] + 3) :: np.ravel_multi_index([p, p], (5, 3))
list(m.unravel_index([7, 0, 11], (3, 4)))
list(m.unravel_index([7, 0, 11], (3, 4), order='F'))
list(m.unravel_index(7, (2, 1, 4)))
T.unravel_index(p, (n, 3)) :: list(np.unravel_index(p, (2, 3)))
T.unravel_index(p, p[:2] + 3, ndim=2) :: list(np.unravel_index(p, (5, 3)))
T.unravel_index(p, (3,)) :: [p]
""")


@pytest.mark.parametrize("text", [*OF_REALS, *OF_OTHERS])
def test_what_is_picked_is_numpys(text):
    assert_numpys(text)


@pytest.mark.parametrize("text", OF_REALS)
def test_gradients_of_what_is_picked_agree_with_differences(text):
    assert_gradient(text)


@pytest.mark.parametrize(
    ("form", "index", "told"),
    [
        ("m", [[True, False]], True),
        ("mm", [[True], [True]], False),
        ("a", [[0, 2, 1]], True),
        ("a", [[0, 2, 0]], False),
        ("a", [[-1, -3]], True),
        ("a", [[-1, 2]], False),
        ("a", [[0, 0]], False),
        ("aa", [[0, 0], [1, 0]], True),
        ("aa", [[0, 0], [1, 1]], False),
        ("aa", [[[0], [1]], [[0, 1]]], True),
        ("am", [[0, 1], [True, True]], False),
        ("a", [None], False),
        ("aa", [[0, 1], None], False),
    ],
)
def test_places_are_named_once_where_that_can_be_seen(form, index, told):
    parts = [T.lvector() if each is None else T.constant(each) for each in index]
    entries = [ARRAY if each == "a" else MASK for each in form]
    assert are_distinct(entries, parts) == told
