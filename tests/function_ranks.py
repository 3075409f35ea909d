"""Collectives in compiled functions among several processes: a program for each rank.

A launcher starts it, as tests/ranks.py. Each case compares with what one process
computes from all ranks' arrays.
"""

import argparse
import sys

import numpy as np
from gpuarray import distributed as processes
from gpuarray.compiler import (
    config,
    distributed,
    function,
    grad,
    scan,
    shared,
    tensor as T,
)
from gpuarray.compiler.random import RandomStreams
from gpuarray.errors import DistributedError
from nccl_stand_in import queue_calls


def of_rank(rank, *shape, seed=0):
    return np.random.default_rng((seed, rank)).normal(size=shape).astype("float32")


def close(found, wanted, rtol=2e-5):
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=rtol, atol=1e-5)


def results_and_gradients(comm):
    """Each collective, and the gradients of the sum of the ranks' costs."""
    n, me = comm.size, comm.rank
    x, w = T.fmatrix("x"), T.fmatrix("w")
    every = [of_rank(rank, 2 * n, 3) for rank in range(n)]

    def parts(arrays, rank):
        return np.concatenate([a.reshape(n, 2, 3)[rank] for a in arrays])

    total = sum(every)
    stacked = np.concatenate(every)
    # name: the expression, its value for a rank, and its transposed for gradients
    cases = {
        "all_reduce": (
            distributed.all_reduce(x, comm),
            lambda r: total,
            lambda gs, r: sum(gs),
        ),
        "mean": (
            distributed.all_reduce(x, comm, "mean"),
            lambda r: total / n,
            lambda gs, r: sum(gs) / n,
        ),
        "replicated": (
            distributed.all_reduce(x, comm, replicated=True),
            lambda r: total,
            lambda gs, r: gs[r],
        ),
        "all_gather": (
            distributed.all_gather(x, comm),
            lambda r: stacked,
            lambda gs, r: sum(gs)[2 * n * r : 2 * n * (r + 1)],
        ),
        "gathered, replicated": (
            distributed.all_gather(x, comm, replicated=True),
            lambda r: stacked,
            lambda gs, r: gs[r][2 * n * r : 2 * n * (r + 1)],
        ),
        "reduce_scatter": (
            distributed.reduce_scatter(x, comm),
            lambda r: total[2 * r : 2 * r + 2],
            lambda gs, r: np.concatenate(gs),
        ),
        "all_to_all": (
            distributed.all_to_all(x, comm),
            lambda r: parts(every, r),
            lambda gs, r: parts(gs, r),
        ),
        "broadcast": (
            distributed.broadcast(x, comm, n - 1),
            lambda r: every[n - 1],
            lambda gs, r: sum(gs) if r == n - 1 else 0 * gs[0],
        ),
        "reduce": (
            distributed.reduce(x, comm),
            lambda r: total if r == 0 else 0 * total,
            lambda gs, r: gs[0],
        ),
    }
    results = [y for y, _, _ in cases.values()]
    values = function([x], results)(every[me])
    gradients = [of_rank(r, 2 * n * n, 3, seed=1) for r in range(n)]
    slopes = [grad((y * w[: y.shape[0]]).sum(), x) for y in results]
    found = function([x, w], slopes)(every[me], gradients[me])
    for (name, (_, wanted, back)), value, slope in zip(
        cases.items(), values, found, strict=True
    ):
        close(value, wanted(me))
        own = [g[: len(wanted(me))] for g in gradients]
        close(slope, back(own, me))
        assert slope.shape == every[me].shape, name


def extremes(comm):
    """Folds without a gradient say so."""
    x = T.fvector("x")
    mine = of_rank(comm.rank, 4)
    both = [distributed.all_reduce(x, comm, op) for op in ("max", "prod")]
    every = np.stack([of_rank(rank, 4) for rank in range(comm.size)])
    largest, product = function([x], both)(mine)
    close(largest, every.max(0))
    close(product, every.prod(0))
    try:
        grad(both[0].sum(), x)
    except NotImplementedError as error:
        assert "has no gradient; expected sum or mean" in str(error)
    else:
        raise AssertionError("a maximum over ranks has no gradient")


def network(seed):
    """A network's parameters, its cost and inputs."""
    w = shared(of_rank(seed, 5, 7), "w")
    b = shared(of_rank(seed, 7, seed=1), "b")
    v = shared(of_rank(seed, 7, 3, seed=2), "v")
    x, y = T.fmatrix("x"), T.lvector("y")
    scores = T.nnet.softmax(T.dot(T.tanh(T.dot(x, w) + b), v))
    return [w, b, v], T.nnet.categorical_crossentropy(scores, y).mean(), [x, y]


