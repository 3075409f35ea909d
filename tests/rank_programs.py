"""Whole programs of several ranks, as users write them: a program for each rank.

A launcher starts it, as tests/ranks.py. Each compares with what one process computes
from all ranks' data; those of ``FAILING`` end on every rank with one error.
"""

import argparse
import os
import signal
import sys
import threading
import time

import gpuarray
import numpy as np
from gpuarray import distributed as processes
from gpuarray.compiler import (
    config,
    distributed,
    function,
    grad,
    shared,
    tensor as T,
)
from gpuarray.errors import DistributedError

FEATURES, HIDDEN, CLASSES = 12, 16, 4


def drawn(rows, seed=0):
    """Rows, and labels that a linear map gives."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, FEATURES)).astype("float32")
    return x, (x @ rng.normal(size=(FEATURES, CLASSES))).argmax(1)


def share(comm, array):
    return np.array_split(array, comm.size)[comm.rank]


def perceptron(seed):
    """Inputs, parameters and cost of a network of two layers."""
    rng = np.random.default_rng(seed)
    shapes = (FEATURES, HIDDEN), (HIDDEN,), (HIDDEN, CLASSES), (CLASSES,)
    params = [shared((rng.normal(size=s) / 4).astype("float32")) for s in shapes]
    x, y = T.fmatrix("x"), T.lvector("y")
    hidden = T.tanh(T.dot(x, params[0]) + params[1])
    scores = T.nnet.softmax(T.dot(hidden, params[2]) + params[3])
    return [x, y], params, T.nnet.categorical_crossentropy(scores, y).mean()


def descent(params, slopes, rate=0.3):
    return [(p, p - np.float32(rate) * g) for p, g in zip(params, slopes, strict=True)]


def close(found, wanted, tolerance=1e-3):
    np.testing.assert_allclose(
        np.asarray(found), np.asarray(wanted), rtol=tolerance, atol=tolerance
    )


def same_values(params, wanted, tolerance=1e-3):
    for param, one in zip(params, wanted, strict=True):
        close(param.get_value(), one.get_value(), tolerance)


# ---- training ----


def normalised_convnet(comm):
    """Batch norm by the statistics of all ranks' images is that of the whole batch."""
    rng = np.random.default_rng(3)
    images = rng.normal(size=(6 * comm.size, 1, 8, 8)).astype("float32")
    labels = rng.integers(0, 3, len(images))

    def built(over_ranks):
        rng = np.random.default_rng(7)
        shapes = (4, 1, 3, 3), (1, 4, 1, 1), (36, 3)
        params = [shared((rng.normal(size=s) / 4).astype("float32")) for s in shapes]
        x, y = T.ftensor4("x"), T.lvector("y")
        maps = T.nnet.conv2d(x, params[0])
        moments = [T.mean(m, (0, 2, 3), keepdims=True) for m in (maps, maps**2)]
        if over_ranks:
            moments = [distributed.all_reduce(m, comm, "mean") for m in moments]
        scale = T.patternbroadcast(params[1], (True, False, True, True))
        variance = moments[1] - moments[0] ** 2 + np.float32(1e-5)
        top = T.nnet.relu((maps - moments[0]) / T.sqrt(variance) * scale)
        top = T.signal.pool.pool_2d(top, (2, 2), ignore_border=True).flatten(2)
        scores = T.nnet.softmax(T.dot(top, params[2]))
        return [x, y], params, T.nnet.categorical_crossentropy(scores, y).mean()

    inputs, params, cost = built(True)
    slopes = distributed.data_parallel(grad(cost, params), comm)
    mean = distributed.all_reduce(cost, comm, "mean", replicated=True)
    step = function(inputs, mean, updates=descent(params, slopes))
    inputs, whole, cost = built(False)
    alone = function(inputs, cost, updates=descent(whole, grad(cost, whole)))
    for _ in range(3):
        close(step(share(comm, images), share(comm, labels)), alone(images, labels))
    same_values(params, whole, 5e-3)


