"""Where rules of indices, changes, joins and lengths apply, and where not."""

import pytest
from rule_conditions import cases, check

TABLE_OF_VIEWS = {
    "drop_useless_slices": """
        sub(X, slice(0, None)) -> X
        sub(X, slice(1, None)) -> same
        sub(X, slice(0, None, 2)) -> same
        sub(X, slice(None, None, 2)) -> same
        sub(X, slice(None, X.shape[0], 1)) -> X
        sub(X, slice(None, X.shape[0], 2)) -> same
        sub(X, slice(None, X.shape[1])) -> same
        sub(X, slice(None, Y.shape[0])) -> same
        sub(X, slice(None, n)) -> same
        sub(X, slice(None, n + 1)) -> same
        sub(k, slice(None, sum(k))) -> same
        sub(X, 1, slice(None, X.shape[1])) -> sub(X, 1)
        sub(X, slice(0, 1)) -> sub(X, slice(None, 1))
        sub(r, slice(0, 1)) -> r
        sub(r, slice(None, 1)) -> r
        sub(r, slice(1, None)) -> same
        Subtensor(())(X) -> X
    """,
    "drop_axes_of_one": """
        sub(X, 0) -> same
        sub(r, n) -> same
        sub(r, slice(1, None)) -> same
        sub(r, -1, slice(1, None)) -> sub(dimshuffle(r, 1), slice(1, None))
    """,
    "merge_subtensors": """
        sub(exp(X), 1) -> same
        sub(sub(X, slice(1, None)), slice(None), 1) -> sub(X, slice(1, None), 1)
        sub(sub(X, slice(-2, None)), slice(None), 1) -> sub(X, slice(-2, None), 1)
        sub(sub(X, slice(None), 1), n) -> sub(X, n, 1)
        sub(sub(X, slice(None), slice(1, None)), n) -> sub(X, n, slice(1, None))
        sub(sub(x, slice(1, None)), n) -> same
        sub(sub(x, slice(1, None)), slice(n, None)) -> same
        sub(sub(x, slice(n, None)), slice(1, None)) -> same
        sub(sub(x, slice(n, None)), 1) -> same
        sub(sub(x, slice(None, None, -1)), 1) -> same
        sub(sub(x, slice(None, None, -1)), slice(1, None)) -> same
        sub(sub(x, slice(None, None, -1)), slice(None, None, -1)) -> x
        sub(sub(x, slice(-3, None)), slice(1, None)) -> same
        sub(sub(x, slice(None, -1)), slice(1, None)) -> same
        sub(sub(x, slice(None, None, -2)), slice(1, None)) -> same
        sub(sub(x, slice(3, None, -1)), slice(1, None)) -> same
        sub(sub(x, slice(1, None)), slice(-2, None)) -> same
        sub(sub(x, slice(1, None)), slice(None, -1)) -> same
        sub(sub(x, slice(1, None)), slice(None, None, -1)) -> same
        sub(sub(x, slice(1, None)), slice(2, None, -1)) -> same
        sub(sub(x, slice(1, None)), slice(None, 2)) -> sub(x, slice(1, 3))
        sub(sub(x, slice(0, 4, 2)), slice(1, 2)) -> sub(x, slice(2, 4, 2))
        sub(sub(x, slice(1, None)), -1) -> same
        sub(sub(x, slice(1, None)), 0) -> sub(x, 1)
        sub(sub(x, slice(1, 3)), 1) -> sub(x, 2)
        sub(sub(x, slice(1, 3)), 2) -> same
        sub(sub(r, slice(1, None)), 0) -> same
        sub(sub(r, slice(None), slice(1, None)), 0) -> sub(r, 0, slice(1, None))
        sub(sub(r, slice(1, None)), slice(None), 0) -> sub(r, slice(1, None), 0)
    """,
    "index_before_moving_axes": """
        sub(exp(X), 1) -> same
        sub(dimshuffle(x, "x", 0), slice(1, None)) -> same
        sub(dimshuffle(Q, 2, "x", 0, 1), 1, 0, slice(2, None)) -> sub(Q, slice(2, None), slice(None), 1)
    """,  # noqa: E501
    "index_before_repeating": """
        sub(x, 1) -> same
        sub(exp(x), 1) -> same
        sub(broadcast_to(a, K[0, :2], ndim=2), 1) -> same
        sub(broadcast_to(dimshuffle(x, "x", 0), (3, 4)), 1, 2) -> sub(dimshuffle(x, "x", 0), 0, 2)
        sub(broadcast_to(x, (3, 4)), 1, 2) -> sub(x, 2)
        sub(broadcast_to(a, (4,)), slice(None, None, n)) -> same
    """,  # noqa: E501
    "index_before_computing": """
        sub(x, 1) -> same
        sub(dot(X, Y), 1) -> same
        sub(pair(x, y)[0], 1) -> same
        sub(inplace_exp(x), 1) -> same
        (lambda e: [sub(e, 1), e])(exp(X)) -> same
        sub(sub(exp(X), slice(1, None)), 1) -> same
        sub(exp(sub(exp(X), slice(1, None))), 0) -> exp(sub(sub(exp(X), slice(1, None)), 0))
        (lambda s: [sub(s, 0), s])(sub(exp(X), slice(1, None))) -> (lambda s: [sub(s, 0), s])(exp(sub(X, slice(1, None))))
        pair(sub(exp(x), slice(1, None)), y[1:])[0] -> pair(exp(sub(x, slice(1, None))), y[1:])[0]
        sub(x, sub(k + k, 0)) -> sub(x, sub(k, 0) + sub(k, 0))
        sub(dot(sub(exp(X), slice(1, None)), Y), 0) -> sub(dot(exp(sub(X, slice(1, None))), Y), 0)
        sub(inplace_exp(sub(exp(x), slice(1, None))), 0) -> sub(inplace_exp(exp(sub(x, slice(1, None)))), 0)
        sub(exp(r), slice(1, None)) -> exp(sub(r, slice(1, None)))
        sub(X + s, slice(None), 1) -> sub(X, slice(None), 1) + sub(s, slice(None), 0)
    """,  # noqa: E501
    "index_before_joining": """
        sub(x, 1) -> same
        sub(dot(X, Y), 1) -> same
        sub(join(0, row(x), row(y)), slice(1, None)) -> same
        sub(join(0, row(x), row(y)), n) -> same
        sub(join(0, row(x), row(y)), 2) -> same
        sub(join(0, row(x), row(y)), -3) -> same
        sub(join(0, r, X), 0) -> same
        (lambda j: [sub(j, 0), j])(join(1, X, Y)) -> same
        sub(join(2, Q, R), 0, slice(1, None)) -> join(1, sub(Q, 0, slice(1, None)), sub(R, 0, slice(1, None)))
    """,  # noqa: E501
    "index_before_multiplying": """
        sub(x, 1) -> same
        sub(exp(X), 1) -> same
        sub(X + Y, 1) -> same
        (lambda j: [sub(j, 0), j])(dot(X, Y)) -> same
        sub(dot(u, X), slice(1, None)) -> dot(u, sub(X, slice(None), slice(1, None)))
    """,
    "take_from_made_vector": """
        sub(x, 1) -> same
        sub(exp(x), 0) -> same
        sub(make_vector(n, l), 1) -> l
        sub(make_vector(n, l), -2) -> n
        sub(make_vector(n, l), 2) -> same
        sub(make_vector(n, l), n) -> same
        sub(make_vector(n, l), slice(n, None)) -> same
        sub(make_vector(n, l), slice(2, None)) -> same
        sub(make_vector(n, l, 3), slice(None, None, 2)) -> make_vector(n, 3)
        sub(make_vector(cast(n, "int32"), l), 0) -> cast(cast(n, "int32"), "int64")
    """,
}
TABLE_OF_CHANGES = {
    "drop_adding_zero": """
        inc_subtensor(X[n], 0.0) -> X
        inc_subtensor(x[b], 0.0) -> x
        inc_subtensor(X[[0, 1], k[:2]], 0.0) -> same
        set_subtensor(X[1:], 0.0) -> same
        inc_subtensor(X[1:], Y[1:]) -> same
        inc_subtensor(X[1:], 1.0) -> same
    """,
    "set_instead_of_adding_to_zero": """
        inc_subtensor(X[0], u) -> same
        inc_subtensor(exp(X)[0], u) -> same
        inc_subtensor(cos(zeros_like(X))[0], u) -> same
        inc_subtensor(broadcast_to(constant(0.0, "float64"), (4, 4))[0], u) -> set_subtensor(broadcast_to(constant(0.0, "float64"), (4, 4))[0], u)
        inc_subtensor(broadcast_to(constant(1.0, "float64"), (4, 4))[0], u) -> same
        inc_subtensor(broadcast_to(a, (4, 4))[0], u) -> same
        inc_subtensor(ones_like(X)[0], u) -> same
    """,  # noqa: E501
    "repeat_while_changing": """
        set_subtensor(X[0], second(u, v)) -> same
        set_subtensor(X[0], exp(u)) -> same
        set_subtensor(X[0], u) -> same
        inc_subtensor(X[1:], broadcast_to(u, (3, 4))) -> inc_subtensor(X[1:], u)
    """,
    "change_all": """
        set_subtensor(X[n:], Y[n:]) -> same
        set_subtensor(X[1:], Y[1:]) -> same
        set_subtensor(X[:, 1:], a) -> same
        inc_subtensor(X[:], Y) -> X + Y
    """,
    "drop_setting_to_itself": """
        set_subtensor(X[0], u) -> same
        set_subtensor(X[0], Y[0]) -> same
        set_subtensor(X[0], X[1]) -> same
        set_subtensor(X[0], X[:, 0]) -> same
        set_subtensor(X[0, 1], X[0, 2]) -> same
        set_subtensor(X[1, 0], X[2, 1]) -> same
        set_subtensor(X[1, 0], X[0, 2]) -> same
        set_subtensor(x[1:3], exp(x)[1:3]) -> same
        inc_subtensor(X[0], X[0]) -> same
        set_subtensor(X[k], X[k]) -> same
        set_subtensor(X[n], X[n]) -> X
    """,
    "read_what_was_changed": """
        set_subtensor(X[1], u)[2] -> same
        set_subtensor(X[1], u)[1:] -> same
        exp(X)[1] -> same
        X[1] -> same
        inc_subtensor(X[1], a)[1] -> X[1] + dimshuffle(a, "x")
    """,
    "scale_before_spreading": """
        inf * inc_subtensor(zeros_like(X)[0], u) -> same
        Y * inc_subtensor(zeros_like(X)[0], u) -> same
        0.5 * inc_subtensor(X[0], u) -> same
        0.5 * exp(X) -> same
        X * Y -> same
        (lambda s: [0.5 * s, s])(inc_subtensor(zeros_like(X)[0], u)) -> same
    """,
    "add_in_place_of_a_sum": """
        X + Y -> same
        X + exp(Y) -> same
        inc_subtensor(zeros_like(Y)[0], u) - X -> same
        X + set_subtensor(zeros_like(Y)[[0, 0]], u) -> same
        X + set_subtensor(zeros_like(Y)[[0, 1]], u) -> inc_subtensor(X[[0, 1]], u)
        F + inc_subtensor(zeros_like(X)[0], u) -> same
    """,
}
TABLE_OF_JOINS = {
    "join_one": """
        join(0, x, y) -> same
    """,
    "drop_parts_without_elements": """
        join(0, x, y) -> same
        join(0, p, constant(np.zeros(0))) -> same
        join(0, constant(np.zeros(0)), constant(np.zeros(0))) -> same
        join(1, X, constant(np.zeros((4, 0))), Y) -> join(1, X, Y)
        join(0, X, constant(np.zeros((0, 4)))) -> X
    """,
    "merge_joins": """
        join(0, x, y) -> same
        join(0, x, exp(y)) -> same
        join(0, join(0, x, y), join(0, y, z)) -> join(0, x, y, y, z)
    """,
    "merge_made_vectors": """
        join(0, k, shape(X)) -> same
        join(0, MakeVector("float64")(a, a), MakeVector("float64")(a, a)) -> same
        join(0, constant([1, 2]), constant([3])) -> same
        join(0, shape(X), constant([2])) -> make_vector(shape_i(X, 0), shape_i(X, 1), 2)
    """,
    "join_what_was_split": """
        Join(0)(x) -> same
        join(0, x, y) -> same
        join(0, exp(x), exp(y)) -> same
        join(1, *split(X, [2, 2], 2)) -> same
        join(0, *split(x, [1, 2, 1], 3)[:2]) -> same
    """,
    "reduce_stacked_parts": """
        sum(x) -> same
        sum(exp(X), 0) -> same
        sum(join(0, row(x), row(y)), 1) -> same
        sum(join(0, row(x), row(y))) -> same
        sum(join(0, r, X), 0) -> same
        max(join(0, row(x), row(y)), 0) -> maximum(dimshuffle(row(x), 1), dimshuffle(row(y), 1))
        sum(join(0, row(h), row(h)), 0) -> cast(cast(dimshuffle(row(h), 1), "float32") + cast(dimshuffle(row(h), 1), "float32"), "float16")
    """,  # noqa: E501
    "split_in_one": """
        split(x, [1, 3], 2)[0] -> same
        split(p, k[:1], 1)[0] -> same
    """,
    "split_what_was_joined": """
        split(x, [1, 3], 2)[0] -> same
        split(exp(x), [1, 3], 2)[0] -> same
        split(join(0, x, y), k[:2], 2)[0] -> same
        split(join(1, X, Y), [X.shape[0], 0], 2)[0] -> same
        split(join(0, x, y), [x.shape[0], y.shape[0], 0], 3)[0] -> same
        split(join(0, p, x), [1, x.shape[0]], 2)[1] -> same
    """,
    "sort_once": """
        argsort(argsort(X)) -> same
        sort(exp(X)) -> same
        sort(X) -> same
    """,
    "take_diagonal_that_was_put": """
        diagonal(X) -> same
        diagonal(exp(X)) -> same
    """,
}
TABLE_OF_SYSTEMS = {
    "solve_instead_of_inverting": """
        dot(A, B) -> same
        dot(exp(A), B) -> same
        (lambda i: [dot(i, B), i])(matrix_inverse(A)) -> same
    """,
    "solve_by_substitution": """
        solve(A, u) -> same
        solve(A.T, u) -> same
        solve(exp(A), u) -> same
        solve_upper_triangular(cholesky(dot(A, A.T)), u) -> same
    """,
    "split_shape": """
        shape(a) -> same
        shape(x) -> make_vector(shape_i(x, 0))
        shape(r) -> make_vector(1, shape_i(r, 1))
    """,
    "take_length_from_inputs": """
        Shape_i(0)(r) -> constant(1, "int64")
        Shape_i(0)(x) -> same
        Shape_i(0)(split(x, [1, 3], 2)[1]) -> constant(3, "int64")
        Shape_i(0)(x[b]) -> same
    """,
}
ALL = TABLE_OF_VIEWS | TABLE_OF_CHANGES | TABLE_OF_JOINS | TABLE_OF_SYSTEMS


@pytest.mark.parametrize(("rule", "before", "after"), cases(ALL))
def test_a_rule_applies_under_its_conditions_only(rule, before, after):
    check(rule, before, after)