def descent(cost, params):
    """The updates of a step of gradient descent."""
    slopes = grad(cost, params)
    return [(p, p - 0.5 * g) for p, g in zip(params, slopes, strict=True)]


def training(comm):
    """A share of the batch on each rank is the whole batch on one."""
    n, me = comm.size, comm.rank
    images = np.concatenate([of_rank(rank, 6, 5, seed=3) for rank in range(n)])
    labels = np.arange(6 * n) % 3
    share = slice(6 * me, 6 * me + 6)
    for bucket_bytes in (1, 100, 2**20):
        params, cost, inputs = network(me)  # other values on each rank
        updates = descent(cost, params)
        spread = distributed.data_parallel(updates, comm, bucket_bytes)
        mean = distributed.all_reduce(cost, comm, "mean", replicated=True)
        step = function(inputs, mean, updates=spread)
        whole, cost, inputs = network(0)
        alone = function(
            inputs,
            cost,
            updates=descent(cost, whole),
        )
        for _ in range(5):
            close(step(images[share], labels[share]), alone(images, labels))
        for param, wanted in zip(params, whole, strict=True):
            close(param.get_value(), wanted.get_value(), 1e-4)


def momentum(p, g, state):
    """A step with momentum."""
    velocity = state("velocity")
    step = 0.9 * velocity - 0.2 * g
    return p + step, [(velocity, step)]


