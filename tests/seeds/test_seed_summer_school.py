"""The programs of the slides of the summer school (2015), with their numbers."""

import gpuarray.compiler as theano
import numpy as np
import pytest
from gpuarray._core.profiling import profile
from gpuarray.compiler import tensor as T
from gpuarray.compiler.compile.ops import as_op
from gpuarray.compiler.printing import debugprint

pytestmark = pytest.mark.usefixtures("on_context")

F = [1.79048354, 0.03158954, -0.26423186]
G = [0.9421594, 0.73722395, 0.67606977]
NORMALIZED = [1.90651511, 0.60431744, -0.64253361]


class Slides:
    """What most slides begin with."""

    def __init__(self):
        self.x = T.vector("x")
        self.W = T.matrix("W")
        self.b = T.vector("b")
        self.dot = T.dot(self.x, self.W)
        self.out = T.nnet.sigmoid(self.dot + self.b)
        self.rng = np.random.RandomState(42)
        self.W_val = self.rng.randn(4, 3)
        self.x_val = self.rng.rand(4)
        self.b_val = np.ones(3)


def close(got, expected):
    np.testing.assert_allclose(got, expected, rtol=0, atol=6e-9)  # digits printed


def names(text):
    return [line.partition(" [id")[0].strip(" |") for line in text.splitlines()]


def test_debugprint_of_expressions(capsys):
    s = Slides()
    debugprint(s.dot)
    assert capsys.readouterr().out == "dot [id A] ''\n |x [id B]\n |W [id C]\n"
    debugprint(s.out)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(" [id A] ''") and "sigmoid" in lines[0]
    assert lines[1:] == [
        " |Elemwise{add,no_inplace} [id B] ''",
        "   |dot [id C] ''",
        "   | |x [id D]",
        "   | |W [id E]",
        "   |b [id F]",
    ]


def test_executing_functions():
    s = Slides()
    f = theano.function(inputs=[s.x, s.W], outputs=s.dot)
    g = theano.function([s.x, s.W, s.b], s.out)
    h = theano.function([s.x, s.W, s.b], [s.dot, s.out])
    i = theano.function([s.x, s.W, s.b], [s.dot + s.b, s.out])
    close(f(s.x_val, s.W_val), F)
    close(g(s.x_val, s.W_val, s.b_val), G)
    got = h(s.x_val, s.W_val, s.b_val)
    assert isinstance(got, list)
    close(got, [F, G])
    close(i(s.x_val, s.W_val, s.b_val), [[2.79048354, 1.03158954, 0.73576814], G])


def test_debugprint_of_functions(capsys):
    s = Slides()
    debugprint(theano.function([s.x, s.W, s.b], s.out))
    assert names(capsys.readouterr().out) == [
        "HostFromGpu(gpuarray)",
        "GpuElemwise{sigmoid}[(0, 0)]",  # over what the product gave
        "GpuGemv{no_inplace, alpha=1, beta=1}",  # with the bias in it
        "GpuFromHost<None>",
        "b",
        "GpuFromHost<None>",
        "W",
        "GpuFromHost<None>",
        "x",
    ]
    debugprint(theano.function([s.x, s.W], s.dot))
    assert names(capsys.readouterr().out)[1] == "GpuDot"
    debugprint(theano.function([s.x, s.W, s.b], [s.dot, s.out]))
    assert "GpuElemwise{Composite{sigmoid((i0 + i1))}}" in capsys.readouterr().out


def test_pydotprint():
    s = Slides()
    f = theano.function([s.x, s.W], s.dot)
    text = theano.printing.pydotprint(f, format="dot", return_image=True)
    assert text.startswith("digraph") and "Dot" in text
    full = theano.printing.pydotprint(f, compact=False, format="dot", return_image=True)
    assert "float64" in full and len(full) > len(text)  # variables between, with types


