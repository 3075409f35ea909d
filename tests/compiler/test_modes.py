"""Modes: which rewrites are done, DebugMode, NanGuardMode, MonitorMode."""

import pickle

import gpuarray
import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from cases import CASES
from gpuarray.compiler import DebugMode, Mode, MonitorMode, NanGuardMode, config
from gpuarray.compiler.debug import detect_nan
from gpuarray.compiler.errors import (
    BadDestroyMap,
    BadOptimization,
    BadThunkOutput,
    BadViewMap,
    GraphValueError,
    InvalidValueError,
)
from gpuarray.compiler.function import get_mode, register_mode
from gpuarray.compiler.function.modes import MODES
from gpuarray.compiler.gpukernels import lowers, step_function
from gpuarray.compiler.graph.core import Apply, Op
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.variables.basic import as_tensor_variable
from gpuarray.compiler.rewrites.engine import engine
from gpuarray.compiler.rewrites.passes import RULES


@pytest.fixture(autouse=True)
def on(context):
    with gpuarray.context(context):
        yield


X = np.array([0.5, 1.0, 2.0])

SHARE = 7
"""One of so many cases runs in DebugMode, which compiles each step by itself."""


def rows_of(function):
    return str(function.plan)


def test_a_mode_chooses_rewrites():
    x = T.dvector("x")
    y = T.log(1 + T.exp(x))
    fast, slow = theano.function([x], y), theano.function([x], y, mode="FAST_COMPILE")
    assert "softplus" in rows_of(fast)
    assert "log1p" not in rows_of(slow) and slow.plan.launches() > 1
    without = theano.function([x], y, mode=Mode().excluding("stabilize"))
    assert "softplus" not in rows_of(without) and without.plan.launches() == 1
    unfused = theano.function([x], T.tanh(x) * 2, mode=Mode().excluding("fusion"))
    assert unfused.plan.launches() == 2
    added = Mode(optimizer="fast_compile").including("fuse_elementwise")
    assert theano.function([x], y, mode=added).plan.launches() == 1
    for f in (fast, slow, without):
        np.testing.assert_allclose(f(X), np.log1p(np.exp(X)))


def test_settings_choose_rewrites_too():
    x = T.dvector("x")
    with config.use(optimizer_excluding="fuse"):
        assert theano.function([x], T.tanh(x) * 2).plan.launches() == 2
    with config.use(mode="FAST_COMPILE", optimizer_including="fuse"):
        assert theano.function([x], T.tanh(x) * 2).plan.launches() == 1


def test_unknown_names_are_errors():
    with pytest.raises(GraphValueError, match="did you mean 'FAST_RUN'"):
        theano.function([], [], mode="FASTRUN")
    with pytest.raises(GraphValueError, match="o4"):
        Mode(optimizer="o9")
    with pytest.raises(GraphValueError, match="cvm"):
        Mode(linker="jit")


@pytest.mark.parametrize("chosen", ["excluding", "including", "requiring"])
def test_names_of_theanos_rewrites_choose_nothing(chosen):
    x = T.dvector("x")
    with pytest.warns(UserWarning, match="no rewrite is called 'gpuarray_opt'"):
        mode = getattr(Mode(), chosen)("gpuarray_opt")
    with pytest.warns(UserWarning, match="so it chooses nothing"):
        f = theano.function([x], T.tanh(x) * 2, mode=mode)
    assert f.plan.launches() == 1
    np.testing.assert_allclose(f([0, 1]), [0, 2 * np.tanh(1)])
    with pytest.warns(UserWarning, match=r"did you mean .*fuse_elementwise"):
        Mode().excluding("fuse_elemwise")


def test_names_in_settings_choose_nothing_either():
    x = T.dvector("x")
    notice = pytest.warns(UserWarning, match="no rewrite is called 'local_dot'")
    with notice, config.use(optimizer_excluding="local_dot"):
        theano.function([x], T.tanh(x) * 0.125)


def test_modes_have_names():
    mode = Mode().excluding("inplace")
    register_mode("careful", mode)
    try:
        assert get_mode("careful") is mode
        with pytest.raises(GraphValueError, match="already"):
            register_mode("careful", mode)
    finally:
        del MODES["careful"]
    assert pickle.loads(pickle.dumps(mode)) == mode


# DebugMode.


@pytest.mark.filterwarnings("ignore::gpuarray.HostNotice")
@pytest.mark.parametrize("case", CASES[::SHARE], ids=lambda case: case.name)
def test_debugmode_finds_nothing_wrong_with_our_ops(case, context):
    variables = case.variables()
    built = case.build(*variables)
    with config.use(contexts=f"a->{context.name};b->{context.name}"):
        f = theano.function(
            variables, built, mode=DebugMode(), on_unused_input="ignore"
        )
        f(*case.arrays)


def test_debugmode_runs_updates():
    w = theano.shared(np.ones((3, 2)), name="w")
    x = T.dmatrix("x")
    cost = T.log(1 + T.exp(-T.dot(x, w))).mean()
    f = theano.function(
        [x], cost, updates={w: w - 0.1 * T.grad(cost, w)}, mode="DebugMode"
    )
    plain = np.ones((3, 2))
    data = np.arange(12.0).reshape(4, 3) / 10
    for _ in range(3):
        f(data)
        slope = data.T @ (-1 / (1 + np.exp(data @ plain))) / 8
        plain = plain - 0.1 * slope
    np.testing.assert_allclose(w.get_value(), plain)


