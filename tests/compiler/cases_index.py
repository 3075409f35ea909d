"""Cases of indexing: each index read, set and added to, and the functions that pick."""

import gpuarray.compiler.tensor as T
import numpy as np
from cases import CASES, case, f32, f64, i32

FIRST = len(CASES)


def i64(*values):
    return np.array(values if len(values) != 1 else values[0], dtype="int64")


MASK2 = np.array([[True, False, True, True], [False] * 4, [True, True, False, False]])
MASK1 = np.array([True, False, True])
NEW = np.newaxis

# An index, read with the variables i and j (integers) and k, l (vectors of integers).
BASIC = {
    "int": lambda x, i, j: x[1],
    "int_negative": lambda x, i, j: x[-1],
    "int_symbolic": lambda x, i, j: x[i],
    "int_symbolic_negative": lambda x, i, j: x[-i],
    "int_int": lambda x, i, j: x[1, i],
    "int_after_slice": lambda x, i, j: x[:, 2],
    "element": lambda x, i, j: x[i, j, 2],
    "slice": lambda x, i, j: x[1:3],
    "slice_from_end": lambda x, i, j: x[-2:],
    "slice_to_end": lambda x, i, j: x[:-1],
    "slice_beyond": lambda x, i, j: x[1:100, -100:2],
    "slice_empty": lambda x, i, j: x[2:1],
    "slice_symbolic": lambda x, i, j: x[i:j],
    "slice_symbolic_negative": lambda x, i, j: x[-j:-i],
    "slice_symbolic_stop": lambda x, i, j: x[:, :j],
    "step": lambda x, i, j: x[:, ::2],
    "step_three": lambda x, i, j: x[:, :, 1::3],
    "step_negative": lambda x, i, j: x[::-1],
    "step_negative_parts": lambda x, i, j: x[:, 3:0:-2],
    "step_negative_symbolic": lambda x, i, j: x[:, j:i:-1, 100::-2],
    "step_symbolic": lambda x, i, j: x[:, ::j],
    "step_symbolic_negative": lambda x, i, j: x[:, ::-j],
    "ellipsis": lambda x, i, j: x[..., 1],
    "ellipsis_middle": lambda x, i, j: x[0, ..., :2],
    "ellipsis_alone": lambda x, i, j: x[...],
    "new": lambda x, i, j: x[None],
    "new_after_int": lambda x, i, j: x[-1, NEW],
    "new_in_the_middle": lambda x, i, j: x[:, NEW, i:, NEW],
    "new_at_the_end": lambda x, i, j: x[..., NEW],
    "mix": lambda x, i, j: x[i, ::-1, None, 1:j],
    "batch": lambda x, i, j: x[i * 1 : (i + 1) * 1],
    "twice": lambda x, i, j: x[1:][i][::-1],
    "numpy_integer": lambda x, i, j: x[np.int32(1), np.array(2)],
}
ADVANCED = {
    "vector": lambda x, k, m: x[k],
    "list": lambda x, k, m: x[[0, 2, 0]],
    "list_of_variables": lambda x, k, m: x[[0, k[1], 1]],
    "array": lambda x, k, m: x[np.array([2, 1, 1, -1])],
    "second_axis": lambda x, k, m: x[:, k],
    "last_axis": lambda x, k, m: x[..., k],
    "matrix_of_indices": lambda x, k, m: x[np.array([[0, 1], [2, 0], [1, 1]])],
    "two": lambda x, k, m: x[k, k],
    "two_constant": lambda x, k, m: x[[0, 1], [3, 2]],
    "two_apart": lambda x, k, m: x[k, :, k],
    "int_apart": lambda x, k, m: x[1, :, k],
    "int_beside": lambda x, k, m: x[1, k],
    "broadcast": lambda x, k, m: x[k[:, None], k[None, :]],
    "slice_before": lambda x, k, m: x[1:, k],
    "slice_behind": lambda x, k, m: x[k, 1:3],
    "slices_around": lambda x, k, m: x[::-1, k, ::-1],
    "new_first": lambda x, k, m: x[None, k],
    "new_between": lambda x, k, m: x[k, None, k],
    "empty": lambda x, k, m: x[[]],
    "narrow": lambda x, k, m: x[k.astype("uint8")],
    "mask": lambda x, k, m: x[m],
    "mask_of_numpy": lambda x, k, m: x[MASK1],
    "mask_of_two": lambda x, k, m: x[MASK2],
    "mask_of_all": lambda x, k, m: x[x > 1.0],
    "mask_on_the_right": lambda x, k, m: x[:, [True, False, True, True]],
    "mask_and_slice": lambda x, k, m: x[m, 1:3],
    "mask_and_int": lambda x, k, m: x[m, 2],
    "mask_and_vector": lambda x, k, m: x[m, [1, 0]],
    "mask_new": lambda x, k, m: x[m, None],
    "new_apart": lambda x, k, m: x[:, None, k, None, 1:],
    "new_and_int": lambda x, k, m: x[1, None, :, k],
    "mask_of_nothing": lambda x, k, m: x[x > 1e9],
}
X = f64(3, 4, 5)
GROUPS = {
    "basic": (BASIC, (X, i64(1), i64(3))),
    "advanced": (ADVANCED, (X, i64(2, 0, 2, 1)[:3], MASK1)),
}