def test_graph_structure():
    s = Slides()
    node = s.dot.owner
    assert isinstance(node, theano.Apply) and node.inputs == [s.x, s.W]
    assert node.outputs == [s.dot] and s.x.owner is None
    again = s.dot + s.dot
    assert again.owner.inputs == [s.dot, s.dot]


def test_broadcasting_tensors(capsys):
    r = T.row("r")
    print(r.broadcastable)
    c = T.col("c")
    print(c.broadcastable)
    assert capsys.readouterr().out == "(True, False)\n(False, True)\n"
    f = theano.function([r, c], r + c)
    close(f([[1, 2, 3]], [[0.1], [0.2]]), [[1.1, 2.1, 3.1], [1.2, 2.2, 3.2]])


def test_no_side_effects():
    a = T.vector("a")
    start = a
    a += 1
    assert a is not start
    with pytest.raises(TypeError):
        start[:] = 0
    more = T.inc_subtensor(start[:2], 1)
    zeros = T.set_subtensor(start[:2], 0)
    f = theano.function([start], [a, more, zeros])
    given = np.array([1.0, 2.0, 3.0])
    close(f(given), [[2, 3, 4], [2, 3, 3], [0, 0, 3]])
    assert given.tolist() == [1, 2, 3]


def test_python_keywords():
    x = T.vector("x")
    for call in (lambda: len(x), lambda: list(x), lambda: bool(x > 1)):
        with pytest.raises(TypeError):
            call()
    assert theano.function([x], x.shape[0])([1, 2, 3]) == 3


def test_ifelse_computes_one_branch_and_switch_both():
    a, b = T.scalars("a", "b")
    x, y = T.matrices("x", "y")
    z_switch = T.switch(T.lt(a, b), T.mean(T.exp(x)), T.mean(T.tanh(y)))
    z_lazy = theano.ifelse.ifelse(T.lt(a, b), T.mean(T.exp(x)), T.mean(T.tanh(y)))
    given = [a, b, x, y]
    f_switch, f_lazy = (
        theano.function(given, z, mode=theano.Mode(linker="vm"))
        for z in (z_switch, z_lazy)
    )
    big1, big2 = np.full((30, 40), 0.5), np.full((20, 50), 0.25)
    for f, means in [(f_switch, 2), (f_lazy, 1)]:
        for first, second, mean in [(0, 1, np.exp(0.5)), (1, 0, np.tanh(0.25))]:
            with profile(f.context) as found:
                close(f(first, second, big1, big2), mean)
            assert sum("sum" in span.label for span in found.spans) == means


def test_the_givens_keyword():
    s = Slides()
    x_ = T.vector("x_")
    x_n = (x_ - x_.mean()) / x_.std()
    f_n = theano.function([x_, s.W], s.dot, givens={s.x: x_n})
    close(f_n(s.x_val, s.W_val), NORMALIZED)


def test_cloning_with_replacement():
    s = Slides()
    x = s.x
    dot_n, out_n = theano.clone([s.dot, s.out], replace={x: (x - x.mean()) / x.std()})
    f_n = theano.function([x, s.W], dot_n)
    close(f_n(s.x_val, s.W_val), NORMALIZED)
    g_n = theano.function([x, s.W, s.b], out_n)
    close(g_n(s.x_val, s.W_val, s.b_val), 1 / (1 + np.exp(-np.array(NORMALIZED) - 1)))


COST = 0.61378214
DW_0 = [0.01095277, 0.07045955, 0.051161]
DB = [0.03600015, 0.23159028, 0.16815877]


