"""Where rules of matrix products and of softmax apply, and where not."""

import pytest
from rule_conditions import cases, check

TABLE_OF_PRODUCTS = {
    "merge_sum_into_product": """
        a + dot(u, v) -> same
        K + dot(K, K) -> same
        D + dot(D, D) -> same
        v + 2 * u -> same
        u + v + dot(A, u) -> gemv(u + v, A, u, 1, 1)
        row(v) + dot(A, B) -> same
        dot(A, B) -> same
        2 * dot(A, B) -> same
        dot(A, B) + dot(B, A) + dot(A, A) -> gemm(gemm(dot(A, B), B, A, 1, 1), A, A, 1, 1)
        dot(A.T, B) + dot(B, A.T) -> gemm(dot(A.T, B), B, A, 1, 1, False, True)
        C + dot(A.T, B.T) -> gemm(C, A, B, 1, 1, True, True)
        C - dot(A, B) * 0.5 -> gemm(C, A, B, -0.5, 1)
        C - (-dot(A, B)) -> gemm(C, A, B, 1, 1)
        C + dot(A, B) / 0 -> same
        C + dot(A, B) / X -> same
        C * X + dot(A, B) -> gemm(C * X, A, B, 1, 1)
        (lambda p: [C + p, p])(dot(A, B)) -> same
        v + dot(A.T, u) -> gemv(v, A, u, 1, 1, True)
        v + dot(u, A.T) -> gemv(v, A, u, 1, 1)
        F + dot(F, F) -> gemm(F, F, F, 1, 1)
        v + negated(dot(A, u), 6) -> gemv(v, A, u, 1, 1)
        v + negated(dot(A, u), 8) -> same
        X + dot(F, A) -> gemm(X, cast(F, "float64"), A, 1, 1)
        Q + batched_dot(Q, dimshuffle(R, 0, 2, 1)) -> batched_gemm(Q, Q, R, 1, 1, False, True)
        batched_dot(Q, R) + batched_dot(R, Q) -> batched_gemm(batched_dot(Q, R), R, Q, 1, 1)
        batched_dot(dimshuffle(Q, 0, 2, 1), R) + batched_dot(R, dimshuffle(Q, 0, 2, 1)) -> batched_gemm(batched_dot(dimshuffle(Q, 0, 2, 1), R), R, Q, 1, 1, False, True)
        2 * gemm(C, A, B, 0.5, 3) -> gemm(C, A, B, 1, 6)
        2 * gemm(C * 2, A, B, 0.5, 3) -> gemm(C, A, B, 1, 12)
        dot(A, B.T) + dot(B, A) -> gemm(dot(A, B.T), B, A, 1, 1)
        Q + batched_dot(dimshuffle(R, 2, 1, 0), Q) -> batched_gemm(Q, dimshuffle(R, 2, 1, 0), Q, 1, 1)
        (lambda t: [t, t * 2])(C + dot(A, B)) -> (lambda t: [t, t * 2])(gemm(C, A, B, 1, 1))
        gemm(C, A, B, 0.5, 3) + C -> gemm(C, A, B, 0.5, 4)
        gemv(v, A, u, 0.5, 3) - dot(B, u) -> gemv(gemv(v, A, u, 0.5, 3), B, u, -1, 1)
    """,  # noqa: E501
    "product_of_column_and_row": """
        dot(A, B) -> same
        dot(s, B) -> same
        dot(A, r) -> same
        dot(s, r) -> s * r
        dot(u, A) -> same
        dot(A, u) -> same
        dot(s > 0, r > 0) -> same
    """,
    "transpose_before_multiplying": """
        exp(A).T -> same
        (A + B).T -> same
        (lambda p: [p.T, p])(dot(A, B)) -> same
        dimshuffle(dot(A, B), "x", 0, 1) -> same
        dot(A.T, B).T -> dot(B.T, A)
    """,
}
TABLE_OF_SOFTMAX = {
    "log_of_softmax": """
        log(X) -> same
        log(exp(X)) -> same
    """,
    "log_of_part": """
        log(softmax(X)) -> same
        log(exp(X).T) -> log(exp(X)).T
        log(sinh(X).T) -> same
        log(softmax(X)[0].dimshuffle("x", 0)) -> log(softmax(X))[0].dimshuffle("x", 0)
        log(softmax(X)[k, k]) -> log(softmax(X))[k, k]
        log(softmax(X).reshape((16,))) -> log(softmax(X)).reshape((16,))
    """,
    "cancel_picked_elements": """
        times(spread_first(softmax(X), k, u / picked(softmax(X), k)), Y) -> same
        times(spread_first(Y, k, u / picked(Y, k)), softmax(X)) -> same
        times(spread_first(softmax(X), k, u), softmax(X)) -> same
        times(spread(u / pick(softmax(X), k), k, 4), softmax(X)) -> same
        times(X, softmax(X)) -> same
        where_nonzero(X, spread(u / v, k, 4) * softmax(X)) -> same
    """,
    "sum_of_spread": """
        sum(X, 1) -> same
        sum(exp(X), 1) -> same
        max(spread(u, k, 4), 1) -> same
        sum(spread(u, k, 4), (0, 1)) -> sum(u)
        sum(spread(f, k, 4), 1, dtype="float64") -> same
    """,
    "pick_before_computing": """
        pick(X, k) -> same
        pick(dot(X, Y), k) -> same
        pick(exp(X), k) -> exp(pick(X, k))
        pick(X + row(u), k) -> same
        pick(pair(X, s)[0], k) -> same
        pick(r + s, k) -> same
        pick(X + s, k) -> pick(X, k) + dimshuffle(s, 0)
        pick(X * exp(s), k) -> pick(X, k) * dimshuffle(exp(s), 0)
    """,
    "pick_elements_of_rows": """
        X[counted(shape_i(k, 0)), k] -> picked(X, k)
        X[counted(3), k] -> same
        X[k, k] -> same
        X[k + k, k] -> same
        X[counted(shape_i(k, 0))] -> same
        X[counted(maximum(shape_i(k, 0), 0)), k] -> picked(X, k)
        X[counted(maximum(shape_i(k, 0), 1)), k] -> same
        Q[counted(shape_i(k, 0)), k] -> same
    """,
    "spread_elements_of_rows": """
        inc_subtensor(zeros_like(X)[k, k], u) -> same
        inc_subtensor(X[counted(shape_i(k, 0)), k], 2.0) -> same
    """,
    "index_rows_before_computing": """
        exp(X)[k, k] -> same
        X[counted(3), k[:3]] -> same
        dot(X, Y)[counted(3), k[:3]] -> same
        (X + Y)[counted(3), k[:3]] -> same
        pair(X, s)[0][counted(3), k[:3]] -> same
        exp(X)[counted(3), k[:3]] -> exp(X[counted(3), k[:3]])
        (X * 2.0)[counted(3), k[:3]] -> X[counted(3), k[:3]] * 2.0
    """,
    "choose_first_rows": """
        first(u, 3, 9) -> same
        first(exp(u), 4, 9) -> same
        first(broadcast_to(a, (4,)), 3, 9) -> same
        first(broadcast_to(p, (4,)), 4, 9) -> where(are_first(4, 9), p, 0.0)
        first(constant([2.0], "float64"), 1, 9) -> where(are_first(1, 9), constant([2.0], "float64"), 0.0)
        first(constant([True]), 1, 9) -> same
        first(constant([False]), 1, 9) -> where(are_first(1, 9), constant([False]), constant([False]))
    """,  # noqa: E501
    "open_softmax": """
        softmax(H) -> cast(opened_softmax(cast(H, "float32"), 1), "float16")
        logsoftmax(H) -> cast(opened_logsoftmax(cast(H, "float32"), 1), "float16")
        softmax(F, 0) -> opened_softmax(F, 0)
    """,
}


@pytest.mark.parametrize(
    ("rule", "before", "after"), cases(TABLE_OF_PRODUCTS | TABLE_OF_SOFTMAX)
)
def test_a_rule_applies_under_its_conditions_only(rule, before, after):
    check(rule, before, after)