def picked_by(read, arrays):
    """The elements' numbers in place of the elements: what NumPy picks."""
    x, *rest = arrays
    numbers = np.arange(x.size).reshape(x.shape)
    return lambda given: read(Numbered(given, numbers), *rest).numbers


class Numbered:
    """An array that compares by its values and is indexed by its numbers."""

    def __init__(self, values, numbers):
        self.values, self.numbers = values, numbers

    def __gt__(self, other):
        return self.values > other

    def __getitem__(self, key):
        return Numbered(self.values[key], self.numbers[key])


def changed(x, y, numbers, is_set):
    result = x.copy()
    flat = result.reshape(-1)
    values = np.broadcast_to(y, np.shape(numbers))
    if is_set:
        flat[numbers] = values
    else:
        np.add.at(flat, numbers, values)
    return result


for group, (reads, arrays) in GROUPS.items():
    for name, read in reads.items():
        case(f"{group}_{name}", read, read, *arrays)
        if name == "twice":  # changes are to the part that is indexed last
            continue
        numbers = picked_by(read, arrays)(arrays[0])
        values = np.asarray(f64(*np.shape(numbers)) * 3 + 0.05)
        for function in (T.set_subtensor, T.inc_subtensor):
            is_set = function is T.set_subtensor
            case(
                f"{group}_{name}_{'set' if is_set else 'inc'}",
                lambda x, *rest, read=read, function=function: function(
                    read(x, *rest[:-1]), rest[-1]
                ),
                lambda x, *rest, read=read, is_set=is_set: changed(
                    x, rest[-1], picked_by(read, (x, *rest[:-1]))(x), is_set
                ),
                *arrays,
                values,
            )
        if name in ("int", "slice_symbolic", "vector", "two_apart", "mask"):
            case(
                f"{group}_{name}_number",
                lambda x, *rest, read=read: T.inc_subtensor(read(x, *rest), 2),
                lambda x, *rest, read=read: changed(
                    x, 2.0, picked_by(read, (x, *rest))(x), False
                ),
                *arrays,
            )

# Axes that broadcast, and values that repeat.
ROW, COL, M = (True, False), (False, True), (False, False)
case("index_row", lambda x: x[0], lambda x: x[0], f64(1, 4), patterns=(ROW,))
case(
    "index_row_end",
    lambda x: x[-1:, 1:],
    lambda x: x[-1:, 1:],
    f64(1, 4),
    patterns=(ROW,),
)
case("index_row_none", lambda x: x[1:], lambda x: x[1:], f64(1, 4), patterns=(ROW,))
case(
    "index_row_rows",
    lambda x: x[[0, 0, -1]],
    lambda x: x[[0, 0, -1]],
    f64(1, 4),
    patterns=(ROW,),
)
for name, pattern, shape in (("row", ROW, (1, 4)), ("col", COL, (2, 1))):
    for function in (T.set_subtensor, T.inc_subtensor):
        is_set = function is T.set_subtensor
        case(
            f"{function.__name__}_{name}",
            lambda x, y, function=function: function(x[1:], y),
            lambda x, y, is_set=is_set: changed(
                x, y, np.arange(12).reshape(3, 4)[1:], is_set
            ),
            f64(3, 4),
            f64(*shape) * 2,
            patterns=(M, pattern),
        )
case(
    "set_ignoring_duplicates",
    lambda x, y: T.inc_subtensor(x[[0, 0, 1]], y, ignore_duplicates=True),
    lambda x, y: x + np.array([y[1], y[2], 0.0]),
    f64(3),
    f64(3) * 2,
)
case(
    "set_scalar",
    lambda x, y: T.set_subtensor(x[()], y),
    lambda x, y: y,
    f64(),
    np.array(7.5),
)
case(
    "set_of_set",
    lambda x, y: T.set_subtensor(T.inc_subtensor(x[1:], y[1:])[:2], y[:2] ** 2),
    lambda x, y: np.array([y[0] ** 2, y[1] ** 2, x[2] + y[2]]),
    f64(3),
    f64(3) * 2,
)
case(
    "set_part_by_part",
    lambda x: T.set_subtensor(x[1:], x[:-1]),
    lambda x: np.concatenate([x[:1], x[:-1]]),
    f64(5),
)
case(
    "set_float_by_int",
    lambda x, y: T.inc_subtensor(x[:2], y),
    lambda x, y: x + np.array([y[0], y[1], 0]),
    f64(3),
    i32(2),
)
case(
    "index_int32",
    lambda x, i: x[i, :i],
    lambda x, i: x[i, :i],
    f64(3, 4),
    np.array(2, "i4"),
)
case("index_float32", lambda x: x[1:, ::-1], lambda x: x[1:, ::-1], f32(3, 4))

