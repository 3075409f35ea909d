"""Where rules of choices, constants, axes and repeated values apply, and where not."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler.rewrites.arrays.filling import is_never_negative
from rule_conditions import cases, check

TABLE_OF_BRANCHES = {
    "take_the_known_branch": """
        ifelse(a, X, Y) -> same
        ifelse(constant(0), [X, x], [Y, y])[0] -> Y
        ifelse(constant(2), [X, x], [Y, y])[1] -> x
    """,
    "choose_each_alone": """
        ifelse(a, X, Y) -> same
        ifelse(a, [X, x], [Y, y])[1] -> ifelse(a, x, y)
    """,
    "drop_equal_branches": """
        ifelse(a, X, Y) -> same
        ifelse(a, constant(1.0), constant(1.0)) -> constant(1.0)
        ifelse(a, constant(1.0), constant(2.0)) -> same
        ifelse(a, [X, x], [X, x])[0] -> same
    """,
    "drop_the_same_question": """
        ifelse(a, X, Y) -> same
        ifelse(a, exp(X), Y) -> same
        ifelse(a, ifelse(d, X, Y), C) -> same
        ifelse(a, ifelse(a, [X, x], [Y, y])[0], C) -> same
        ifelse(a, [ifelse(a, X, Y), x], [C, y])[0] -> same
        ifelse(a, ifelse(a, X, Y), ifelse(a, A, B)) -> ifelse(a, X, B)
    """,
    "compute_in_the_branch": """
        ifelse(a, X, Y) + A -> same
        ifelse(a, x, y) + constant([1.0, 2.0, 3.0, 4.0]) -> same
        ifelse(a, X, Y) + ifelse(d, A, B) -> same
        ifelse(a, [X, x], [Y, y])[0] + ifelse(a, A, B) -> same
        clip(ifelse(a, X, Y), ifelse(a, Y, A), ifelse(d, B, A)) -> same
        clip(ifelse(a, X, Y), ifelse(a, Y, A), B) -> same
        clip(ifelse(a, x, y), constant([0.0]), ifelse(a, y, z)) -> ifelse(a, clip(x, constant([0.0]), y), clip(y, constant([0.0]), z))
        (lambda side: [side + z, side * ifelse(a, y, z)])(ifelse(a, x, y)) -> same
        pair(ifelse(a, x, y), ifelse(a, y, z)) -> same
    """,  # noqa: E501
}
TABLE_OF_CONSTANTS = {
    "fold_constants": """
        make_vector() -> same
        make_vector(n, 2) -> same
        make_vector(1, 2) -> constant([1, 2])
        constant(1.0) / constant(0.0) -> constant(inf)
        reshape(constant([1.0, 2.0]), (3,)) -> same
        max(constant(np.ones(0))) -> same
        Reduce("add", [0])(constant(np.ones(8192))) -> constant(8192.0, "float64")
        Reduce("add", [0])(constant(np.ones(8193))) -> same
        constant(np.ones((64, 1))) + constant(np.ones((1, 128))) -> constant(np.full((64, 128), 2.0))
        constant(np.ones((64, 1))) + constant(np.ones((1, 129))) -> same
        pair(constant(2.0, "float64"), constant(3.0, "float64"))[1] -> constant(6.0, "float64")
    """,  # noqa: E501
    "merge_casts": """
        cast_to(x, "float64") -> x
        cast_to(x, "float32") -> same
        cast_to(exp(x), "float32") -> same
        cast(cast(m, "float16"), "int16") -> cast(m, "int16")
        cast(cast(w, "float16"), "int16") -> cast(w, "int16")
        cast(cast(cast(j, "int16"), "float16"), "int32") -> same
        cast(cast(cast(j, "int16"), "float32"), "int64") -> cast(cast(j, "int16"), "int64")
        cast(cast(j, "float32"), "int64") -> same
        cast(cast(b, "int8"), "float64") -> cast(b, "float64")
        cast(cast(w, "int16"), "float32") -> cast(w, "float32")
        cast(cast(w, "int8"), "float32") -> same
        cast(cast(m, "uint16"), "float32") -> same
        cast(cast(f, "complex64"), "complex128") -> same
        cast(cast(f, "float64"), "float16") -> cast(f, "float16")
        cast(cast(x, "bool"), "float64") -> same
        cast(cast(f, "int32"), "int64") -> same
    """,  # noqa: E501
    "drop_reduction_of_one": """
        sum(X) -> same
        sum(r) -> same
        sum(r, 0) -> dimshuffle(r, 1)
        sum(p) -> dimshuffle(p)
        sum(X, axis=()) -> X
        sum(cast(p, "int8")) -> cast(dimshuffle(cast(p, "int8")), "int64")
    """,
    "drop_true_conditions": """
        assert_op(x, constant(0)) -> same
        assert_op(x, a, d) -> same
        assert_op(x, a, a) -> assert_op(x, a)
        assert_op(x, constant(0), constant(np.nan)) -> assert_op(x, constant(0))
        assert_op(x, constant(np.nan)) -> x
    """,
}
TABLE_OF_AXES = {
    "merge_dimshuffles": """
        DimShuffle((False, False), (0, 1))(X) -> X
        DimShuffle((False, False), (1, 0))(X) -> same
        exp(X).T -> same
        dimshuffle(X.T, 0, "x", 1) -> dimshuffle(X, 1, "x", 0)
        dimshuffle(dimshuffle(Q, 2, 0, 1), 1, 2, 0) -> Q
        dimshuffle(dimshuffle(Q, 2, 0, 1), 2, 1, 0) -> dimshuffle(Q, 1, 0, 2)
        dimshuffle(r, 1, 0) -> same
    """,
    "spread_before_computing": """
        dimshuffle(sum(x), "x") -> same
        dimshuffle(exp(x), 0, "x") -> same
        dimshuffle(pair(a, a)[0], "x") -> same
        dimshuffle(n + 1, "x") -> same
        dimshuffle(cast(a, "uint8") + cast(d, "uint8"), "x") -> same
        dimshuffle(exp(a), "x", "x") -> exp(dimshuffle(a, "x", "x"))
        dimshuffle(a > 0.5, "x") -> dimshuffle(a, "x") > 0.5
    """,
    "merge_reshapes": """
        reshape(X, (4, 4)) -> same
        reshape(X, (n, l)) -> same
        reshape(X, K[0, :2], ndim=2) -> same
        reshape(X, (n, X.shape[1])) -> same
        reshape(X, (n + 1, X.shape[1])) -> same
        reshape(X, (X.shape[1], X.shape[0])) -> same
        reshape(X, (Y.shape[0], Y.shape[1])) -> same
        reshape(exp(X), (Y.shape[0], Y.shape[1])) -> same
        reshape(exp(X), (X.shape[0], X.shape[1])) -> exp(X)
        reshape(exp(exp(X)), (X.shape[0], X.shape[1])) -> exp(exp(X))
        reshape(X + r, (X.shape[0], X.shape[1])) -> X + r
        reshape(r, (1, r.shape[1])) -> r
        reshape(r, (n, r.shape[1])) -> same
        reshape(exp(X), (-1,)) -> same
        reshape(X, (-1,)) -> same
        reshape(x, (x.shape[0],)) -> x
    """,
    "reshape_a_vector_to_a_vector": """
        reshape(X, (-1,)) -> same
        reshape(X, (-1, 4)) -> same
        reshape(x, (4,)) -> same
        reshape(x, k[:1], ndim=1) -> same
        reshape(p, (-1,)) -> same
    """,
    "reshape_without_new_axes": """
        reshape(exp(x), (2, 2)) -> same
        reshape(x, (2, 2)) -> same
        reshape(X.T, (-1,)) -> same
        reshape(dimshuffle(x, "x", 0), (2, 2)) -> reshape(x, (2, 2))
    """,
    "reshape_to_new_axes": """
        reshape(X, (-1,)) -> same
        reshape(x, k[:2], ndim=2) -> same
        reshape(p, (1, 1)) -> dimshuffle(reshape(p, (), ndim=0), "x", "x")
        reshape(x, (2, 1, 2)) -> dimshuffle(reshape(x, (2, 2)), 0, "x", 1)
    """,
    "say_once_what_broadcasts": """
        addbroadcast(X, 0) -> same
        addbroadcast(exp(X), 0) -> same
        Rebroadcast((True, False))(r) -> r
        unbroadcast(addbroadcast(r, 1), 0) -> Rebroadcast((False, True))(r)
        addbroadcast(unbroadcast(r, 0), 0) -> r
        unbroadcast(addbroadcast(X, 0), 0) -> same
        addbroadcast(addbroadcast(X[:1, :1], 0), 1) -> Rebroadcast((True, True))(X[:1, :1])
    """,  # noqa: E501
    "say_before_computing_what_broadcasts": """
        addbroadcast(X, 0) -> same
        addbroadcast(X[:1] + Y[:1], 0) -> same
        addbroadcast(cumsum(X[:1], 1), 0) -> same
        addbroadcast(twice(x[:1])[0], 0) -> same
        addbroadcast(fused(x[:1]), 0) -> same
        unbroadcast(exp(r), 0) -> exp(unbroadcast(r, 0))
    """,
}
TABLE_OF_REPEATING = {
    "take_shape_from_input": """
        second(X, a) -> same
        second(dot(X, Y), a) -> same
        second(r + s, a) -> same
        second(exp(r + X), a) -> second(X, a)
        second(p, a) -> dimshuffle(a, "x")
    """,
    "sink_second": """
        x + y -> same
        second(x, second(y, a)) -> same
        pair(second(x, a), y)[0] -> same
        second(r, a) + s -> same
        second(r, a) + X -> dimshuffle(a, "x", "x") + X
        second(x, a) + second(y, d) -> second(x, dimshuffle(a, "x") + dimshuffle(d, "x"))
    """,  # noqa: E501
    "keep_own_shape": """
        broadcast_to(exp(r), r.shape) -> exp(r)
        broadcast_to(dot(X, Y), dot(X, Y).shape) -> dot(X, Y)
        broadcast_to(X + r, X.shape) -> X + r
        broadcast_to(X, (X.shape[0], n)) -> same
        broadcast_to(X, (n, X.shape[1])) -> same
        broadcast_to(r, X.shape) -> same
        broadcast_to(x, X.shape) -> same
        broadcast_to(x, k[:1], ndim=1) -> same
    """,
    "repeat_once": """
        broadcast_to(X.T, (4, 4)) -> same
        broadcast_to(exp(x), (3, 4)) -> same
        broadcast_to(x, (3, 4)) -> same
        broadcast_to(dimshuffle(x, 0, "x"), (4, 4)) -> same
        broadcast_to(dimshuffle(X, "x", 0, 1), (2, 4, 4)) -> broadcast_to(X, (2, 4, 4))
    """,
    "compute_before_repeating": """
        broadcast_to(a, (4,)) + x -> same
        twice(broadcast_to(a, (4,)))[0] -> same
        exp(exp(x)) -> same
        exp(x) -> same
        fused(broadcast_to(a, (4,))) -> broadcast_to(fused(a), (4,))
    """,
    "broadcast_instead_of_repeating": """
        x + y -> same
        pair(broadcast_to(a, x.shape), x)[0] -> same
        exp(broadcast_to(X, (4, 4))) -> same
        broadcast_to(a, X.shape) + X -> dimshuffle(a, "x", "x") + X
        X + broadcast_to(r, (1, 4)) -> X + r
        X + broadcast_to(a, K[0, :2], ndim=2) -> same
        X + broadcast_to(a, (X.shape[1], X.shape[0])) -> same
        X + broadcast_to(a, (X.shape[0], n)) -> same
        clip(X, broadcast_to(a, X.shape), r) -> clip(X, dimshuffle(a, "x", "x"), r)
        r + broadcast_to(a, (n, r.shape[1])) -> same
    """,
    "fill_without_the_model": """
        second(exp(X), a) -> same
        second(x, a) -> same
        second(dot(u, v), a) -> same
        second(dot(X, Y), a * 2) -> broadcast_to(a * 2, (shape_i(dot(X, Y), 0), shape_i(dot(X, Y), 1)))
        second(dot(X, Y), col(u)) -> broadcast_to(col(u), (shape_i(dot(X, Y), 0), shape_i(dot(X, Y), 1)))
    """,  # noqa: E501
    "sum_repeated_number": """
        sum(x) -> same
        sum(exp(X)) -> same
        max(broadcast_to(2.0, (3, 4))) -> same
        sum(broadcast_to(2.0, k[:1], ndim=1)) -> same
        sum(broadcast_to(x, (3, 4))) -> same
        sum(broadcast_to(constant(inf), (x.shape[0],))) -> same
        sum(broadcast_to(constant(inf), (3,))) -> cast(constant(3, "int64"), "float32") * inf
        sum(broadcast_to(a, (x.shape[0],))) -> same
        sum(broadcast_to(a, (0, 3))) -> same
        sum(broadcast_to(a, (1, 3))) -> cast(constant(3), "float64") * a
        sum(broadcast_to(constant(2.0), (0, 3))) -> cast(constant(0, "int64"), "float32") * 2.0
        sum(broadcast_to(q, (3,))) -> same
        sum(broadcast_to(constant(2j), (3,))) -> cast(constant(3, "int64"), "complex64") * constant(2j)
        sum(broadcast_to(constant(2.0), (x.shape[0],))) -> cast(shape_i(x, 0), "float32") * 2.0
        sum(broadcast_to(constant(2.0), (x.shape[0], 3))) -> cast(shape_i(x, 0) * constant(3, "int64"), "float32") * 2.0
        sum(broadcast_to(constant(2.0), (n,))) -> same
        sum(broadcast_to(constant(2.0), (n, 3))) -> same
        sum(broadcast_to(constant(2.0, "float16"), (3,))) -> cast(cast(constant(3, "int64"), "float32") * constant(2.0, "float32"), "float16")
        sum(broadcast_to(constant(2, "int32"), (3,))) -> constant(3, "int64") * constant(2, "int64")
    """,  # noqa: E501
}
ALL = TABLE_OF_BRANCHES | TABLE_OF_CONSTANTS | TABLE_OF_AXES | TABLE_OF_REPEATING


@pytest.mark.parametrize(("rule", "before", "after"), cases(ALL))
def test_a_rule_applies_under_its_conditions_only(rule, before, after):
    check(rule, before, after)


n, x = T.lscalar("n"), T.dvector("x")
LENGTHS = {
    "an input": (n, False),
    "a length": (x.shape[0], True),
    "a length and a number": (x.shape[0] + 2, True),
    "a length and an input": (x.shape[0] + n, False),
    "an input and a length": (n * x.shape[0], False),
    "a product": (x.shape[0] * x.shape[0], True),
    "a length less one": (x.shape[0] - 1, False),
    "a length and a negative number": (x.shape[0] + np.int64(-2), False),
    "the smaller one": (T.minimum(x.shape[0], 3), True),
    "the larger one": (T.maximum(x.shape[0], 3), False),
    "nothing": (T.constant(0), True),
    "a negative number": (T.constant(-1), False),
}


@pytest.mark.parametrize("name", LENGTHS)
def test_a_length_is_never_negative_where_it_is_made_of_such(name):
    length, wanted = LENGTHS[name]
    assert is_never_negative(length) is wanted