def test_debugmode_names_a_rewrite_that_changes_a_value(monkeypatch):
    @engine.rewrite(phase="simplify", ops=["tanh"])
    def wrong_tanh(node):
        """tanh(x) -> sin(x)"""
        return T.sin(node.inputs[0])

    monkeypatch.setitem(RULES, "simplify", [*RULES["simplify"], wrong_tanh])

    x = T.dvector("x")
    f = theano.function([x], T.tanh(x) + 1, mode=DebugMode())  # the line
    with pytest.raises(BadOptimization, match=r"wrong_tanh.*tanh.*sin") as caught:
        f(X)
    assert "# the line" in str(caught.value)


class Twice(Op):
    """Twice a vector; ``wrong`` says in what way it is wrong."""

    __props__ = ("wrong",)

    def __init__(self, wrong):
        self.wrong = wrong

    def make_node(self, x):
        x = as_tensor_variable(x)
        return Apply(self, [x], [TensorType(x.dtype, (False,))()])

    def reference(self, x):
        if self.wrong == "destroys":
            x *= 2
            return x.copy()
        if self.wrong == "views":
            return x[::1]
        if self.wrong == "type":
            return (x * 2).astype("float32")
        return x * 2


@step_function("test: twice")
def twice(x, wrong):
    return x * (3 if wrong == "device" else 2)


@lowers(Twice)
def lower_twice(op, node, k):
    k.call(node, "test: twice", node.inputs, {"wrong": op.wrong})


@pytest.mark.parametrize(
    ("wrong", "error", "match"),
    [
        ("destroys", BadDestroyMap, "changes its input 0"),
        ("views", BadViewMap, "shares memory with its input 0"),
        ("type", InvalidValueError, "float32 of 1 axes"),
        ("device", BadThunkOutput, r"at \(0,\) 3.0, expected 2.0"),
    ],
)
def test_debugmode_names_an_op_that_breaks_its_word(wrong, error, match):
    x = T.dvector("x")
    f = theano.function([x], Twice(wrong)(T.exp(x) * 0 + 1), mode="DEBUG_MODE")
    with pytest.raises(error, match=match) as caught:
        f(X)
    assert "Twice" in str(caught.value)
    assert "test_modes.py" in str(caught.value)


class Signless(Twice):
    """What is twice a vector up to a factor that is left open."""

    undetermined = (0,)


def test_debugmode_does_not_compare_what_an_op_leaves_open():
    x = T.dvector("x")
    f = theano.function([x], Signless("device")(x) + 1, mode=DebugMode())
    np.testing.assert_array_equal(f(X), 3 * X + 1)  # the reference says 2 * X
    f = theano.function([x], T.empty((3,)) * 0 + x, mode=DebugMode())
    assert f(X).shape == (3,)
    f = theano.function([x], Signless("type")(x), mode=DebugMode())
    with pytest.raises(InvalidValueError, match="float32 of 1 axes"):
        f(X)


def test_debugmode_tells_where_numpy_fails():
    x, y = T.dvectors("xy")
    f = theano.function([x, y], T.exp(x) + y, mode=DebugMode())  # the line
    with pytest.raises(ValueError, match="differ on axis 0") as caught:
        f(X, X[:2])
    (note,) = caught.value.__notes__
    assert "# the line" in note
    assert "input 1, y: float64 of shape (2,), strides (8,)" in note


def test_a_stabilizing_rewrite_may_be_better_than_what_it_replaces():
    x = T.dvector("x")
    f = theano.function([x], T.log(1 + T.exp(x)), mode=DebugMode())
    np.testing.assert_allclose(f(np.array([1e4, 0.0])), [1e4, np.log(2)])


# NanGuardMode and MonitorMode.


def test_nanguardmode_names_the_node_and_the_line():
    x = T.dvector("x")
    f = theano.function([x], T.log(x) * 2, mode=NanGuardMode())  # the line
    np.testing.assert_allclose(f(X), np.log(X) * 2)
    with pytest.raises(AssertionError, match="holds nan") as caught:
        f(-X)
    assert "# the line" in str(caught.value) and "log" in str(caught.value)
    with pytest.raises(AssertionError, match="an infinity"):
        f(X * 0)
    with pytest.raises(AssertionError, match=r"the input x.*nan"):
        f(X * np.nan)
    g = theano.function([x], x * 1e6, mode=NanGuardMode())
    with pytest.raises(AssertionError, match="beyond 1e"):
        g(X * 1e6)


def test_nanguardmode_minds_what_it_is_asked_to():
    x = T.dvector("x")
    f = theano.function([x], x / 0, mode=NanGuardMode(inf_is_error=False))
    assert np.isinf(f(X)).all()
    with config.use(**{"NanGuardMode.nan_is_error": False}):
        assert np.isnan(theano.function([x], 0 * x / 0, mode="NanGuardMode")(X)).all()
    g = theano.function([x], T.log(x), mode="NanGuardMode")
    with config.use(**{"NanGuardMode.action": "warn"}), pytest.warns(match="nan"):
        g(-X)


def test_monitormode_shows_every_node(capsys):
    seen = []

    def pre(i, node, fn):
        assert all(cell[0] is not None for cell in fn.inputs)
        seen.append((i, "pre", str(node.op)))

    def post(i, node, fn):
        seen.append((i, "post", [np.asarray(cell[0]) for cell in fn.outputs]))

    x, y = T.dvector("x"), T.dvector("y")
    mode = MonitorMode(pre_func=pre, post_func=post)
    f = theano.function([x, y], (T.exp(x) * y).sum(), mode=mode.excluding("fusion"))
    f(X, X)
    assert [kind for _, kind, _ in seen].count("pre") >= 3
    values = [value[0] for _, kind, value in seen if kind == "post" and len(value) == 1]
    assert any(np.allclose(v, np.exp(X)) for v in values if v.shape == (3,))
    g = theano.function([x], T.log(x), mode=MonitorMode(post_func=detect_nan))
    g(-X)
    assert "NaN detected" in capsys.readouterr().out
