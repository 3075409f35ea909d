"""What plans and the files of functions compute beside products and factors."""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from cases import f64
from gpuarray.compiler import config, function
from test_conditions_of_kernels import assert_files_compute, parts_of, value_of
from written import rows

pytestmark = pytest.mark.filterwarnings("ignore::gpuarray.HostNotice")

ARRAYS = {
    "a": f64(3, 4),
    "c": f64(2, 3, 4),
    "v": f64(3),
    "w": f64(4),
    "p": np.array([2, 0, 1]),
    "i": np.array([3, -1, 0, 3]),
    "twice": np.array([2.0, 1.0, np.nan, 2.0, np.nan, 1.0, 2.0]),
}

COMPUTED = rows("""
m.sort(a, 0)
m.sort(c, 1)
m.sort(twice)
m.argsort(twice)
T.topk(a, 2) :: np.sort(a)[:, :1:-1]
T.topk(a, -2, 0) :: np.sort(a, 0)[:2]
T.argtopk(c, 2, 1) :: np.argsort(-c, 1)[:, :2]
T.argtopk(a, -1, idx_dtype='uint8') :: a.argmin(1, keepdims=True).astype('uint8')
T.topk(a, p[1] + 2) :: np.sort(a)[:, :1:-1]
T.topk(a, p[1] - 2) :: np.sort(a)[:, :2]
m.cumsum(a, 0)
m.cumprod(a, 1)
T.CumOp(1, 'add', True)(a) :: np.cumsum(a[:, ::-1], 1)[:, ::-1]
T.CumOp(0, 'mul', True)(c) :: np.cumprod(c[::-1], 0)[::-1]
m.searchsorted(T.sort(w) if m is T else np.sort(w), v)
m.searchsorted([1, 2, 2, 3], p)
m.searchsorted([1, 2, 2, 3], p, 'right')
T.unique(twice) :: np.unique(twice)
T.unique(twice, True)[1] :: np.unique(twice, True)[1]
T.unique(twice, return_inverse=True)[1] :: np.unique(twice, return_inverse=True)[1]
T.unique(twice, return_counts=True)[1] :: np.unique(twice, return_counts=True)[1]
T.unique(i, True, True, True)[0] :: np.unique(i)
T.unique(i, True, True, True)[1] :: np.unique(i, True)[1]
T.unique(i, True, True, True)[2] :: np.unique(i, return_inverse=True)[1]
T.unique(i, True, True, True)[3] :: np.unique(i, return_counts=True)[1]
T.unique(a > 0, return_inverse=True)[1] :: (a > 0).astype('int64')
m.concatenate([a, a, a[:1]])
m.concatenate([c, c[:, :1]], 1)
T.split(w[:3], p, 3)[0] :: w[:2]
T.split(w[:3], p, 3)[2] :: w[2:3]
T.split(a, [1, 3], 2, 1)[1] :: a[:, 1:]
m.repeat(a, p, 0)
m.repeat(c, p, 1)
T.specify_shape(a, (p[0] + 1, 4)) :: a
T.broadcast_to(w, (p[0] + 1, 4)) :: np.broadcast_to(w, (3, 4))
m.reshape(a, (p[0], 6))
T.stack([v[0], v[1], 2.0]) :: np.array([v[0], v[1], 2.0])
T.stack([p[0], p[1]]) :: np.array([2, 0])
T.stack([a.shape[0], p[1]]) :: np.array([3, 0])
a.shape[0] * p[0]
c.shape[1:] :: np.array([3, 4])
T.nnet.softmax(c, 1) :: np.exp(c) / np.exp(c).sum(1, keepdims=True)
T.nnet.logsoftmax(a, 0) :: a - np.log(np.exp(a).sum(0))
T.nnet.crossentropy_categorical_1hot(abs(a), p) :: -np.log(abs(a[np.arange(3), p]))
T.nnet.crossentropy_categorical_1hot(abs(a), p - 3) ::
    -np.log(abs(a[np.arange(3), p - 3]))
T.grad(T.nnet.crossentropy_categorical_1hot(a, p).sum(), a) ::
    -1.0 * (np.arange(4) == p[:, None]) / a
T.grad(T.nnet.crossentropy_categorical_1hot(c, p % 2 + 0 * T.cast(c[:, :, 0],
    'int64')).sum(), c) :: -1.0 * (np.arange(4) == p[:, None] % 2) / c
m.argmax(a)
m.argmin(c, 1)
T.argmax(c, (0, 2)) :: np.moveaxis(c, 1, 0).reshape(3, 8).argmax(1)
T.argmin(c, (0, 1)) :: c.reshape(6, 4).argmin(0)
m.argmax(twice)
T.max_and_argmax(a, 1)[0] :: a.max(1)
T.max_and_argmax(a, 0)[1] :: a.argmax(0)
T.min(a, 1) + T.argmin(a, 1) :: a.min(1) + a.argmin(1)
m.sum(c, (0, 2))
m.prod(a, 0)
m.max(c, (1, 2))
m.min(a)
m.all(a > -2, 0)
m.sum(a > 0)
m.sum(T.exp(a) if m is T else np.exp(a), 1)
T.sum(a, 1) / T.max(a, 1) :: a.sum(1) / a.max(1)
m.sum(a[:, :0], 1)
m.all(a[:0] > 0)
T.fft.rfft(c[:, :, :3], 'ortho')[..., 1] :: np.fft.rfft2(c[:, :, :3], norm='ortho').imag
T.fft.irfft(T.fft.rfft(c)) :: c
T.fft.irfft(T.fft.rfft(a[:, :3]), is_odd=True) :: a[:, :3]
T.AllocEmpty('float64')(2, 3).shape :: np.array([2, 3])
""")