def test_using_the_gradients():
    s = Slides()
    y = T.vector("y")
    C = ((s.out - y) ** 2).sum()
    dC_dW = theano.grad(C, s.W)
    dC_db = theano.grad(C, s.b)
    cost_and_grads = theano.function([s.x, s.W, s.b, y], [C, dC_dW, dC_db])
    y_val = s.rng.uniform(size=3)
    cost, dW, db = cost_and_grads(s.x_val, s.W_val, s.b_val, y_val)
    close(cost, COST)
    close(dW[0], DW_0)
    close(db, DB)
    upd_W = s.W - 0.1 * dC_dW
    upd_b = s.b - 0.1 * dC_db
    cost_and_upd = theano.function([s.x, s.W, s.b, y], [C, upd_W, upd_b])
    again, W_val, b_val = cost_and_upd(s.x_val, s.W_val, s.b_val, y_val)
    close(again, COST)
    np.testing.assert_allclose(W_val, s.W_val - 0.1 * dW, rtol=1e-12)
    np.testing.assert_allclose(b_val, s.b_val - 0.1 * db, rtol=1e-12)


def test_shared_variables_and_their_updates():
    s = Slides()
    x = T.vector("x")
    y = T.vector("y")
    W = theano.shared(s.W_val)
    b = theano.shared(s.b_val)
    dot = T.dot(x, W)
    out = T.nnet.sigmoid(dot + b)
    f = theano.function([x], dot)  # W is an implicit input
    g = theano.function([x], out)  # W and b are implicit inputs
    close(f(s.x_val), F)
    close(g(s.x_val), G)
    C = ((out - y) ** 2).sum()
    dC_dW, dC_db = theano.grad(C, [W, b])
    upd_W = W - 0.1 * dC_dW
    upd_b = b - 0.1 * dC_db
    cost_and_perform_updates = theano.function(
        inputs=[x, y], outputs=C, updates=[(W, upd_W), (b, upd_b)]
    )
    y_val = s.rng.uniform(size=3)
    assert cost_and_perform_updates(s.x_val, y_val) == pytest.approx(0.6137821438)
    close(W.get_value()[0], s.W_val[0] - 0.1 * np.array(DW_0))
    close(b.get_value(), 1 - 0.1 * np.array(DB))
    assert cost_and_perform_updates(s.x_val, y_val) == pytest.approx(0.600132022555627)
    b.set_value(np.zeros(3))
    assert g(s.x_val) == pytest.approx(1 / (1 + np.exp(-f(s.x_val))))


def test_graph_optimizations():
    x = T.vector("x")
    f = theano.function([x], [x / x, T.log(1 + x), T.exp(x) * T.exp(x)])
    tiny = np.array([1e-20])
    ones, logs, _ = f(tiny)
    assert ones.tolist() == [1] and logs.tolist() == [1e-20]


def test_enabling_and_disabling_optimizations():
    x = T.vector("x")
    for mode in ("FAST_RUN", "FAST_COMPILE", "DebugMode", "DEBUG_MODE"):
        assert theano.function([x], T.log(1 + x), mode=mode)([0]).tolist() == [0]
    plain = theano.Mode(optimizer=None)
    assert theano.function([x], T.log(1 + x), mode=plain)([1e-20]).tolist() == [0]


def test_explicit_float32():
    assert T.fmatrix().type == T.matrix(dtype="float32").type


def infer_shape_numpy_dot(node, input_shapes):
    ashp, bshp = input_shapes
    return [ashp[:-1] + bshp[-1:]]


@as_op(
    itypes=[T.fmatrix, T.fmatrix],
    otypes=[T.fmatrix],
    infer_shape=infer_shape_numpy_dot,
)
def numpy_dot(a, b):
    return np.dot(a, b)


def test_the_easy_way_python():
    a, b = T.fmatrices("ab")
    f = theano.function([a, b], numpy_dot(a, b))
    given = np.ones((2, 3), "float32"), np.full((3, 4), 2, "float32")
    assert f(*given).tolist() == np.dot(*given).tolist()
    shape = theano.function([a, b], numpy_dot(a, b).shape)
    assert shape(*given).tolist() == [2, 4]
    assert not any("numpy_dot" in str(n) for n in shape.maker.fgraph.toposort())
    with pytest.raises(NotImplementedError, match="no gradient"):
        theano.grad(numpy_dot(a, b).sum(), a)
    with pytest.raises(TypeError, match="expected TensorType"):
        numpy_dot(a, T.dmatrix())
