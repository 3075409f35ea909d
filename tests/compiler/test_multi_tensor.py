"""Results of several shapes in one launch: the new values of many parameters."""

import pickle
from types import SimpleNamespace

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, rewrites, shared
from gpuarray.compiler.gpukernels.multi_tensor import lowering as multi_tensor
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.elemwise.elemwise import Composite, CompositeStep
from gpuarray.compiler.ops.fused.multi_tensor import MultiTensor, Part
from gpuarray.compiler.ops.linalg.linalg import Gemm, Gemv
from gpuarray.compiler.ops.linalg.products import BatchedGemm
from gpuarray.compiler.rewrites.fusion import together
from gpuarray.compiler.rewrites.fusion.together import opened
from run_graph import run_graph

SHAPES = [(7, 5), (5,), (2, 3, 4), (1,), (0,), (1100,)]


def adam(shapes, dtype="float32"):
    """A function of the slopes, and the shared values that it changes."""
    rng = np.random.default_rng(0)
    start = [rng.normal(size=shape).astype(dtype) for shape in shapes]
    values = [[shared(each * scale) for each in start] for scale in (1, 0, 0)]
    count = shared(np.asarray(0, dtype))
    slopes = [TensorType(dtype, (False,) * len(shape))() for shape in shapes]
    half, most, little, one = (np.asarray(x, dtype) for x in (0.5, 0.9, 0.1, 1))
    after = count + one
    rate = little * T.sqrt(one - most**after) / (one - half**after)
    updates = [(count, after)]
    for w, m, v, g in zip(*values, slopes, strict=True):
        first, second = half * m + half * g, most * v + little * T.sqr(g)
        step = rate * first / (T.sqrt(second) + np.asarray(1e-3, dtype))
        updates += [(m, first), (v, second), (w, w - step)]
    return function(slopes, [], updates=updates), start, values[0]


def numpy_adam(start, slopes, steps):
    found = []
    for w, g in zip(start, slopes, strict=True):
        w, g = w.astype("float64"), g.astype("float64")
        m, v = np.zeros_like(w), np.zeros_like(w)
        for t in range(1, steps + 1):
            m, v = 0.5 * m + 0.5 * g, 0.9 * v + 0.1 * g * g
            w = w - 0.1 * np.sqrt(1 - 0.9**t) / (1 - 0.5**t) * m / (np.sqrt(v) + 1e-3)
        found.append(w)
    return found


def run_adam(shapes, dtype, context, tolerance, steps=3):
    with config.use(device=str(context.name), floatX=dtype):
        f, start, values = adam(shapes, dtype)
        assert f.plan.launches() == 1
        rng = np.random.default_rng(1)
        slopes = [rng.normal(size=shape).astype(dtype) for shape in shapes]
        for _ in range(steps):
            f(*slopes)
        for value, wanted in zip(values, numpy_adam(start, slopes, steps), strict=True):
            np.testing.assert_allclose(
                value.get_value().astype("float64"),
                wanted,
                rtol=tolerance,
                atol=tolerance,
            )


def test_all_parameters_are_updated_in_one_launch(context):
    run_adam(SHAPES, "float32", context, 1e-5)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float16", 2e-2), ("float64", 1e-12)]
)
def test_parameters_of_other_dtypes(dtype, tolerance, first_context):
    run_adam(SHAPES[:3], dtype, first_context, tolerance)


def test_a_gpu_updates_them_in_one_launch(as_gpu):
    run_adam(SHAPES, "float32", as_gpu, 1e-5)


def test_large_parameters_have_launches_of_their_own(first_context, monkeypatch):
    monkeypatch.setattr(multi_tensor, "LARGE", 20)
    monkeypatch.setattr(multi_tensor, "LARGE_CPU", 20)
    run_adam(SHAPES, "float32", first_context, 1e-5)


def test_any_layout_and_integers_of_the_host(first_context):
    x, y = T.fmatrix("x"), T.fvector("y")
    with gpuarray.context(first_context), config.use(device=str(first_context.name)):
        f = function(
            [x, y], [x * x.shape[0] + 1, T.exp(y) > 2, y.shape[0] - T.sqr(x.T)]
        )
        assert f.plan.launches() <= 2
        values = np.arange(24, dtype="float32").reshape(4, 6)
        given = gpuarray.asarray(values)
        for view in (
            lambda a: a,
            lambda a: a.T,
            lambda a: a[::2, ::-1],
            lambda a: a[:0],
        ):
            here, there = view(values), view(given)
            first, second, third = map(np.asarray, f(there, given[0, :3] / 4))
            np.testing.assert_allclose(first, here * here.shape[0] + 1)
            np.testing.assert_array_equal(second, np.exp(values[0, :3] / 4) > 2)
            np.testing.assert_allclose(third, 3 - here.T**2)