@pytest.mark.parametrize("texts", parts_of(COMPUTED), ids=lambda texts: texts[0])
def test_what_files_compute_is_numpys(first_context, tmp_path, texts):
    assert_files_compute(ARRAYS, texts, first_context, tmp_path)


MISTAKES = rows("""
T.split(w, p, 3)[0] !! ValueError !! split: sizes
T.split(w[:1], p - 1, 3)[0] !! ValueError !! split: sizes
T.repeat(a, i, 0) !! ValueError !! repeat
T.repeat(a, p - 1, 0) !! ValueError !! repeat
T.topk(a, p[0] + 3) !! ValueError !! topk: kth is
T.topk(a, p[1]) !! ValueError !! topk: kth is
T.topk(a, p[1] - 5) !! ValueError !! topk: kth is
T.specify_shape(a, (p[0], 4)) !! ValueError !! specify_shape
T.specify_shape(a, (3, p[0] + 3)) !! ValueError !! specify_shape
T.AllocDiag()(v, p[0], 4) !! ValueError !! AllocDiag
T.nnet.crossentropy_categorical_1hot(a, i) !! ValueError !! Pick
T.set_subtensor(a[p[0] - 2 :], T.stack([v, v, v, v]).T[:2]) !! ValueError !! mis-match
T.set_subtensor(a[p], T.stack([v, v, v])) !! ValueError !! mis-match
T.reshape(a, (p[0] + 3, 3)) !! ValueError !! reshape
T.broadcast_to(a, (3, p[0])) !! ValueError !! broadcast
T.addbroadcast(a, 0) !! ValueError !! rebroadcast
a + c[0, :2] !! ValueError !!
T.dot(a, w[:3]) !! ValueError !!
T.max(a[:0]) !! ValueError !!
T.argmax(a[:0], 0) !! ValueError !!
a[p[0] + 1] !! IndexError !! index 3 is out of bounds
a[:, -p[0] - 3] !! IndexError !! index -5 is out of bounds
T.nlinalg.matrix_inverse(a) !! ValueError !! square
""")


@pytest.mark.parametrize("row", MISTAKES, ids=lambda row: row.partition(" !! ")[0])
def test_what_does_not_fit_is_told_by_a_function_and_by_its_file(
    first_context, tmp_path, row
):
    text, kind, fact = row.split(" !!")[:3]
    names = {
        name: T.tensor(array.dtype, (False,) * array.ndim, name)
        for name, array in ARRAYS.items()
    }
    with config.use(device=first_context.name):
        made = function(
            list(names.values()),
            value_of(text, "ours", names),
            on_unused_input="ignore",
        )
    made.save(tmp_path / "f", graph=False)
    told = {"ValueError": ValueError, "IndexError": IndexError}[kind.strip()]
    for each in (made, gpuarray.load_function(tmp_path / "f", first_context)):
        with pytest.raises(told) as error:
            each(*ARRAYS.values())
        assert fact.strip() in str(error.value)
