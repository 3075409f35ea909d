"""Convolutions of one image by filters of one shape are one convolution."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import Mode, config, function, scan, shared
from gpuarray.compiler.graph.core import Apply, Op
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ifelse import ifelse
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.nnet.conv import (
    AbstractConv,
    AbstractConv_gradInputs,
    AbstractConv_gradWeights,
)
from gpuarray.compiler.rewrites.convolutions import (
    MOST_WEIGHTS,
    join_convolutions,
    join_gradients,
)
from gpuarray.compiler.rewrites.engine.engine import Log
from gpuarray.compiler.tensor.nnet import conv2d, relu
from gpuarray.compiler.tensor.signal.pool import pool_2d
from judge import assert_same

APART = Mode().excluding("join_convolutions", "join_gradients")
x, other = T.ftensor4("x"), T.ftensor4("other")
w, v, u = T.ftensor4("w"), T.ftensor4("v"), T.ftensor4("u")
b, c = T.fvector("b"), T.fvector("c")
mask = T.tensor("float32", (False, True, False, False), "mask")
there, elsewhere = T.ftensor4("there"), T.ftensor4("elsewhere")
there.tag.context_name, elsewhere.tag.context_name = "null", "opencl0:0"
GRADIENT_KINDS = AbstractConv_gradInputs, AbstractConv_gradWeights
INPUTS = [x, other, w, v, u, b, c, mask, there, elsewhere]


def normal(shape, seed):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def conv(image, filters, count, channels=3, rows=2, columns=3, **options):
    """A convolution whose filters have a declared shape."""
    shape = (count, channels, rows, columns)
    return conv2d(image, filters, filter_shape=shape, **options)


def biased(y, bias):
    return relu(y + bias.dimshuffle("x", 0, "x", "x"))


def counts_of(outputs):
    """The convolutions and elementwise nodes of a graph once these are joined."""
    graph = FunctionGraph(INPUTS, outputs)
    before = len(graph.log)
    changed = join_convolutions.run(graph, Log())
    assert changed == (len(graph.log) > before)
    graph.check()
    return count(graph, AbstractConv), count(graph, Elemwise)


def count(graph, kind):
    return sum(isinstance(node.op, kind) for node in graph.apply_nodes)


def test_results_with_biases_are_those_of_a_convolution_each(first_context):
    cost = T.sqr(biased(conv(x, w, 4), b)).sum() + T.exp(conv(x, v, 5)).mean()
    outputs = [cost, *T.grad(cost, [x, w, v, b]), T.tanh(biased(conv(x, w, 4), b))]
    arrays = [
        normal(shape, seed)
        for seed, shape in enumerate([(2, 3, 5, 6), (4, 3, 2, 3), (5, 3, 2, 3), (4,)])
    ]
    with config.use(device=str(first_context.name)):
        together = function([x, w, v, b], outputs)
        apart = function([x, w, v, b], outputs, mode=APART)
    for _ in range(2):
        for found, wanted in zip(together(*arrays), apart(*arrays), strict=True):
            assert_same(np.asarray(found), np.asarray(wanted), 1e-5)
        arrays[0] = normal((3, 3, 4, 7), 9)[::-1]


def test_the_plan_has_one_convolution_and_one_epilogue(first_context):
    sums = [
        pool_2d(biased(conv(x, filters, count), bias), (2, 2), mode="sum").sum()
        for filters, count, bias in ((w, 4, b), (v, 5, c))
    ]
    with config.use(device=str(first_context.name)):
        f = function([x, w, v, b, c], sums)
    lines = str(f.plan).splitlines()
    steps = [line.partition("<- ")[2].partition("(")[0] for line in lines]
    assert [steps.count(step) for step in ("conv", "join", "add+relu")] == [1, 2, 1]
    parts = [line for line in lines if "<- subtensor(" in line]
    assert [line.rpartition("[")[2].count(":") for line in parts] == [2, 2]
    assert steps.index("add+relu") < steps.index("subtensor") < steps.index("pool")


def test_gates_of_a_loop_are_joined_in_its_body(first_context):
    weights = [shared(normal((2, 2, 3, 3), seed)) for seed in range(4)]

    def step(row, state, *filters):
        gates = [
            conv(image, each, 2, 2, 3, 3, border_mode="half")
            for image, each in zip((row, row, state, state), filters, strict=True)
        ]
        return T.tanh(gates[0] + gates[2]) * T.nnet.sigmoid(gates[1] + gates[3])

    rows = T.tensor("float32", (False,) * 5, "rows")
    states, _ = scan(step, rows, outputs_info=x, non_sequences=weights)
    outputs = [states[-1], *T.grad(T.sqr(states[-1]).sum(), weights)]
    arrays = normal((3, 1, 2, 4, 5), 5), normal((1, 2, 4, 5), 6)
    with config.use(device=str(first_context.name)):
        together = function([rows, x], outputs)
        apart = function([rows, x], outputs, mode=APART)
    assert str(together.plan).count(" conv(") < str(apart.plan).count(" conv(")
    for found, wanted in zip(together(*arrays), apart(*arrays), strict=True):
        assert_same(np.asarray(found), np.asarray(wanted), 1e-5)


def test_filters_known_to_the_graph_are_joined_once():
    filters = [T.constant(normal((n, 3, 2, 3), n)) for n in (4, 5)]
    y, z = (conv2d(x, each) for each in filters)
    graph = FunctionGraph([x], [y.sum() + z.sum()])
    assert join_convolutions.run(graph, Log())
    (node,) = [n for n in graph.apply_nodes if isinstance(n.op, AbstractConv)]
    assert_same(node.inputs[1].data, np.concatenate([each.data for each in filters]))
    assert node.op.kshp == (9, 3, 2, 3)


def flipped(y):
    """Of a result, what is no elementwise operation."""
    return y[:, :, ::-1].sum()


JOINED = {
    "alike": [flipped(conv(x, w, 4)) + flipped(conv(x, v, 5))],
    "with a padding": [
        flipped(conv(x, w, 4, border_mode=1)) + flipped(conv(x, v, 5, border_mode=1))
    ],
    "read by a sum of both": [(conv(x, w, 4) + conv(x, v, 4)).sum()],
    "read differently": [conv(x, w, 4).sum() + T.exp(conv(x, v, 5)).max()],
    "an operand of all": [
        T.exp(conv(x, w, 4) * other[:, :1].mean(1, keepdims=True)).max()
        + T.exp(conv(x, v, 5) * other[:, :1].mean(1, keepdims=True)).max()
    ],
    "biases of which one is made of the other": [
        biased(conv(x, v, 4), biased(conv(x, w, 4), b).mean((0, 2, 3))).max()
    ],
    "the result is returned of one and read of the other two": [
        conv(x, w, 4),
        conv(x, v, 5).max() + conv(x, u, 6).max(),
    ],
}
"""Outputs, whose convolutions are one less after it."""


class Overwrite(Op):
    """An array, overwritten."""

    __props__ = ()
    destroy_map = {0: [0]}  # noqa: RUF012

    def make_node(self, array):
        return Apply(self, [array], [array.type()])


y = conv(x, w, 4)
z = conv(x, v, 5)
APARTS = {
    "another stride": [y.sum() + conv(x, v, 4, subsample=(1, 2)).sum()],
    "another dilation": [y.sum() + conv(x, v, 4, filter_dilation=(1, 2)).sum()],
    "another padding": [y.sum() + conv(x, v, 4, border_mode=1).sum()],
    "filters turned around": [y.sum() + conv(x, v, 4, filter_flip=False).sum()],
    "groups": [
        conv(x, w, 4, 1, num_groups=3).sum() + conv(x, v, 5, 1, num_groups=3).sum()
    ],
    "unshared filters": [
        sum(conv2d(x, T.zeros((n, 4, 4, 3, 2, 3)), unshared=True).sum() for n in (4, 5))
    ],
    "filters of another length": [y.sum() + conv(x, v, 4, columns=2).sum()],
    "filters of unknown lengths": [y.sum() + conv2d(x, v).sum()],
    "another image": [y.sum() + conv(other, v, 4).sum()],
    "another dtype": [y.sum() + conv(T.cast(x, "float64"), v, 4).sum()],
    "filters made of the other's result": [conv(x, v * y.max(), 4).sum()],
    "filters that overwrite the other's": [y.sum() + conv(x, Overwrite()(w), 4).sum()],
    "another context": [
        flipped(conv(x, w, 4)),
        flipped(conv(x, v.transfer("null"), 5)),
    ],
    "filters of another context": [
        flipped(conv(there, w, 4)),
        flipped(conv(there, elsewhere, 5)),
    ],
    "results of the function": [y, conv(x, v, 5)],
    "one branch each": [ifelse(b.sum() > 0, y.sum(), T.exp(conv(x, v, 5)).sum())],
    "a branch only": [y.sum() + ifelse(b.sum() > 0, conv(x, v, 5).sum(), c.sum())],
    "many weights": [
        conv(x, w, 4).sum() + conv(x, v, MOST_WEIGHTS // 18 + 1).sum(),
    ],
    "one filter, which broadcasts": [
        y.sum() + conv2d(x, T.constant(normal((1, 3, 2, 3), 0))).sum()
    ],
}


@pytest.mark.parametrize("name", JOINED)
def test_convolutions_are_joined(name):
    outputs = JOINED[name]
    before = count(FunctionGraph(INPUTS, outputs), AbstractConv)
    assert counts_of(outputs)[0] == before - 1


@pytest.mark.parametrize("name", APARTS)
def test_convolutions_stay_apart(name):
    outputs = APARTS[name]
    before = count(FunctionGraph(INPUTS, outputs), AbstractConv)
    assert before == counts_of(outputs)[0] == 2


def gradients(*results, by=(x, w, v)):
    """What reads the gradients of a cost by the image and the filters, each alone."""
    cost = sum(flipped(T.exp(result)) for result in results)
    return [T.sqr(each).sum() for each in T.grad(cost, list(by))]


GRADIENTS = {
    "of two": (gradients(conv(x, w, 4), conv(x, v, 5)), 1, 1),
    "of three": (
        gradients(conv(x, w, 4), conv(x, v, 5), conv(x, u, 6), by=(x, w, v, u)),
        1,
        1,
    ),
    "with a padding": (
        gradients(conv(x, w, 4, border_mode=1), conv(x, v, 5, border_mode=1)),
        1,
        1,
    ),
    "beside another reader": (
        gradients(conv(x, w, 4), conv(x, v, 5), x[:, :, 2:]),
        1,
        1,
    ),
    "of two strides": (
        gradients(conv(x, w, 4), conv(x, v, 5, subsample=(1, 2))),
        2,
        2,
    ),
    "of two images": (
        gradients(conv(x, w, 4), conv(other, v, 5), by=(x, other, w, v)),
        2,
        2,
    ),
    "of filters of unknown lengths": (gradients(conv2d(x, w), conv2d(x, v)), 2, 2),
    "of many weights": (
        gradients(conv(x, w, 4), conv(x, v, MOST_WEIGHTS // 18 + 1)),
        2,
        2,
    ),
    "that the function returns": (T.grad(flipped(y) + flipped(z), [w, v]), 0, 2),
    "of which one needs the other": (
        gradients(conv(x, w, 4), conv(conv(x, w, 4)[:, :3], v, 5)),
        2,
        2,
    ),
}
"""Outputs, and their gradients by the image and by filters once they are joined."""


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_one_image_are_joined(name):
    outputs, by_image, by_filters = GRADIENTS[name]
    graph = FunctionGraph(INPUTS, outputs)
    before = [count(graph, kind) for kind in GRADIENT_KINDS]
    changed = join_gradients.run(graph, Log())
    graph.check()
    found = [count(graph, kind) for kind in GRADIENT_KINDS]
    assert found == [by_image, by_filters]
    assert changed == (found != before)


def test_joined_gradients_are_those_of_each(first_context):
    weights = [shared(normal((n, 3, 2, 3), n)) for n in (4, 5)]
    below = T.tanh(x)
    first, second = (
        conv(below, each, n) for each, n in zip(weights, (4, 5), strict=True)
    )
    cost = T.sqr(first).sum() + T.exp(second).mean()
    by_image, *by_filters = T.grad(cost, [x, *weights])
    updates = [(each, each - by) for each, by in zip(weights, by_filters, strict=True)]
    start = [each.get_value() for each in weights]
    found = []
    for mode in (None, APART):
        with config.use(device=str(first_context.name)):
            f = function([x], by_image, updates=updates, mode=mode)
        for each, value in zip(weights, start, strict=True):
            each.set_value(value)
        image = np.asarray(f(normal((2, 3, 5, 6), 0)))
        found.append([image, *(np.asarray(each.get_value()) for each in weights)])
        lines = str(f.plan)
        wanted = 1 if mode is None else 2
        assert lines.count(" conv_grad_filters(") == wanted
        assert lines.count(" conv_grad_image(") == wanted
    for one, other_one in zip(*found, strict=True):
        assert_same(one, other_one, 1e-5)


bias, more = (each.dimshuffle("x", 0, "x", "x") for each in (b, c))
READERS = {
    "a bias each": ([y + bias, z + more], 1),
    "a mask for both": ([y * mask, z * mask], 1),
    "one number": ([y * 2, z * 2], 1),
    "two numbers": ([y * 2, z * 3], 0),
    "two operations": ([y + bias, z * more], 0),
    "biases of two dtypes": ([y + bias, z + T.cast(more, "float16")], 0),
    "an array each": ([y + other[:, :4], conv(x, v, 4) + other[:, 4:]], 0),
    "at two places": ([y - bias, more - z], 0),
    "a square": ([y * y, z * z], 0),
    "one is read twice": ([T.exp(y), T.exp(z), y], 0),
    "one reader for both": ([y * conv(x, v, 4)], 0),
    "one needs the other": (
        [conv(x, v, 4) + (y + bias).max((0, 2, 3), keepdims=True)],
        0,
    ),
}
"""Results, and the elementwise nodes that are saved."""


@pytest.mark.parametrize("name", READERS)
def test_readers_are_joined_if_they_are_alike(name):
    results, saved = READERS[name]
    graph = FunctionGraph(INPUTS, [result[:, :, ::-1] for result in results])
    before = count(graph, Elemwise)
    assert join_convolutions.run(graph, Log())
    graph.check()
    assert count(graph, AbstractConv) == 1
    assert count(graph, Elemwise) == before - saved


def test_readers_that_are_returned_stay_apart():
    graph = FunctionGraph([x, w, v, b, c], [y + bias, z + more])
    assert join_convolutions.run(graph, Log())
    assert (count(graph, AbstractConv), count(graph, Elemwise)) == (1, 2)
