"""Random expressions of sparse matrices, each beside the same one by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from gpuarray.compiler import (
    OpFromGraph,
    ifelse,
    scan,
    sparse as S,
    tensor as T,
)
from sparse_programs import Program, Stored, at_places, not_zero

# ---- steps: from a matrix ----

ELEMENTS = {
    "sqr": (S.sqr, np.square),
    "tanh": (S.tanh, np.tanh),
    "sin": (S.sin, np.sin),
    "expm1": (S.expm1, np.expm1),
    "neg": (S.neg, np.negative),
    "structured_exp": (S.structured_exp, np.exp),
    "structured_sigmoid": (S.structured_sigmoid, lambda v: 1 / (1 + np.exp(-v))),
    "structured_add": (lambda x: S.structured_add(x, 0.5), lambda v: v + 0.5),
    "structured_pow": (lambda x: S.structured_pow(x, 2), lambda v: v**2),
    "structured_abs": (S.structured_abs, lambda v: v * np.sign(v.real)),
    "twice": (lambda x: x * 2.0, lambda v: v * 2),
    "sp_ones_like": (S.sp_ones_like, np.ones_like),
    "halved": (lambda x: x / 2.0, lambda v: v / 2),
}  # fmt: skip
ORDER = {
    "T": (lambda x: x.T, Stored.turned),
    "tocsr": (lambda x: x.tocsr(), lambda m: m),
    "tocsc": (lambda x: x.tocsc(), lambda m: m),
    "sorted": (S.ensure_sorted_indices, lambda m: m),
    "transfer": (lambda x: x.transfer(None), lambda m: m),
    "remove0": (S.remove0, lambda m: m.chosen(m.values.real != 0)),
    "clean": (S.clean, lambda m: m.chosen(m.values.real != 0)),
    "own": (lambda x: OpFromGraph([x], [x * 3.0])(x) if x.owner is None else x * 3.0,
            lambda m: m.with_values(m.values * 3)),
    "again": (lambda x: S.csr_from_dense(x.toarray()), lambda m: not_zero(m.dense())),
}  # fmt: skip


def elements(program, x):
    name = str(program.rng.choice(sorted(ELEMENTS)))
    symbol, function = ELEMENTS[name]

    def run(m):
        return m.with_values(function(m.values))

    return program.put(name, symbol(x.symbol), run, (x,), x.shape)


def order(program, x):
    name = str(program.rng.choice(sorted(ORDER)))
    symbol, function = ORDER[name]
    shape = x.shape[::-1] if name == "T" else x.shape
    return program.put(name, symbol(x.symbol), function, (x,), shape)


def with_matrix(program, x):
    """A sum, a difference or a product by elements; one in five with itself."""
    y = x if program.rng.random() < 0.2 else program.matrix(*x.shape)

    def joined(sign):
        return lambda a, b: at_places(
            a.dense() + sign * b.dense(), a.places() | b.places()
        )

    def product(a, b):
        return at_places(a.dense() * b.dense(), a.places() & b.places())

    ways = {
        "add": (S.add, joined(1)),
        "sub": (S.sub, joined(-1)),
        "mul": (S.mul, product),
    }
    name = str(program.rng.choice(sorted(ways)))
    symbol, function = ways[name]
    return program.put(name, symbol(x.symbol, y.symbol), function, (x, y), x.shape)


def by_mask(program, x):
    """Times a constant of booleans."""
    mask = sp.csr_matrix(program.rng.random(x.shape) < 0.6)
    places = mask.toarray()

    def run(m):
        return at_places(m.dense(), m.places() & places)

    return program.put("mask", x.symbol * S.constant(mask), run, (x,), x.shape)


def by_dense(program, x):
    """Times an array, a row or a column of factors."""
    rows, columns = x.shape
    way = program.rng.integers(5)
    if way == 0:
        y, symbol = program.array(rows, columns), S.mul

        def run(m, d):
            return m.with_values(m.values * d[m.rows, m.columns])
    elif way == 1:
        y, symbol = program.array(rows), S.row_scale

        def run(m, d):
            return m.with_values(m.values * d[m.rows])
    elif way == 4:
        y, symbol = program.array(columns), S.structured_add_s_v

        def run(m, d):
            return m.with_values(m.values + d[m.columns])
    else:
        y = program.array(columns)
        symbol = S.col_scale if way == 2 else S.mul_s_v

        def run(m, d):
            return m.with_values(m.values * d[m.columns])

    name = f"by_dense {way}"
    return program.put(name, symbol(x.symbol, y.symbol), run, (x, y), x.shape)


def product(program, x):
    """A product with a sparse or a dense matrix, or a vector, on either side."""
    rng, (rows, columns) = program.rng, x.shape
    other, is_left = program.length(), rng.random() < 0.3
    shape = (other, rows) if is_left else (columns, other)
    way = rng.choice(["sparse", "dense", "vector", "true"])
    dot = S.dot if rng.random() < 0.5 else S.structured_dot
    if way == "sparse":
        y = program.matrix(*shape)
    elif way == "vector":
        y = program.array(shape[1] if is_left else shape[0])
    else:
        y = program.array(*shape)
    if way == "true":
        dot = S.true_dot
    pair = (y, x) if is_left else (x, y)
    symbol = dot(*(each.symbol for each in pair))

    def dense(m):
        return m.dense() if isinstance(m, Stored) else m

    def run(a, b):
        found = dense(a) @ dense(b)
        if way == "sparse":
            return at_places(found, a.places().astype(int) @ b.places() > 0)
        return not_zero(found) if way == "true" else found

    if way == "true":
        program.is_smooth = False
    made = (other, columns) if is_left else (rows, other)
    if way == "vector":
        made = (columns,) if is_left else (rows,)
    return program.put(f"{dot.__name__} {way}", symbol, run, pair, made)


def sampled(program, x):
    a, b = program.array(x.shape[0], 2), program.array(x.shape[1], 2)
    symbol = S.sampling_dot(a.symbol, b.symbol, x.symbol)

    def run(left, right, m):
        return m.with_values(m.values * (left @ right.T)[m.rows, m.columns])

    return program.put("sampling_dot", symbol, run, (a, b, x), x.shape)


def part(program, x):
    """Rows or columns, by a slice or a list."""
    axis, rng = int(program.rng.integers(2)), program.rng
    length = x.shape[axis]
    if rng.random() < 0.5 or not length:
        key: Any = slice(*[(1, None), (None, -1), (None, None, 2), (None, None, -1)][
            rng.integers(4)
        ])  # fmt: skip
    else:
        key = rng.integers(-length, length, rng.integers(1, 4))
    chosen = np.arange(length)[key]
    symbol = x.symbol[key] if axis == 0 else x.symbol[:, key]

    def run(m):
        return m.taken(chosen) if axis == 0 else m.turned().taken(chosen).turned()

    shape = (len(chosen), x.shape[1]) if axis == 0 else (x.shape[0], len(chosen))
    return program.put(f"part {axis} {key}", symbol, run, (x,), shape)


def stack(program, x):
    """Two matrices side by side, or one below the other."""
    is_below = program.rng.random() < 0.5
    other = program.length()
    y = program.matrix(*((other, x.shape[1]) if is_below else (x.shape[0], other)))
    format = str(program.rng.choice(["csr", "csc"]))
    join = S.vstack if is_below else S.hstack

    def below(a, b):
        rows = np.append(a.rows, b.rows + a.shape[0])
        columns, values = np.append(a.columns, b.columns), np.append(a.values, b.values)
        return Stored(rows, columns, values, (a.shape[0] + b.shape[0], a.shape[1]))

    def run(a, b):
        return below(a, b) if is_below else below(a.turned(), b.turned()).turned()

    rows, columns = x.shape
    shape = (rows + other, columns) if is_below else (rows, columns + other)
    symbol = join([x.symbol, y.symbol], format)
    return program.put(join.__name__, symbol, run, (x, y), shape)


def to_dense(program, x):
    """The matrix as an array, or added to one."""
    way = program.rng.integers(3)
    if way == 2:
        y = program.array(*x.shape)
        symbol = y.symbol + x.symbol
        return program.put(
            "add_s_d", symbol, lambda m, d: m.dense() + d, (x, y), x.shape
        )
    symbol = S.DenseFromSparse(structured=bool(way))(x.symbol)
    return program.put("dense", symbol, Stored.dense, (x,), x.shape)


def reduced(program, x):
    """Sums, the diagonal or some elements: a vector."""
    rng, way = program.rng, program.rng.integers(4)
    if way == 0 and x.shape[0] == x.shape[1]:
        return program.put(
            "diag", S.diag(x.symbol), lambda m: np.diag(m.dense()), (x,), x.shape[:1]
        )
    if way == 1 and min(x.shape):
        rows, columns = (rng.integers(-n, n, 3) for n in x.shape)
        symbol = S.get_item_2lists(x.symbol, rows, columns)
        return program.put(
            "2lists", symbol, lambda m: m.dense()[rows, columns], (x,), (3,)
        )
    axis, is_sparse = int(rng.integers(2)), bool(rng.integers(2))
    symbol = S.sp_sum(x.symbol, axis, is_sparse)
    shape = (x.shape[1 - axis],)
    return program.put(
        f"sp_sum {axis}", symbol, lambda m: m.dense().sum(axis), (x,), shape
    )


def loop(program, x):
    """Two turns of a loop: sums of rows of a product by elements."""
    v = program.array(x.shape[1])

    def body(state, matrix):
        return T.tanh(S.structured_dot(matrix.T, S.structured_dot(matrix, state)))

    states, _ = scan(body, outputs_info=[v.symbol], non_sequences=[x.symbol], n_steps=2)

    def run(m, state):
        for _ in range(2):
            state = np.tanh(m.dense().T @ (m.dense() @ state))
        return state

    return program.put("loop", states[-1], run, (x, v), v.shape)


def branch(program, x):
    """One of two matrices."""
    is_first = bool(program.rng.integers(2))
    y = x.symbol * 2.0
    symbol = ifelse.ifelse(T.as_tensor_variable(int(is_first)), x.symbol, y)

    def run(m):
        return m.with_values(m.values * (1 if is_first else 2))

    return program.put("branch", symbol, run, (x,), x.shape)


# ---- steps: from arrays ----


def of_array(program, x):
    """A function of elements, or the array made sparse."""
    if len(x.shape) == 2 and program.rng.random() < 0.6:
        format = str(program.rng.choice(["csr", "csc"]))
        make = {"csr": S.csr_from_dense, "csc": S.csc_from_dense}[format]
        program.is_smooth = False
        return program.put(make.__class__.__name__, make(x.symbol), not_zero, (x,),
                           x.shape)  # fmt: skip
    if len(x.shape) == 1 and program.rng.random() < 0.4:
        count = x.shape[0]

        def run(v):
            return Stored(np.arange(count), np.arange(count), v, (count, count))

        symbol = S.square_diagonal(x.symbol)
        return program.put("square_diagonal", symbol, run, (x,), (count, count))
    if len(x.shape) == 1 and program.rng.random() < 0.5:
        y = program.matrix(x.shape[0], program.length())
        return program.put(
            "row_scale",
            S.row_scale(y.symbol, x.symbol),
            lambda m, v: m.with_values(m.values * v[m.rows]),
            (y, x),
            y.shape,
        )
    return program.put("tanh", T.tanh(x.symbol), np.tanh, (x,), x.shape)


STEPS = {
    elements: 5, order: 4, with_matrix: 4, by_mask: 1, by_dense: 3, product: 4,
    sampled: 1, part: 3, stack: 2, to_dense: 1.5, reduced: 1.5, loop: 0.5, branch: 0.5,
}  # fmt: skip


def drawn(seed):
    """A program whose last step is a scalar, and the variable of that."""
    program = Program(np.random.default_rng(seed))
    rng = program.rng
    made = [program.matrix(program.length(), program.length())]
    shares = np.array(list(STEPS.values()))
    for _ in range(int(rng.integers(2, 5))):
        x = made[-1]
        if x.kind == "sparse":
            step = list(STEPS)[rng.choice(len(shares), p=shares / shares.sum())]
        else:
            step = of_array
        made.append(step(program, x))
    final = made[-1:] if rng.random() < 0.7 else [made[-1], made[len(made) // 2]]
    return program, total(program, final)


def total(program, values):
    """The sum of the weighted squares of some values' elements."""
    terms, functions = [], []
    for value in values:
        weights = program.rng.normal(size=value.shape)
        is_stored = program.rng.random() < 0.5
        if value.kind == "sparse" and is_stored:
            terms.append(S.sp_sum(S.sqr(value.symbol), sparse_grad=True))
            functions.append(lambda m: (m.values**2).sum())
            continue
        dense = (
            S.dense_from_sparse(value.symbol)
            if value.symbol.is_sparse
            else value.symbol
        )
        terms.append((T.sqr(dense) * weights).sum())

        def run(m, weights=weights):
            return ((m.dense() if isinstance(m, Stored) else m) ** 2 * weights).sum()

        functions.append(run)

    def function(*operands):
        return sum(f(m) for f, m in zip(functions, operands, strict=True))

    return program.put("total", sum(terms), function, values, ())