# The functions.
for mode, places in {
    "raise": i64(2, -1, 0, 0),
    "wrap": i64(5, -4, 3, 7),
    "clip": i64(5, -4, 2, 1),
}.items():
    for axis in (None, 0, 1, -1):
        case(
            f"take_{mode}_{axis}",
            lambda x, k, axis=axis, mode=mode: T.take(x, k, axis=axis, mode=mode),
            lambda x, k, axis=axis, mode=mode: np.take(x, k, axis=axis, mode=mode),
            f64(3, 4),
            places,
        )
    if mode != "raise":
        case(
            f"choose_{mode}",
            lambda a, x, y, mode=mode: T.choose(a, [x, y, 0.5], mode=mode),
            lambda a, x, y, mode=mode: np.choose(a, [x, y, np.full(4, 0.5)], mode=mode),
            places,
            f64(4),
            f64(4) * 2,
        )
case("take_int", lambda x: x.take(1, axis=1), lambda x: x.take(1, axis=1), f64(3, 4))
case(
    "take_matrix",
    lambda x, k: x.take(k, axis=0),
    lambda x, k: x.take(k, axis=0),
    f64(3, 2),
    i64([[0, 1], [2, 2]]),
)
case(
    "choose_list",
    lambda a, x, y: T.choose(a, [x, y]),
    lambda a, x, y: np.choose(a, [x, y]),
    i64(0, 1, 1),
    f64(3),
    f64(3) * 2,
)
case("choose_table", lambda a, x: a.choose(x), np.choose, i64(0, 1, 1), f64(2, 3))
case(
    "choose_rows",
    lambda a, x: T.choose(a, x),
    np.choose,
    i64([0, 1, 1], [1, 1, 0]),
    f64(2, 3),
)
case("choose_wide", lambda a, x: T.choose(a, x), np.choose, i64(0, 1, 1), f64(2, 4, 3))
case(
    "compress",
    lambda x, c: T.compress(c, x),
    lambda x, c: np.compress(c, x),
    f64(3, 4),
    MASK1,
)
case(
    "compress_axis",
    lambda x, c: x.compress(c, axis=0),
    lambda x, c: np.compress(c, x, 0),
    f64(3, 4),
    MASK1,
)
case(
    "nonzero",
    lambda x: list(T.nonzero(x)),
    np.nonzero,
    i32(3, 4) % 2,
    has_gradient=False,
)
case(
    "nonzero_matrix",
    lambda x: x.nonzero(return_matrix=True),
    lambda x: np.array(np.nonzero(x)),
    f64(3, 4),
    has_gradient=False,
)
case(
    "nonzero_by",
    lambda x, y: y[(x > 0).nonzero()],
    lambda x, y: y[x > 0],
    f64(3, 4),
    f64(3, 4),
)
case(
    "flatnonzero",
    lambda x: T.flatnonzero(x > 0),
    lambda x: np.flatnonzero(x > 0),
    f64(3, 4),
    has_gradient=False,
)
case(
    "nonzero_values",
    lambda x: T.nonzero_values(x),
    lambda x: x[np.nonzero(x)],
    f64(3, 4) * MASK2,
    has_gradient=False,
)
case(
    "inverse_permutation",
    T.inverse_permutation,
    np.argsort,
    i64(2, 0, 3, 1),
    has_gradient=False,
)
PERMS = i64([2, 0, 3, 1], [0, 1, 3, 2], [3, 2, 1, 0])
case(
    "inverse_permutations",
    T.inverse_permutation,
    lambda p: np.argsort(p, 1),
    PERMS,
    has_gradient=False,
)
case(
    "permute_row_elements",
    T.permute_row_elements,
    lambda x, p: np.take_along_axis(x, p, 1),
    f64(3, 4),
    PERMS,
)
case(
    "permute_row_elements_vector",
    T.permute_row_elements,
    lambda x, p: x[p],
    f64(4),
    PERMS[0],
)
case(
    "permute_row_elements_back",
    lambda x, p: T.permute_row_elements(x, p, inverse=True),
    lambda x, p: np.take_along_axis(x, np.argsort(p, 1), 1),
    f64(3, 4),
    PERMS,
)
case(
    "shape_part",
    lambda x: x.shape[1:],
    lambda x: np.array(x.shape[1:]),
    f64(3, 4),
    has_gradient=False,
)
case(
    "shape_last",
    lambda x: x.shape[-1],
    lambda x: np.array(x.shape[-1]),
    f64(3, 4),
    has_gradient=False,
)

OF_INDEXING = CASES[FIRST:]
