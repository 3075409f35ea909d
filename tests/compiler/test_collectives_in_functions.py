"""Collectives in expressions, on one rank and on two."""

import numpy as np
import pytest
from gpuarray import distributed as processes
from gpuarray.compiler import distributed, function, grad, shared, tensor as T
from gpuarray.compiler.gradient import Rop
from launched import run, torchrun


@pytest.fixture
def comm(on_context):
    with processes.init(on_context, by="none") as made:
        yield made


def test_two_ranks(context):
    """All cases of the program: values, gradients, training, loops, and a mistake."""
    statuses, texts = run("function_ranks.py", torchrun(2), "--context", context.name)
    assert statuses == [0, 0], "\n".join(texts)
    for text in texts:
        assert text.count("is right") == 7


def test_one_rank_is_itself(comm):
    x = T.fmatrix("x")
    given = np.arange(6, dtype="float32").reshape(3, 2)
    every = [
        distributed.all_reduce(x, comm),
        distributed.all_gather(x, comm, axis=1),
        distributed.reduce_scatter(x, comm, axis=-1),
        distributed.all_to_all(x, comm),
        distributed.broadcast(x, comm),
        distributed.reduce(x, comm),
    ]
    for found in function([x], every)(given):
        np.testing.assert_array_equal(found, given)
    shapes = function([x], [y.shape for y in every])(given)
    assert [tuple(shape) for shape in shapes] == [(3, 2)] * 6
    slopes = [grad((y**2).sum(), x) for y in every]
    for slope in function([x], slopes)(given):
        np.testing.assert_array_equal(slope, 2 * given)


def test_no_collective_is_folded_or_lost(comm):
    two = T.constant(np.ones(3, "float32"))
    f = function([], distributed.all_reduce(two, comm))
    before = comm.calls
    f()
    f()
    assert comm.calls == before + 2


def test_only_sums_and_means_have_derivatives(comm):
    x, d = T.fvector("x"), T.fvector("d")
    given, along = np.arange(3, dtype="float32"), np.ones(3, "float32")
    for collective in (distributed.all_reduce, distributed.reduce_scatter):
        for op in ("sum", "mean"):
            direction = Rop(collective(x, comm, op), x, d)
            moved = function([x, d], direction, on_unused_input="ignore")(given, along)
            np.testing.assert_array_equal(moved, along)
        for op in ("max", "min", "prod"):
            folded = collective(x, comm, op)
            with pytest.raises(NotImplementedError, match="expected sum or mean"):
                Rop(folded, x, d)
            with pytest.raises(NotImplementedError, match="expected sum or mean"):
                grad(folded.sum(), x)


def test_mistakes(comm):
    x, s = T.fvector("x"), T.fscalar("s")
    with pytest.raises(TypeError, match=r"expected a communicator.*distributed.init"):
        distributed.all_reduce(x, "world")
    with pytest.raises(ValueError, match="op is 'median', expected one of sum"):
        distributed.all_reduce(x, comm, "median")
    with pytest.raises(TypeError, match="expected an axis to split or join"):
        distributed.all_gather(s, comm)
    with pytest.raises((ValueError, IndexError), match="axis 3"):
        distributed.all_gather(x, comm, axis=3)
    with pytest.raises(ValueError, match="root is 7, expected 0 to 0"):
        distributed.broadcast(x, comm, root=7)
    with pytest.raises(ValueError, match=r"no gradient that grad.. has made"):
        w = shared(np.ones(3, "float32"))
        distributed.data_parallel({w: w + 1}, comm)
    with pytest.raises(TypeError, match="expected gradients, or updates"):
        distributed.data_parallel([1.0], comm)
    w, v = shared(np.ones(3, "float32")), shared(np.ones(3))
    with pytest.raises(ValueError, match="1 parameters and 0 gradients"):
        distributed.sharded_updates([w], [], None, comm)
    with pytest.raises(TypeError, match=r"of .'float32', 'float64'.; expected one"):
        distributed.sharded_updates([w, v], [w, v], None, comm)
    with pytest.raises(ValueError, match="bucket_bytes is 0"):
        distributed.data_parallel([x], comm, bucket_bytes=0)