def accumulated_gradients(comm):
    """Gradients of some parts of a batch are added, then averaged over ranks once."""
    parts, rows = 3, 8
    x, y = drawn(parts * rows * comm.size)
    inputs, params, cost = perceptron(1)
    sums = [shared(np.zeros_like(p.get_value())) for p in params]
    adds = [(s, s + g) for s, g in zip(sums, grad(cost, params), strict=True)]
    add = function(inputs, cost, updates=adds)
    means = distributed.data_parallel([s / np.float32(parts) for s in sums], comm)
    cleared = [(s, T.zeros_like(s)) for s in sums]
    move = function([], [], updates=[*descent(params, means), *cleared])
    inputs, whole, cost = perceptron(1)
    alone = function(inputs, cost, updates=descent(whole, grad(cost, whole)))
    mine = share(comm, x), share(comm, y)
    for _ in range(3):
        for part in range(parts):
            add(*(array[rows * part : rows * part + rows] for array in mine))
        move()
        alone(x, y)
    same_values(params, whole)


def divided_layers(comm):
    """A layer's columns, and the next one's rows, are on different ranks."""
    n, me = comm.size, comm.rank
    rng = np.random.default_rng(2)
    layers = [rng.normal(size=s).astype("float32") for s in ((6, 4 * n), (4 * n, 3))]
    data = [rng.normal(size=(10, k)).astype("float32") for k in (6, 3)]
    x, y = T.fmatrix("x"), T.fmatrix("y")

    def trained(values, fold):
        params = [shared(value) for value in values]
        out = fold(T.dot(T.tanh(T.dot(x, params[0])), params[1]))
        cost = T.sqr(out - y).mean()
        updates = descent(params, grad(cost, params), 0.02)
        return params, function([x, y], cost, updates=updates)

    own = np.split(layers[0], n, 1)[me], np.split(layers[1], n, 0)[me]
    params, step = trained(
        own, lambda part: distributed.all_reduce(part, comm, replicated=True)
    )
    whole, alone = trained(layers, lambda part: part)
    for _ in range(3):
        close(step(*data), alone(*data))
    for axis, param, of_all in zip((1, 0), params, whole, strict=True):
        close(param.get_value(), np.split(of_all.get_value(), n, axis)[me])


def parameter_server(comm):
    """Rank 0 has the parameters; the others take them, and send gradients back."""
    n, rng = comm.size, np.random.default_rng(0)
    a, b = rng.normal(size=(40, 5)), rng.normal(size=40)
    rows = np.array_split(np.arange(40), n - 1)[comm.rank - 1]
    mine = [gpuarray.asarray(v[rows], context=comm.context) for v in (a, b)]
    params, wanted = gpuarray.zeros(5, "float64", comm.context), np.zeros(5)
    for _ in range(10):
        if comm.rank == 0:
            for rank in range(1, n):
                comm.send(params, rank)
            for rank in range(1, n):
                params = params - 0.01 * comm.recv(rank)
        else:
            params = comm.recv(0)
            comm.send(mine[0].T @ (mine[0] @ params - mine[1]), 0)
        before, wanted = wanted, wanted - 0.01 * a.T @ (a @ wanted - b)
    close(params, before if comm.rank else wanted, 1e-9)


# ---- arrays ----


def transposition(comm):
    """Blocks change their ranks, eager and in a function."""
    n, me, k = comm.size, comm.rank, 3
    whole = np.arange((n * k) ** 2, dtype="float64").reshape(n * k, n * k)
    rows, wanted = np.split(whole, n)[me], np.split(whole.T, n)[me]
    blocks = gpuarray.asarray(rows, context=comm.context).reshape(k, n, k)
    found = comm.all_to_all(blocks.transpose(1, 2, 0))
    close(found.transpose(1, 0, 2).reshape(k, n * k), wanted, 0)
    x = T.dmatrix("x")
    sent = x.reshape((k, n, k)).dimshuffle(1, 2, 0)
    there = distributed.all_to_all(sent, comm).dimshuffle(1, 0, 2)
    close(function([x], there.reshape((k, n * k)))(rows), wanted, 0)


def clusters(comm):
    """k-means of points on all ranks."""
    rng = np.random.default_rng(4)
    points = np.concatenate([rng.normal(3 * i, 0.3, (30, 2)) for i in range(3)])
    rng.shuffle(points)
    x = gpuarray.asarray(share(comm, points), context=comm.context)
    found, wanted = gpuarray.asarray(points[:3], context=comm.context), points[:3]
    numbers = gpuarray.arange(3, context=comm.context)
    for _ in range(5):
        nearest = ((x[:, None] - found[None]) ** 2).sum(axis=2).argmin(axis=1)
        members = (nearest[:, None] == numbers[None]).astype("float64")
        counts = comm.all_reduce(members.sum(axis=0))
        found = comm.all_reduce(members.T @ x) / counts[:, None]
        of_host = ((points[:, None] - wanted[None]) ** 2).sum(2).argmin(1)
        wanted = np.stack([points[of_host == i].mean(0) for i in range(3)])
    close(found, wanted, 1e-9)