def test_parts_that_begin_elsewhere_share_a_binding(context):
    x, y, i = T.fmatrix("x"), T.fvector("y"), T.lscalar("i")
    with config.use(device=str(context.name)):
        f = function([x, y, i], [T.exp(x[i]), T.tanh(y[i : i + 8])])
    assert f.plan.launches() == 1
    rows = np.random.default_rng(0).normal(size=(9, 12)).astype("float32")
    for i in (0, 4, 8, 4):
        first, second = f(rows, rows.ravel(), i)
        np.testing.assert_allclose(first, np.exp(rows[i]), rtol=1e-5)
        wanted = np.tanh(rows.ravel()[i : i + 8])
        np.testing.assert_allclose(second, wanted, rtol=1e-5)
        assert f.info()["n_binds"] == 1


def test_a_call_compiles_nothing(context, monkeypatch):
    def made():
        info = context.cache_info()
        return info.compiled + info.disk_hits

    x, y = T.fmatrix("x"), T.fvector("y")
    before = made()
    with config.use(device=str(context.name)):
        f = function([x, y], [x * np.float32(2.3456), T.exp(y)])
    assert f.plan.launches() == 1
    prepared = made()
    assert prepared > before
    for n in (1, 7, 1000):
        f(np.ones((2, n), "float32"), np.ones(n, "float32"))
    assert made() == prepared
    # What is large has kernels of its own; the rest goes on with the one it has.
    monkeypatch.setattr(multi_tensor, "LARGE", 5000)
    monkeypatch.setattr(multi_tensor, "LARGE_CPU", 5000)
    f(np.ones((2, 4000), "float32"), np.ones(4000, "float32"))
    alone = made()
    for n, m in ((3000, 6000), (2, 3), (6000, 6000)):
        whole, exp = f(np.ones((n, 2), "float32"), np.zeros(m, "float32"))
        np.testing.assert_array_equal(whole, np.full((n, 2), np.float32(2.3456)))
        np.testing.assert_array_equal(exp, np.ones(m))
    assert made() <= alone + 2  # those of the other part alone


def test_many_parameters_take_few_launches():
    with config.use(device="null"):
        f, _, _ = adam([(n + 1,) for n in range(40)])
    assert f.plan.launches() <= 5


def test_what_another_node_reads_stays_apart():
    x, y = T.fvector("x"), T.fmatrix("y")
    with config.use(device="null"):
        power = T.exp(x)
        plan = function([x, y], [power, T.dot(y, power), T.tanh(y)]).plan
    assert not any(step.label.startswith("2 of") for step in plan.steps)


@pytest.mark.parametrize("moves", [False, True])
def test_results_that_stay_on_the_device_are_computed_with_others(moves, first_context):
    x, y = T.fvector("x"), T.fmatrix("y")
    rng = np.random.default_rng(4)
    given = [rng.normal(size=n).astype("float32") for n in (60, (60, 9))]
    with config.use(device=str(first_context.name)):
        outputs = [T.sqr(x).mean(), y.sum(0) * np.float32(2)]
        f = function([x, y], [o.transfer(None) for o in outputs] if moves else outputs)
        assert f.plan.launches() == 1
        mean, sums = f(*given)
    np.testing.assert_allclose(np.asarray(mean), (given[0] ** 2).mean(), rtol=1e-6)
    np.testing.assert_allclose(np.asarray(sums), 2 * given[1].sum(0), rtol=1e-5)


def test_an_overwritten_number_is_not_read_by_other_parts(context):
    with config.use(device=str(context.name)):
        count, values = shared(np.float32(1)), shared(np.ones(5000, "float32"))
        f = function(
            [], [], updates=[(count, count + np.float32(1)), (values, values * count)]
        )
        for _ in range(4):
            f()
        assert count.get_value() == 5
        np.testing.assert_array_equal(values.get_value(), 24)


def test_shapes_that_differ_are_told(first_context):
    x, y, z = T.fvectors("x", "y", "z")
    with config.use(device=str(first_context.name)):
        f = function([x, y, z], [x + y, T.exp(z)])
        # What comes from a pickle has no graph from before rewriting.
        for each, text in (
            (f, "do not broadcast"),
            (pickle.loads(pickle.dumps(f)), "mis-match"),
        ):
            with pytest.raises(ValueError, match=text):
                each(*(np.zeros(n, "float32") for n in (3, 4, 5)))


