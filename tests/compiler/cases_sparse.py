"""Operations on sparse matrices: each with arguments and scipy's result.

``gradient`` is ``"stored"`` where the gradient is that of the stored values, ``"all"``
where it is that of all elements, too, and None where there is none.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from gpuarray.compiler import sparse as S


def drawn(*shape, seed=0):
    """Numbers away from zero and from each other."""
    return np.random.default_rng(seed).uniform(0.3, 1, shape)


def matrix(rows, columns, format, seed=0):
    """A canonical matrix with an empty row, by a fifth of its places or more."""
    listed = sp.random(rows, columns, 0.4, format="lil", random_state=seed)
    listed[rows // 2] = 0
    made = listed.asformat(format)
    made.data = drawn(made.nnz, seed=seed + 100)
    return made


@dataclass
class Case:
    """An operation, its arguments for a format, and what scipy makes of them."""

    name: str
    op: Callable[..., Any]
    arguments: Callable[[str], tuple[Any, ...]]
    wanted: Callable[..., Any]
    gradient: str | None = "stored"


def a(format):
    return matrix(5, 4, format, 1)


def b(format):
    return matrix(5, 4, format, 2)


def square(format):
    return matrix(4, 4, format, 4)


def other(format):
    """A matrix of the other format."""
    return matrix(5, 4, "csc" if format == "csr" else "csr", 3)


MARKED = np.array([True, False, True, True, False])


def places_of(x):
    return sp.csr_matrix(x != 0)


def of_values(function):
    """The function of the stored values of a matrix."""

    def apply(x, *rest):
        made = x.copy()
        made.data = function(made.data, *rest)
        return made

    return apply


def flat(x):
    return np.asarray(x).ravel()


DENSE, TALL, LEFT = drawn(5, 4), drawn(4, 3, seed=1), drawn(3, 5, seed=2)
ROW, COLUMN = drawn(4, seed=3), drawn(5, seed=4)

PRODUCTS = [
    Case(
        "structured_dot by vector",
        S.structured_dot,
        lambda f: (a(f), ROW),
        lambda x, y: x @ y,
    ),
    Case(
        "structured_dot by matrix",
        S.structured_dot,
        lambda f: (a(f), TALL),
        lambda x, y: x @ y,
    ),
    Case(
        "structured_dot from left",
        S.structured_dot,
        lambda f: (LEFT, a(f)),
        lambda x, y: x @ y,
    ),
    Case(
        "structured_dot of row",
        S.structured_dot,
        lambda f: (COLUMN, a(f)),
        lambda x, y: x @ y,
    ),
    Case("dot by vector", S.dot, lambda f: (a(f), ROW), lambda x, y: x @ y, "all"),
    Case("dot by matrix", S.dot, lambda f: (a(f), TALL), lambda x, y: x @ y, "all"),
    Case("dot from left", S.dot, lambda f: (LEFT, a(f)), lambda x, y: x @ y, "all"),
    Case("dot of row", S.dot, lambda f: (COLUMN, a(f)), lambda x, y: x @ y, "all"),
    Case("true_dot", S.true_dot, lambda f: (a(f), TALL), lambda x, y: x @ y),
    Case(
        "sampling_dot",
        S.sampling_dot,
        lambda f: (drawn(5, 3, seed=5), drawn(4, 3, seed=6), a(f)),
        lambda x, y, p: p.multiply(x @ y.T),
    ),
    Case(
        "usmm",
        S.usmm,
        lambda f: (np.float64(2), a(f), TALL, drawn(5, 3, seed=7)),
        lambda alpha, x, y, z: alpha * (x @ y) + z,
    ),
    Case(
        "dot of two",
        S.structured_dot,
        lambda f: (a(f), square(f)),
        lambda x, y: x @ y,
    ),
    Case(
        "dot of two formats",
        S.true_dot,
        lambda f: (square(f), other(f).T.tocsr()),
        lambda x, y: x @ y,
    ),
]
SUMS = [
    Case("add", S.add, lambda f: (a(f), b(f)), lambda x, y: x + y),
    Case("add of two formats", S.add, lambda f: (a(f), other(f)), lambda x, y: x + y),
    Case("sub", S.sub, lambda f: (a(f), b(f)), lambda x, y: x - y),
    Case("mul", S.mul, lambda f: (a(f), b(f)), lambda x, y: x.multiply(y)),
    Case(
        "mul of two formats",
        S.mul,
        lambda f: (a(f), other(f)),
        lambda x, y: x.multiply(y),
    ),
    Case("add_s_d", S.add, lambda f: (a(f), DENSE), lambda x, y: x + y),
    Case("sub from dense", S.sub, lambda f: (DENSE, a(f)), lambda x, y: x - y),
    Case("mul_s_d", S.mul, lambda f: (a(f), DENSE), lambda x, y: x.multiply(y)),
    Case("mul_s_v", S.mul_s_v, lambda f: (a(f), ROW), lambda x, y: x.multiply(y)),
    Case("mul by scalar", S.mul, lambda f: (a(f), np.float64(3)), lambda x, y: x * y),
    Case(
        "structured_add_s_v",
        S.structured_add_s_v,
        lambda f: (a(f), ROW),
        lambda x, y: x + places_of(x).multiply(y),
    ),
    Case("col_scale", S.col_scale, lambda f: (a(f), ROW), lambda x, s: x.multiply(s)),
    Case(
        "row_scale",
        S.row_scale,
        lambda f: (a(f), COLUMN),
        lambda x, s: x.multiply(s[:, None]),
    ),
    *(
        Case(
            f"sp_sum {axis} {kind}",
            lambda x, axis=axis, kind=kind: S.sp_sum(x, axis, kind == "stored"),
            lambda f: (a(f),),
            lambda x, axis=axis: x.sum(axis) if axis is None else flat(x.sum(axis)),
            kind,
        )
        for axis in (None, 0, 1)
        for kind in ("stored", "all")
    ),
]
STRUCTURE = [
    Case("diag", S.diag, lambda f: (a(f),), lambda x: x.diagonal()),
    Case("square_diagonal", S.square_diagonal, lambda f: (ROW,), np.diag),
    Case("transpose", S.transpose, lambda f: (a(f),), lambda x: x.T),
    Case("dense_from_sparse", S.dense_from_sparse, lambda f: (a(f),), lambda x: x),
    Case("all", S.DenseFromSparse(False), lambda f: (a(f),), lambda x: x, "all"),
    Case("csr_from_dense", S.csr_from_dense, lambda f: (DENSE,), lambda x: x),
    Case("csc_from_dense", S.csc_from_dense, lambda f: (DENSE,), lambda x: x),
    Case("remove0", S.remove0, lambda f: (a(f),), lambda x: x),
    Case("clean", S.clean, lambda f: (a(f),), lambda x: x),
    Case("tocsr", lambda x: x.tocsr(), lambda f: (a(f),), lambda x: x),
    Case("tocsc", lambda x: x.tocsc(), lambda f: (a(f),), lambda x: x),
    Case(
        "hstack",
        lambda x, y: S.hstack([x, y]),
        lambda f: (a(f), other(f)),
        lambda x, y: sp.hstack([x, y]),
    ),
    Case(
        "vstack",
        lambda x, y: S.vstack([x, y], "csr"),
        lambda f: (a(f), other(f)),
        lambda x, y: sp.vstack([x, y]),
    ),
    Case("rows", lambda x: x[1:4], lambda f: (a(f),), lambda x: x[1:4]),
    Case(
        "part", lambda x: x[1:4, ::2], lambda f: (a(f),), lambda x: x.tocsr()[1:4, ::2]
    ),
    Case(
        "marked rows of a column",
        lambda x: x[MARKED, ..., 2],
        lambda f: (a(f),),
        lambda x: x.tocsr()[MARKED][:, [2]],
    ),
    Case("row", lambda x: x[-1], lambda f: (a(f),), lambda x: x.tocsr()[-1]),
    Case("element", lambda x: x[1, 2], lambda f: (a(f),), lambda x: x[1, 2]),
    Case(
        "get_item_list",
        lambda x: S.get_item_list(x, [3, 0, 3]),
        lambda f: (a(f),),
        lambda x: x.tocsr()[[3, 0, 3]],
    ),
    Case(
        "get_item_2lists",
        lambda x: S.get_item_2lists(x, [3, 0, -1], [1, -2, 0]),
        lambda f: (a(f),),
        lambda x: flat(x[[3, 0, -1], [1, -2, 0]]),
    ),
    Case(
        "construct_sparse_from_list",
        lambda x, v: S.construct_sparse_from_list(x, v, np.array([3, 0])),
        lambda f: (a(f), drawn(2, 4, seed=8)),
        lambda x, v: np.stack([v[1], 0 * v[0], 0 * v[0], v[0], 0 * v[0]]),
    ),
]
ELEMENTS = [
    *(
        Case(name, getattr(S, name), lambda f: (a(f),), of_values(function))
        for name, function in {
            "neg": np.negative,
            "sqr": np.square,
            "sqrt": np.sqrt,
            "tanh": np.tanh,
            "log1p": np.log1p,
            "structured_exp": np.exp,
            "structured_log": np.log,
            "structured_sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        }.items()
    ),
    Case(
        "structured_pow",
        S.structured_pow,
        lambda f: (a(f), np.float64(3)),
        of_values(np.power),
    ),
    Case("ceil", S.ceil, lambda f: (a(f),), of_values(np.ceil), None),
    Case("sp_ones_like", S.sp_ones_like, lambda f: (a(f),), lambda x: x != 0, None),
    Case("sp_zeros_like", S.sp_zeros_like, lambda f: (a(f),), lambda x: 0 * x, None),
    Case("neq", S.neq, lambda f: (a(f), b(f)), lambda x, y: x != y, None),
    Case("gt", S.gt, lambda f: (a(f), DENSE), lambda x, y: x.toarray() > y, None),
]
CASES = [*PRODUCTS, *SUMS, *STRUCTURE, *ELEMENTS]
