"""Collectives in expressions, on one rank and on two."""

import subprocess

import numpy as np
import pytest
from gpuarray import distributed as processes
from gpuarray.compiler import (
    config,
    distributed,
    function,
    grad,
    shared,
    sparse,
    tensor as T,
)
from gpuarray.compiler.gradient import Rop
from launched import TESTS, device_of_all, environment, mpiexec, run, torchrun


@pytest.fixture
def comm(on_context):
    with processes.init(on_context, by="none") as made:
        yield made


def test_two_ranks(context):
    """All cases of the program: values, gradients, training, loops, and a mistake."""
    statuses, texts = run("function_ranks.py", torchrun(2), "--context", context.name)
    assert statuses == [0, 0], "\n".join(texts)
    for text in texts:
        assert text.count("is right") == 11


def test_two_ranks_whose_calls_are_recorded(first_context):
    """What stands above NCCL, in plans: dtypes, the log of calls, differences."""
    arguments = "--context", first_context.name, "--queued"
    statuses, texts = run("function_ranks.py", torchrun(2), *arguments)
    assert statuses == [0, 0], "\n".join(texts)
    assert [text.count("is right") for text in texts] == [11, 11]


def test_programs_of_users(first_context):
    """Training, arrays, messages and grids of ranks; Ctrl-C, and batches too few."""
    arguments = "rank_programs.py", torchrun(2), "--context", first_context.name
    statuses, texts = run(*arguments)
    assert statuses == [0, 0], "\n".join(texts)
    assert [text.count("is right") for text in texts] == [12, 12]


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


def test_sharded_updates_of_a_parameter_with_an_axis_of_one(comm):
    """As filters of gray images, whose axis does not broadcast."""
    w = shared(np.ones((2, 1), "float32"))

    def descended(p, g, state):
        return p - g, []

    slopes = [grad((w**2).sum(), w)]
    updates = distributed.sharded_updates([w], slopes, descended, comm)
    function([], [], updates=updates)()
    np.testing.assert_array_equal(w.get_value(), [[-1], [-1]])


def collectives_of(f):
    """The steps of a function's plan that are collectives."""
    return [step for step in f.plan.steps if getattr(step, "function", "") == NAME]


NAME = "collective"


@pytest.mark.parametrize("verbosity", ["low", "high"])
def test_a_failed_run_behind_a_collective(comm, verbosity):
    """It is explained without the collective, which other ranks would not run again."""
    x, y = T.fvector("x"), T.fvector("y")
    total = distributed.all_reduce(x, comm)
    f = function([x, y], T.nnet.relu(total - y).sum())
    given = np.arange(3, dtype="float32")
    with (
        config.use(exception_verbosity=verbosity),
        pytest.raises(ValueError, match=r"shapes \(3,\) and \(2,\) do not broadcast"),
    ):
        f(given, given[:2])
    assert comm.calls == 1  # the run's own
    assert f(given, 0 * given) == 3


def test_no_collective_is_folded_or_lost(comm):
    two = T.constant(np.ones(3, "float32"))
    f = function([], distributed.all_reduce(two, comm))
    (step,) = collectives_of(f)
    assert not step.pauses
    np.testing.assert_array_equal(f(), np.ones(3))


def test_collectives_are_in_the_programs_order(comm):
    x = T.fvector("x")
    first, second, third = (distributed.all_reduce(x + i, comm) for i in range(3))
    last = distributed.all_gather(second * 2, comm)
    f = function([x], [last, third * first])
    lines = [dict(step.options)["op"].program_order for step in collectives_of(f)]
    numbers = [y.owner.op.program_order for y in (first, second, third, last)]
    assert lines == numbers == sorted(numbers)


def test_gradients_are_reduced_behind_the_last_of_their_bucket(comm):
    """What needs a mean comes when no other gradient is left to compute."""
    x = T.fmatrix("x")
    ws = [shared(np.eye(3, dtype="float32") * i, f"w{i}") for i in (1, 2, 3)]
    y = x
    for w in ws:
        y = T.tanh(T.dot(y, w))
    cost = (y**2).mean()
    updates = [(w, w - 0.5 * g) for w, g in zip(ws, grad(cost, ws), strict=True)]
    spread = distributed.data_parallel(updates, comm, bucket_bytes=1)
    f = function([x], cost, updates=spread)
    steps = f.plan.steps
    reduced = [i for i, step in enumerate(steps) if step in collectives_of(f)]
    products = [i for i, step in enumerate(steps) if step.label in ("gemm", "dot22")]
    means = {step.outs[0] for step in collectives_of(f)}
    readers = [i for i, step in enumerate(steps) if means & set(step.ins)]
    assert len(reduced) == 3
    assert sum(reduced[0] < i < reduced[1] for i in products) >= 1
    assert sum(reduced[1] < i < reduced[2] for i in products) >= 1
    assert min(readers) > reduced[-1] > max(products)
    alone = [shared(w.get_value(), w.name) for w in ws]
    y = x
    for w in alone:
        y = T.tanh(T.dot(y, w))
    cost = (y**2).mean()
    slopes = grad(cost, alone)
    whole = function(
        [x],
        cost,
        updates=[(w, w - 0.5 * g) for w, g in zip(alone, slopes, strict=True)],
    )
    given = np.arange(6, dtype="float32").reshape(2, 3)
    for _ in range(2):
        np.testing.assert_allclose(f(given), whole(given), rtol=1e-6)
    for w, wanted in zip(ws, alone, strict=True):
        np.testing.assert_allclose(w.get_value(), wanted.get_value(), rtol=1e-5)


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
    with pytest.raises(ValueError, match="rank is 0, expected one of 0 to 0 other"):
        distributed.send(x, comm, 0)
    with pytest.raises(ValueError, match="rank is 3, expected one of 0 to 0 other"):
        distributed.recv(x, comm, 3)
    with pytest.raises(TypeError, match=r"rank is s, a \w+; expected an int"):
        distributed.send(x, comm, s)
    with pytest.raises(ValueError, match=r"no gradient that grad.. has made"):
        w = shared(np.ones(3, "float32"))
        distributed.data_parallel({w: w + 1}, comm)
    v = sparse.csr_matrix("v", dtype="float32")
    with pytest.raises(TypeError, match=r"gradient v is of .*dense_from_sparse"):
        distributed.data_parallel([v], comm)
    with pytest.raises(TypeError, match="expected gradients, or updates"):
        distributed.data_parallel([1.0], comm)
    w, v = shared(np.ones(3, "float32")), shared(np.ones(3))
    with pytest.raises(ValueError, match="1 parameters and 0 gradients"):
        distributed.sharded_updates([w], [], None, comm)
    with pytest.raises(TypeError, match=r"of .'float32', 'float64'.; expected one"):
        distributed.sharded_updates([w, v], [w, v], None, comm)
    with pytest.raises(ValueError, match="bucket_bytes is 0"):
        distributed.data_parallel([x], comm, bucket_bytes=0)


def test_four_ranks_by_mpi(first_context):
    """Values, gradients and training are those of one process."""
    device, _ = device_of_all(first_context, 4)
    some = "--case", "results_and_gradients", "--case", "training"
    done = subprocess.run(
        [*mpiexec(4), TESTS / "function_ranks.py", *device, *some],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("is right") == 8