def test_the_parts_by_reference():
    add = Composite(
        ("float64", "float64"), (CompositeStep("add", (0, 1), "float64"),), (2,)
    )
    op = MultiTensor([Part(add, (False, True)), Part(add, (False, False))], {1: 2})
    x, y = T.dvectors("x", "y")
    one = TensorType("float64", (True,))("one")
    first, second = op(x, one, y, y)
    graph = FunctionGraph([x, y, one], [first, second])
    given = {x: [1.0, 2], y: [3.0, 4, 5], one: [10.0]}
    results = run_graph(graph, dict(zip(graph.inputs, given.values(), strict=True)))
    assert [each.tolist() for each in results] == [[11, 12], [6, 8, 10]]
    assert [op.may_overwrite(0, 1), op.may_overwrite(0, 2), op.may_overwrite(1, 3)] == [
        False,
        False,
        True,
    ]


def test_a_launch_has_as_many_arguments_as_a_kernel_may_have(context):
    with config.use(device=context.name, floatX="float64"):
        given = T.dscalars(12)
        scale = sum(given[1:], given[0])  # which each part computes for itself
        weights = [shared(np.full(3, float(i))) for i in range(16)]
        f = function(given, [], updates=[(w, w * scale) for w in weights])
    f(*np.ones(12))
    for i, w in enumerate(weights):
        np.testing.assert_array_equal(w.get_value(), np.full(3, 12.0 * i))


@pytest.mark.parametrize(("most", "parts", "sizes"), [
    (40, 9, [4, 3]), (39, 9, [3, 3]), (30, 9, [3, 3]), (29, 9, [2, 2, 2]),
    (20, 9, [2, 2, 2]), (19, 9, []), (999, 7, [7]), (999, 6, [6]),
    (999, 5, [5, 2]), (999, 1, []),
])  # fmt: skip
def test_bunches_have_as_many_arguments_and_parts_as_they_may(
    monkeypatch, most, parts, sizes
):
    """A part of one array and one result may have ten arguments."""
    monkeypatch.setattr(together, "_MOST_ARGUMENTS", most)
    monkeypatch.setattr(together, "_MOST_PARTS", parts)
    given = [T.fvector() for _ in range(7)]
    graph = FunctionGraph(given, [T.exp(x) for x in given])
    assert [len(each) for each in together.bunches(graph)] == sizes


def test_a_fold_of_one_number_stays_apart():
    """Where rules that drop it are left out."""
    x, a = T.dvector("x"), TensorType("float64", (True, True))("a")
    for fold, value in ((a.sum(0), [3.0]), (T.sqr(a).sum(0), [9.0]), (a.sum(), 3.0)):
        fgraph = FunctionGraph([x, a], [T.exp(x), fold])
        rewrites.optimize(fgraph, ["fuse"])
        assert not any(isinstance(node.op, MultiTensor) for node in fgraph.toposort())
        found = run_graph(fgraph, {x: np.zeros(2), a: np.full((1, 1), 3.0)})
        np.testing.assert_array_equal(found[1], value)


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_a_routine_is_opened_into_the_product_that_it_adds(first, second):
    rng = np.random.default_rng(0)
    for op, ranks in (
        (Gemv(2.0, -0.5, first), (1, 2, 1)),
        (Gemm(2.0, -0.5, first, second), (2, 2, 2)),
        (BatchedGemm(2.0, -0.5, first, second), (3, 3, 3)),
    ):
        inputs = [TensorType("float64", (False,) * rank)() for rank in ranks]
        values = {each: rng.normal(size=(3,) * each.type.ndim) for each in inputs}
        node = op.make_node(*inputs)
        made = FunctionGraph(inputs, [node.out, opened(node).out])
        routine, product = run_graph(made, values)
        np.testing.assert_allclose(product, routine, rtol=1e-12)


ALIKE = {
    "a part": [lambda x, b, f=f: [f(x), b * 2] for f in (T.exp, T.tanh)],
    "a part's constant": [lambda x, b, c=c: [x * c, T.exp(b)] for c in (2.0, 3.0)],
    "a part that reads an integer": [
        lambda x, b: [x * x.shape[0], T.exp(b)],
        lambda x, b: [x * T.cast(b.sum(), "int64"), T.exp(b)],
    ],
    "the order of parts": [lambda x, b: [x + 1, b * 2], lambda x, b: [x * 2, b + 1]],
    "a fold": [lambda x, b, f=f: [b - f(x, axis=0), b * 2] for f in (T.sum, T.prod)],
    "what is folded": [
        lambda x, b, f=f: [b - f(x).sum(0), b * 2] for f in (T.sqr, T.exp)
    ],
    "a constant of what is folded": [
        lambda x, b, c=c: [b - (x * c).sum(0), b * 2] for c in (2.0, 3.0)
    ],
    "the axes that are folded": [
        lambda x, b: [b - x.sum(0), b * 2],
        lambda x, b: [b[0] - x.sum(), b * 2],
    ],
}
"""Two programs each, which differ in that alone."""


