"""Layers composed of other ops: their launches, and what they refuse."""

import gpuarray.compiler.tensor as T
import pytest
from gpuarray.compiler import config, function, grad
from gpuarray.compiler.tensor.nnet.blocksparse import (
    SparseBlockGemv,
    sparse_block_dot,
    sparse_block_outer,
)

X, H, M, V = T.ftensor4("X"), T.ftensor3("H"), T.fmatrix("m"), T.fvector("v")
I, INTS = T.lmatrix("i"), T.ltensor4("ints")  # noqa: E741
LRN = T.nnet.local_response_normalization

ERRORS = [
    (lambda: sparse_block_dot(M, H, I, M, I), TypeError, "given W m of .*4 axes"),
    (lambda: sparse_block_dot(X, M, M, M, I), TypeError, "given inputIdx m of"),
    (lambda: sparse_block_dot(X, H, I, V, I), TypeError, "given b v of .*2 axes"),
    (lambda: sparse_block_dot(X, H, I, M, M), TypeError, "outputIdx m of .*integers"),
    (lambda: SparseBlockGemv()(M, X, H, I, I), TypeError, "given o m of .*3 axes"),
    (lambda: sparse_block_outer(H, H, H, I, I), TypeError, "given o H of .*4 axes"),
    (lambda: LRN(V), TypeError, "given x v of .*at least 2"),
    (lambda: LRN(INTS), TypeError, "given x ints of .*expected floats"),
    (lambda: LRN(X, 0), ValueError, "given n 0, expected"),
    (lambda: LRN(X, 2.5), ValueError, "given n 2.5, expected"),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors_name_the_argument(number):
    make, kind, message = ERRORS[number]
    with pytest.raises(kind, match=message):
        make()


def test_launches_of_responses():
    """Squares, those with zeros around, and the sums with all that follows."""
    with config.use(device="null"):
        forward = function([X], T.nnet.relu(LRN(X))).plan
        backward = function([X], grad(LRN(X).sum(), X)).plan
    kinds = [type(step).__name__ for step in forward.steps]
    assert (kinds.count("LaunchStep"), kinds.count("Routine")) == (2, 1)
    kinds = [type(step).__name__ for step in backward.steps]
    assert (kinds.count("LaunchStep"), kinds.count("Routine")) == (3, 2)


def test_a_block_product_is_one_gather_and_one_product():
    with config.use(device="null"):
        plan = function([X, H, I, M], sparse_block_dot(X, H, I, M, I)).plan
    assert str(plan).count("matmul") == 1
    assert str(plan).count("advanced_subtensor") == 2, "of the matrix and the biases"