def ring(comm):
    """Values go around; even ranks send first."""
    n, me = comm.size, comm.rank
    value = gpuarray.asarray([float(me)], context=comm.context)
    total = value
    for _ in range(n - 1):
        if me % 2 == 0:
            comm.send(value, (me + 1) % n)
        following = comm.recv((me - 1) % n)
        if me % 2:
            comm.send(value, (me + 1) % n)
        value, total = following, total + following
    close(total, [n * (n - 1) / 2])


def grid(comm):
    """A product by blocks on a grid of ranks, by communicators of rows and columns."""
    columns = 2 if comm.size % 2 == 0 else 1
    rows = comm.size // columns
    i, j = divmod(comm.rank, columns)
    of_row, of_column = comm.split(i, j), comm.split(j, i)
    rng = np.random.default_rng(1)
    length = 4 * comm.size
    a, b = (rng.normal(size=(length, length)) for _ in range(2))

    def block(whole):
        return np.split(np.split(whole, rows)[i], columns, 1)[j]

    mine = [gpuarray.asarray(block(m), context=comm.context) for m in (a, b)]
    found = of_row.all_gather(mine[0], 1) @ of_column.all_gather(mine[1], 0)
    close(found, block(a @ b), 1e-9)
    of_column.close()
    of_row.close()


# ---- programs that fail ----


def raises(pattern, call):
    try:
        call()
    except DistributedError as error:
        assert pattern in str(error), error
    else:
        raise AssertionError(f"nothing was raised: {pattern}")


def one_batch_fewer(comm):
    """Ranks have unequal numbers of batches; one with fewer leaves."""
    x, y = drawn(8 * (2 * comm.size - 1))
    inputs, params, cost = perceptron(1)
    slopes = distributed.data_parallel(grad(cost, params), comm)
    step = function(inputs, cost, updates=descent(params, slopes))
    last = comm.rank == comm.size - 1

    def all_batches():
        for start in range(16 * comm.rank, len(x), 8)[: 1 if last else 2]:
            step(x[start : start + 8], y[start : start + 8])
        comm.barrier()

    if last:
        step(x[-8:], y[-8:])
        comm.close()
    else:
        raises("has left", all_batches)


def another_order(comm):
    """A rank whose parameters are in another order is told before any step."""
    _, params, cost = perceptron(1)
    params = params[::-1] if comm.rank == 1 else params

    def momentum(p, g, state):
        velocity = state("velocity")
        return p + velocity, [(velocity, 0.9 * velocity - g)]

    slopes = grad(cost, params)
    raises(
        "called sharded_updates(float32: ",
        lambda: distributed.sharded_updates(params, slopes, momentum, comm),
    )


def interrupted(comm, call):
    """Ctrl-C in rank 1, while it waits for rank 0; the others are told."""

    def waits():
        call()
        comm.barrier()  # on CUDA a call only queues

    waits()
    if comm.rank == 1:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        waits()
        raise AssertionError("rank 1 was not interrupted")
    if comm.rank == 0:
        time.sleep(1)
    raises("with KeyboardInterrupt", waits)


def interrupted_call(comm):
    """Ctrl-C in a rank that waits in a collective."""
    x = gpuarray.ones(3, "float32", comm.context)
    interrupted(comm, lambda: comm.all_reduce(x))


def interrupted_function(comm):
    """Ctrl-C in a rank whose function waits in a collective."""
    x = T.fvector("x")
    f = function([x], distributed.all_reduce(x, comm))
    interrupted(comm, lambda: f(np.ones(3, "float32")))


PROGRAMS = (
    normalised_convnet,
    accumulated_gradients,
    divided_layers,
    parameter_server,
    transposition,
    clusters,
    ring,
    grid,
)
FAILING = one_batch_fewer, another_order, interrupted_call, interrupted_function


def main():
    """Run the programs on this rank, each failing one in a group of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--context")
    parser.add_argument("--case", action="append")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for program in (*PROGRAMS, *FAILING):
        if program.__name__ not in (options.case or [program.__name__]):
            continue
        try:
            with processes.init(options.context, timeout=60.0) as comm:
                rank = comm.rank
                with config.use(floatX="float32", device=comm.context.name):
                    program(comm)
        except KeyboardInterrupt:
            assert program in FAILING and rank == 1
        print(f"rank {rank}: {program.__name__} is right", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