@pytest.mark.parametrize("large", [1, 1 << 20], ids=["alone", "together"])
@pytest.mark.parametrize("name", ALIKE)
def test_kernels_of_programs_that_differ_are_two(
    name, large, first_context, monkeypatch
):
    for each in ("LARGE", "LARGE_CPU", "MOST_FOLDED", "MOST_FOLDED_CPU"):
        monkeypatch.setattr(multi_tensor, each, large)
    monkeypatch.setattr(first_context, "_kernels", {})
    x, b = T.dmatrix("x"), T.dvector("b")
    values = np.arange(1.0, 13).reshape(4, 3) / 8, np.arange(1.0, 4)
    for program in ALIKE[name]:
        with config.use(device=str(first_context.name), floatX="float64"):
            outputs = program(x, b)
            f = function([x, b], outputs)
        graph = FunctionGraph([x, b], outputs)
        wanted = run_graph(graph, dict(zip(graph.inputs, values, strict=True)))
        for got, right in zip(f(*values), wanted, strict=True):
            np.testing.assert_allclose(np.asarray(got), right, rtol=1e-12)


def part_of(inputs, is_one, total=None):
    """An operation that adds what it is given, all of float32."""
    steps = [CompositeStep("add", (0, 0), "float32")]
    steps += [
        CompositeStep("add", (len(inputs) + at, at + 1), "float32")
        for at in range(len(inputs) - 1)
    ]
    scalar = Composite(inputs, tuple(steps), (len(inputs) + len(steps) - 1,))
    return Part(scalar, is_one, total)


TANGENT = Part(
    Composite(("float32",), (CompositeStep("tanh", (0,), "float32"),), (1,)), (False,)
)


@pytest.mark.parametrize(
    ("is_cpu", "part", "least"),
    [
        (False, part_of(("float32",), (False,)), 1 << 20),
        (False, TANGENT, 1 << 20),
        (True, part_of(("float32",), (False,)), 1 << 14),
        (True, TANGENT, 1 << 11),
    ],
)
def test_a_part_has_a_launch_of_its_own_from_some_size_on(
    is_cpu, part, least, null, monkeypatch
):
    alone = []
    monkeypatch.setattr(multi_tensor, "launch_one", lambda *given: alone.append(given))
    device = SimpleNamespace(is_cpu=is_cpu, processors=132, max_threads=1024)
    for size, is_alone in ((least - 1, False), (least, True)):
        x, out = (gpuarray.empty(size, "float32", null) for _ in "xo")
        job = multi_tensor.job_of(part, ("array",), [x], [out], 256, device)
        assert (job.size, job.rows, job.totals) == (0 if is_alone else size, -1, None)
        assert job.per == (16384 if is_cpu else 1024)
        assert job.blocks() == (0 if is_alone else -(-size // job.per))
        assert len(alone) == is_alone
    alone.clear()
    for x, out, is_alone in (
        (gpuarray.empty((8, 6), "float32", null).T, (6, 8), True),
        (gpuarray.empty((6, 8), "float32", null), (6, 8), False),
    ):
        alone.clear()
        outs = [gpuarray.empty(out, "float32", null)]
        multi_tensor.job_of(part, ("array",), [x], outs, 256, device)
        assert len(alone) == is_alone
    alone.clear()
    turned = [gpuarray.empty((8, 6), "float32", null).T]
    x = gpuarray.empty((6, 8), "float32", null)
    multi_tensor.job_of(part, ("array",), [x], turned, 256, device)
    assert len(alone) == 1


def test_an_argument_list_has_offsets_beside_arrays_alone(null):
    a = gpuarray.empty(9, "float32", null)[4:]
    given = [list(multi_tensor.arguments_of(each)) for each in (a, 7, 0, None)]
    assert given == [[a, 16], [7], [0], []]


def test_a_constant_that_was_transferred(on_context):
    """It is one when the launch is made, and no number."""
    x, y = T.dvectors("x", "y")
    weights = T.host_from_gpu(T.as_tensor_variable(np.arange(3.0)).transfer(None))
    first, second = function([x, y], [x * 2, y * weights])(np.ones(3), np.ones(3))
    np.testing.assert_array_equal(first, [2, 2, 2])
    np.testing.assert_array_equal(second, [0, 1, 2])