def sharded(comm):
    """Each rank keeps its part of the velocities; one process has them all."""
    n, me = comm.size, comm.rank
    images = np.concatenate([of_rank(rank, 6, 5, seed=3) for rank in range(n)])
    labels = np.arange(6 * n) % 3
    share = slice(6 * me, 6 * me + 6)
    params, cost, inputs = network(me)  # other values on each rank
    updates = distributed.sharded_updates(params, grad(cost, params), momentum, comm)
    velocity = updates[0][0]
    assert len(velocity.get_value()) == -(-63 // n)
    step = function(inputs, cost, updates=updates)
    whole, cost, inputs = network(0)
    moved = []
    for param, slope in zip(whole, grad(cost, whole), strict=True):
        zeros = shared(np.zeros_like(param.get_value()))
        following = 0.9 * zeros - 0.2 * slope
        moved += [(param, param + following), (zeros, following)]
    alone = function(inputs, cost, updates=moved)
    for _ in range(5):
        step(images[share], labels[share])
        alone(images, labels)
    for param, wanted in zip(params, whole, strict=True):
        close(param.get_value(), wanted.get_value(), 1e-4)


def normalised(comm):
    """Statistics over all ranks' rows, whose axes of length 1 broadcast."""
    x = T.fmatrix("x")
    every = [of_rank(rank, 5, 3) for rank in range(comm.size)]
    mean = distributed.all_reduce(x.mean(axis=0, keepdims=True), comm, "mean")
    square = distributed.all_reduce(
        T.sqr(x - mean).mean(axis=0, keepdims=True), comm, "mean"
    )
    rows = distributed.all_gather(mean, comm, 0)
    assert mean.broadcastable == (True, False)
    assert rows.broadcastable == (False, False)
    scaled = (x - mean) / T.sqrt(square)
    found, slope = function([x], [scaled, grad((scaled**3).sum(), x)])(every[comm.rank])
    whole = T.fmatrix("whole")
    centred = whole - whole.mean(axis=0, keepdims=True)
    alone = centred / T.sqrt(T.sqr(centred).mean(axis=0, keepdims=True))
    wanted = function([whole], [alone, grad((alone**3).sum(), whole)])(
        np.concatenate(every)
    )
    for part, of_all in zip((found, slope), wanted, strict=True):
        close(part, np.split(of_all, comm.size)[comm.rank], 1e-3)


def gradients_of_a_list(comm):
    """A list of gradients is averaged as it is."""
    params, cost, inputs = network(0)
    slopes = grad(cost, params)
    means = distributed.data_parallel(slopes, comm)
    images, labels = of_rank(comm.rank, 6, 5), np.arange(6) % 3
    own = function(inputs, slopes)
    every = [own(of_rank(rank, 6, 5), labels) for rank in range(comm.size)]
    found = function(inputs, means)(images, labels)
    for i, mean in enumerate(found):
        close(mean, sum(each[i] for each in every) / comm.size)


def loops(comm):
    """A collective in each iteration."""
    x = T.fvector("x")
    rows, _ = scan(
        lambda v: distributed.all_reduce(v, comm, "mean") * 2, outputs_info=x, n_steps=3
    )
    every = [of_rank(rank, 4) for rank in range(comm.size)]
    close(function([x], rows[-1])(every[comm.rank]), 8 * sum(every) / comm.size)


def pipeline(comm):
    """Each rank has a layer; its gradients come back by messages the other way."""
    n, me = comm.size, comm.rank
    x = T.fmatrix("x")
    ws = [shared(of_rank(rank, 3, 3, seed=4)) for rank in range(n)]
    h = x if me == 0 else distributed.recv(x, comm, me - 1)
    y = T.tanh(T.dot(h, ws[me]))
    cost = distributed.send(y, comm, me + 1) if me < n - 1 else (y**2).sum()
    f = function([x], [cost, *grad(cost, [ws[me], x])])
    whole = x
    for w in ws:
        whole = T.tanh(T.dot(whole, w))
    total = (whole**2).sum()
    slopes = function([x], [total, *grad(total, [x, *ws])])
    given = of_rank(9, 4, 3)
    for turn in (1, 2):
        found = f(given * turn)
        wanted = slopes(given * turn)
        close(found[0], wanted[0] if me == n - 1 else 0)
        close(found[1], wanted[2 + me])
        close(found[2], wanted[1] if me == 0 else np.zeros((4, 3)))


def there_and_back(comm):
    """Two messages, and two of gradients in the reverse order; and some in a loop.

    Who computes the gradient of a message only has the message sent.
    """
    x, z, rows = T.fvector("x"), T.fvector("z"), T.fmatrix("rows")
    given, weights = of_rank(0, 4), of_rank(1, 4)
    if comm.rank == 0:
        token = distributed.send(x, comm, 1)
        back = distributed.recv(z, comm, 1)
        cost = token + (back * weights).sum()
        value, slope, nothing = function([x, z], [cost, *grad(cost, [x, z])])(
            given, 0 * given
        )
        close(value, (3 * given * weights).sum())
        close(slope, 3 * weights)
        close(nothing, 0 * given)
        sent, _ = scan(lambda row: distributed.send(row, comm, 1), sequences=[rows])
        close(function([rows], sent)(of_rank(5, 3, 4)), np.zeros(3))
    elif comm.rank == 1:
        there = distributed.recv(z, comm, 0)
        cost = distributed.send(3 * there, comm, 0)
        found = function([z], [there, *grad(cost, [z])])(given)
        close(found[0], given)
        close(found[1], 0 * given)
        got, _ = scan(
            lambda like: distributed.recv(like, comm, 0), non_sequences=[z], n_steps=3
        )
        close(function([z], got)(given), of_rank(5, 3, 4))


def draws(comm):
    """Shards of one draw are the draw; streams of other seeds differ."""
    n, me = comm.size, comm.rank
    whole = function([], RandomStreams(7).normal(size=(3 * n + 1, 4)))
    noise = RandomStreams(7).normal(size=(3 * n + 1, 4))
    part = function([], distributed.shard(noise, comm))
    columns = RandomStreams(8).uniform(size=(2, 4 * n))
    across = distributed.all_gather(distributed.shard(columns, comm, -1), comm, 1)
    every = function([], [columns, across])
    for _ in range(2):
        length = 3 * n + 1
        rows = slice(length * me // n, length * (me + 1) // n)
        np.testing.assert_array_equal(part(), whole()[rows])
        drawn, gathered = every()
        np.testing.assert_array_equal(gathered, drawn)
    own = RandomStreams([7, me]).uniform(size=(1, 3))
    rows = np.asarray(function([], distributed.all_gather(own, comm))())
    assert len(np.unique(rows)) == 3 * n


def another_function(comm):
    """Ranks whose functions differ all raise, with the line."""
    x = T.fvector("x")
    kind = "sum" if comm.rank == 0 else "max"
    f = function([x], distributed.all_reduce(x, comm, kind))
    try:
        for _ in range(2000):
            f(np.ones(3, "float32"))
        comm.barrier()
    except DistributedError as error:
        assert "differs among ranks" in str(error), error
    else:
        raise AssertionError("calls that differ were not told")


CASES = {
    case.__name__: case
    for case in (
        results_and_gradients,
        extremes,
        training,
        sharded,
        normalised,
        gradients_of_a_list,
        loops,
        pipeline,
        there_and_back,
        draws,
        another_function,
    )
}


def main():
    """Run the cases on this rank."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--context")
    parser.add_argument("--case", action="append")
    parser.add_argument("--queued", action="store_true", help="by NCCL's stand-in")
    options = parser.parse_args()
    if options.queued:
        queue_calls()
    with (
        processes.init(options.context, timeout=60.0) as comm,
        config.use(floatX="float32", device=comm.context.name),
    ):
        for name in options.case or CASES:
            CASES[name](comm)
            print(f"rank {comm.rank}: {name} is right", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
