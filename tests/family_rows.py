"""Families of elements and rows: what each takes and gives."""

import gpuarray.compiler.tensor as T
import numpy as np
from family_values import (
    F32,
    WITHOUT_0,
    Family,
    made,
    places,
    small,
)
from gpuarray.compiler import grad, shared
from gpuarray.compiler.derivatives.batching_fallback import MapRows
from gpuarray.compiler.gpukernels.basic_ops import gpu_contiguous
from gpuarray.compiler.ops.sorting.sorting import Sort, TopK
from own_kernels import Scaled, Sums
from own_ops import scan_rows, sine_and_cosine, windows


def of_rows() -> dict[str, Family]:
    """Rows, indices, sorts, joins and products, in float32."""
    x, y, u, v = T.fmatrix("x"), T.fmatrix("y"), T.fvector("u"), T.fvector("v")
    i, j, k = T.lvector("i"), T.lmatrix("j"), T.lscalar("k")
    t = T.TensorType(F32, (False,) * 3)("t")
    w = shared(np.linspace(-1, 1, 5).astype(F32), name="w")
    scores = T.nnet.softmax(x * w)
    cost = T.nnet.categorical_crossentropy(scores, i).mean()
    centred = x - x.mean(1, keepdims=True)
    taken = x[i].owner.op
    normed = centred / T.sqrt(T.sqr(centred).mean(1, keepdims=True) + 1e-5) * w

    def wide(n):
        return [small(n, 5)]

    def labelled(n):
        return [small(n, 5), places(n, 5)]

    def several(n):
        return [small(n, 5), places(4, n)]

    def vector(n):
        return [small(n)]

    return made({
        "softmax": ([x], T.nnet.softmax(x), wide),
        "logsoftmax": ([x], T.nnet.logsoftmax(x), wide),
        "softmax of columns": ([x], T.nnet.softmax(x, 0), wide),
        "softmax of half precision": ([x], T.nnet.softmax(x.astype("float16")), wide),
        "layer norm": ([x], normed, wide),
        "gradient of a layer norm": ([x], grad(T.sqr(normed).sum(), [w, x]), wide),
        "cost": ([x, i], [cost, T.argmax(scores, 1)], labelled),
        "gradient of a cost": ([x, i], grad(cost, w), labelled),
        "several sums": ([x], [x.sum(), x.std(0), x.max(1), (x * x).sum(0)], wide),
        "sort": ([x], T.sort(x, 0), wide),
        "argsort": ([x], T.argsort(x, 0), wide),
        "topk": ([v], T.topk(v, 1), vector),
        "smallest": ([v], T.topk(v, -1), vector),
        "cumsum": ([x], T.cumsum(x, 0), wide),
        "cumsum of all": ([x], T.cumsum(x), wide),
        "cumprod": ([x], grad(T.cumprod(x, 0).sum(), x), wide),
        "argmax": ([x], [T.argmax(x, 0), T.argmin(x, 1), T.argmax(x)], wide),
        "argmax of axes": ([t], T.argmax(t, (0, 2)), lambda n: [small(n, 3, 2)]),
        "extrema": ([x], list(T.max_and_argmax(x, 1)), wide),
        "sort of each row": ([x], MapRows(Sort(0), (True,))(x), wide),
        "topk of each row": ([x, k], MapRows(TopK(0), (True, False))(x, k),
                             lambda n: [small(n, 5), 2]),
        "take from each row": ([t, i], MapRows(taken, (True, False))(t, i),
                               lambda n: [small(n, 4, 3), places(n + 1, 4)]),
        "kernel of one's own": ([x], scan_rows(x), wide),
        "kernel of any shape": ([x], sine_and_cosine(x.T), wide),
        "kernel of an integer": ([v, u, k], windows(v, u, k),
                                 lambda n: [small(n + 2), small(2), 2]),
        "kernel of a view": ([x], Scaled()(x[::-1, ::2]), wide,
                             lambda x: 2.5 * x[::-1, ::2] - 1),
        "kernels by length": ([x], Sums()(x), lambda n: [small(n + 1, n + 1)],
                              lambda x: [x.sum(1), np.full(len(x), 1 + (len(x) > 4),
                                                           F32)]),
        "kernel for each row": ([t], MapRows(scan_rows, (True,))(gpu_contiguous(t)),
                                lambda n: [small(n, 3, 4)]),
        "concatenate": ([x, y], T.concatenate([x, y * 2]), lambda n: wide(n) + wide(2)),
        "stack": ([v], T.stack([v, v + 1]), vector),
        "arange": ([v], v * T.arange(v.shape[0]), vector),
        "arange of floats": ([k], T.arange(k, dtype=F32), lambda n: [n - 1]),
        "take rows": ([x, i], x[i], several),
        "take columns": ([x, i], x[:, i], lambda n: [small(n, 5), places(3, 5)]),
        "take by a matrix": ([x, j], x[j], lambda n: [*wide(n), places(4, n)[:, None]]),
        "take apart": ([t, i], t[0, :, i], lambda n: [small(n, 3, 2), places(n, 2)]),
        "take pairs": ([x, i], x[T.arange(i.shape[0]), i], labelled),
        "set_subtensor": ([x, v], T.set_subtensor(x[1:, 0], v[1:]),
                          lambda n: [small(n, 5), small(n)]),
        "inc_subtensor": ([x, v], T.inc_subtensor(x[::-1, 1], v),
                          lambda n: [small(n, 5), small(n)]),
        "set rows": ([x, i], T.set_subtensor(x[i], 3.0), several),
        "add to rows": ([x, i], T.inc_subtensor(x[i], x[i] * 2), several),
        "gradient of rows": ([x, i], grad(T.sqr(x[i]).sum(), x), several),
        "gradient of pairs": ([x, i], grad(x[T.arange(x.shape[0]), i].sum(), x),
                              labelled),
        "split": ([v], T.split(v, [1, v.shape[0] - 1], 2), vector),
        "diagonal": ([x], [T.diag(x), x.diagonal(-1)], wide),
        "matrix of a diagonal": ([v], T.diag(v), vector),
        "repeat twice": ([x], T.repeat(x, 2, 0), wide),
        "roll": ([x], T.roll(x, 1, 0), wide),
        "stacks of products": ([t], T.batched_dot(t, t.dimshuffle(0, 2, 1)),
                               lambda n: [small(n, 3, 2)]),
        "a stack and a matrix": ([t, x], [t @ x, x[0] @ t.dimshuffle(0, 2, 1)],
                                 lambda n: [small(n, 3, 2), small(2, 2)]),
        "a stack and a vector": ([t, v], t @ v, lambda n: [small(n, 2, 3), small(3)]),
        "sum of stacks": ([t], 3 * t + 2 * T.batched_dot(t, t),
                          lambda n: [small(n, 2, 2)]),
        "products of integers": ([j], [T.dot(j, j.T), T.dot(j, j[0])],
                                 lambda n: [places(3 * n, 9).reshape(n, 3)]),
        "products of half precision": ([x], T.dot(x.astype("float16"),
                                                  x.T.astype("float16")), wide),
        "complex products": ([x], T.dot(x * (1 + 1j), x.T) * 2j, wide),
        "nonzero": ([x], [*T.nonzero(x > 0.5), T.flatnonzero(x)], wide),
        "masks": ([x, v], [x[x > 0], T.set_subtensor(x[v > 0], 2.0),
                           T.inc_subtensor(x[v > 0, 0], x[v > 0, 1])],
                  lambda n: [small(n, 5), small(n)]),
        "a mask of later axes": ([t], t[:, t[0] > 0], lambda n: [small(n, 3, 2)]),
        "asserted": ([x], T.opt.Assert("finite")(x, T.all(abs(x) < 99), x.sum() < 1e9)
                          + 1, wide),
        "softmax of chosen rows": ([x], T.nnet.softmax(x[x[:, 0] > 0]), wide),
        "contiguous": ([x], T.extra_ops.cpu_contiguous(x.T), wide),
    }, WITHOUT_0)  # fmt: skip
