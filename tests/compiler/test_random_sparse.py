"""Some expressions of sparse matrices that `random_sparse.py` draws, of fixed seeds."""

import numpy as np
import pytest
from drawn_sparse import drawn
from random_sparse import Judge, found, judged
from sparse_programs import Program, stored_of


@pytest.mark.parametrize("first", range(0, 8, 4))
def test_drawn_expressions(context, first):
    assert list(found(range(first, first + 4), context)) == []


def test_the_judge_sees_a_wrong_gradient():
    judge = Judge(drawn(4)[0])
    right = judge.parts(judge.gradient())
    assert list(judged("gradient", right, right, 1e-9)) == []
    wrong = [right[0] + 1e-6, *right[1:]]
    assert len(list(judged("gradient", right, wrong, 1e-9))) == 1


def test_the_judge_of_matrices():
    value = Program(np.random.default_rng(1)).host_matrix(4, 5)
    own = stored_of(value)
    np.testing.assert_array_equal(own.dense(), value.toarray())
    np.testing.assert_array_equal(own.turned().dense(), value.toarray().T)
    np.testing.assert_array_equal(
        own.taken(np.array([3, 0])).dense(), value.toarray()[[3, 0]]
    )
