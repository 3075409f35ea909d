"""Plans on disk: found again where all that makes them is the same, and only there."""

import os
import subprocess
import sys
from dataclasses import is_dataclass, replace

import gpuarray
import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, plan, shared
from gpuarray.compiler.encoding import Unencodable
from gpuarray.compiler.function import compiling, plan_cache, plan_key
from gpuarray.compiler.function.plan_cache import PLANS
from gpuarray.compiler.gpukernels import LOWERINGS
from gpuarray.compiler.ops.custom import own
from gpuarray.compiler.ops.elemwise.steps import ProgramStep
from gpuarray.scalars import SCALARS

pytestmark = pytest.mark.usefixtures("on_context", "kept_plans")


@pytest.fixture
def passes(monkeypatch):
    """How often a graph was rewritten."""
    seen = []
    optimize = compiling.rewrites.optimize

    def counted(*given, **named):
        seen.append(given)
        return optimize(*given, **named)

    monkeypatch.setattr(compiling.rewrites, "optimize", counted)
    return seen


def function(name="f", scale=2.0, **options):
    x, w = T.matrix("x"), T.vector("w")
    return theano.function([x, w], T.tanh(T.dot(x, w) * scale), name=name, **options)


X, W = np.arange(6.0).reshape(2, 3).astype("f4"), np.ones(3, "f4")


def test_a_second_function_of_the_same_graph_runs_no_pass(passes):
    first = function()
    assert len(passes) == 1
    second = function()
    assert len(passes) == 1
    assert second.plan == first.plan
    np.testing.assert_array_equal(second(X, W), first(X, W))


def test_the_graph_comes_when_it_is_asked_for(passes):
    first, second = function(), function()
    shown = theano.printing.debugprint(second, file="str")
    assert len(passes) == 2
    assert shown == theano.printing.debugprint(first, file="str")
    assert second.maker.log and second.maker.fgraph is second.maker.fgraph
    assert len(passes) == 2


def test_it_is_rewritten_as_it_was_asked_for(passes):
    with config.use(fuse=False):
        function("unfused")
        again = function("unfused")
    plan = theano.schedule.lower(again.maker.fgraph, "unfused")
    assert plan == again.plan and len(passes) == 2


def recurrent(weight=0.5, **options):
    """A gradient through a loop whose condition ends it."""
    x, h = T.matrix("x"), T.vector("h")

    def step(row, state):
        new = T.tanh(state * weight + row)
        return new, theano.scan_module.until(new.sum() > 2)

    states, _ = theano.scan(step, x, h, name="states", **options)
    cost = states[-1].sum()
    return theano.function([x, h], [cost, T.grad(cost, x)])


def test_a_loop_is_found(passes):
    first = recurrent()
    count = len(passes)
    second = recurrent()
    assert len(passes) == count and second.plan == first.plan
    assert any(isinstance(step, plan.LoopStep) for step in second.plan.steps)
    for got, right in zip(second(X, W), first(X, W), strict=True):
        np.testing.assert_array_equal(got, right)
    with pytest.raises(ValueError, match="states") as error:
        first(X, W[:2])
    with pytest.raises(ValueError) as again:
        second(X, W[:2])
    assert str(again.value) == str(error.value)
    shown = [theano.printing.debugprint(f, file="str") for f in (first, second)]
    assert shown[0] == shown[1] and "states" in shown[0]


@pytest.mark.parametrize(
    "changed", [{"weight": 0.25}, {"go_backwards": True}, {"truncate_gradient": 1}]
)
def test_another_loop_is_another_plan(passes, changed):
    recurrent()
    count = len(passes)
    recurrent(**changed)
    assert len(passes) > count


def test_another_process_finds_the_plan(tmp_path, on_context):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {
        **os.environ,
        "GPUARRAY_CACHE_DIR": str(tmp_path / "cache"),
        "GPUARRAY_FLAGS": f"device={on_context.name}",
    }
    said = [
        subprocess.run(
            [sys.executable, program],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for _ in range(2)
    ]
    first, second = (each.splitlines() for each in said)
    assert first == ["1 passes", *first[1:]]
    assert second == ["0 passes", *first[1:]]


PROGRAM = """
import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
from gpuarray.compiler.function import compiling

passes = []
optimize = compiling.rewrites.optimize
compiling.rewrites.optimize = lambda *a, **k: passes.append(a) or optimize(*a, **k)
x = T.dmatrix("x")
w = theano.shared([0.5, 2.0], name="w")
cost = T.nnet.softmax(x * w)[:, 0].sum()
step = theano.function([x], cost, updates={w: w - T.grad(cost, w)}, name="step")
print(len(passes), "passes")
print(repr(float(step([[1, 2], [3, 4]]))), w.get_value())
print(step.plan)
"""


def lines(build):
    """Two functions by ``build``, called with 0 and 1, on one line of this file."""
    return [build(i) for i in (0, 1)]


@pytest.mark.parametrize(
    "build",
    [
        lambda i: function(scale=2.0 + i),
        lambda i: function(name=f"f{i}"),
        lambda i: function(mode=["FAST_RUN", "FAST_COMPILE"][i]),
        lambda i: function(on_device=bool(i)),
        lambda i: theano.function([], T.constant(np.arange(3.0) + i) * 2),
        lambda i: theano.function([], T.constant(np.zeros(3, f"f{4 + 4 * i}")) * 2),
        lambda i: theano.function([], T.constant([-0.0, 0.0][i]) * shared(1.0)),
    ],
)
def test_what_makes_another_plan_is_not_found(build, passes):
    lines(build)
    assert len(passes) == 2


@pytest.mark.parametrize(
    "changes", [{"fuse": False}, {"floatX": "float64"}, {"exception_verbosity": "high"}]
)
def test_other_settings_are_another_plan(changes, passes):
    function()
    with config.use(**changes):
        function()
    assert len(passes) == 2


def test_another_line_is_another_plan(passes):
    one, other = (lambda: T.vector("x") + 1), (lambda: T.vector("x") + 1)
    for build, expected in ((one, 1), (one, 1), (other, 1)):
        made = build()
        theano.function([made.owner.inputs[0]], made)
        assert len(passes) == expected  # they are on one line
    made = T.vector("x") + 1
    theano.function([made.owner.inputs[0]], made)
    assert len(passes) == 2


def test_another_version_is_another_plan(passes, monkeypatch):
    function()
    monkeypatch.setattr(plan_cache, "package", lambda: ("other",))
    function()
    assert len(passes) == 2


def twice(inputs, outputs, **options):
    """Two functions of one graph."""
    return [theano.function(inputs, outputs, **options) for _ in range(2)]


def test_values_of_shared_variables_are_not_part_of_a_plan(passes):
    values = [np.ones(3, "f4"), np.full(3, 7, "f4")]
    first, second = lines(lambda i: theano.function([], shared(values[i], "w") * 2))
    assert len(passes) == 1
    np.testing.assert_array_equal(first(), values[0] * 2)
    np.testing.assert_array_equal(second(), values[1] * 2)


def test_two_variables_of_one_container_are_not_two(passes):
    def build(i):
        a, b = shared(np.ones(3, "f4"), "a"), shared(np.ones(3, "f4"), "a")
        other = (b, a.clone())[i]
        return theano.function([], a * other, updates={a: a + other})

    lines(build)
    assert len(passes) == 2


def test_updates_work_on_the_variables_of_their_own_function(passes):
    def build(i):
        w = shared(np.full(2, float(i + 1), "f4"), "w")
        return theano.function([], w.sum(), updates={w: w * 10}), w

    (first, w1), (second, w2) = lines(build)
    assert len(passes) == 1
    assert (float(first()), float(second()), float(second())) == (2, 4, 40)
    assert (w1.get_value()[0], w2.get_value()[0]) == (10, 200)


class Doubled(theano.Op):
    __props__ = ()

    def infer(self, kind):
        return kind

    def reference(self, x):
        return x * 2


@pytest.mark.filterwarnings("ignore::gpuarray.HostNotice")
def test_nothing_is_kept_of_a_programs_own_op(passes, kept_plans):
    x = T.vector("x")
    twice([x], Doubled()(x))
    assert len(passes) == 2 and not list(kept_plans.iterdir())


@pytest.fixture
def rows():
    """A table of rows that is as before when the test is over."""
    before = set(SCALARS)
    yield
    for name in set(SCALARS) - before:
        del SCALARS[name], own.OWN[name]


@pytest.mark.usefixtures("rows")
def test_nothing_is_kept_of_a_programs_own_scalar_operation(passes, kept_plans):
    @theano.elementwise_op("x * 3", lambda x: x * 3)
    def tripled_for_this_test(m, g, y, x):
        return 3 * g

    x = T.vector("x")
    twice([x], tripled_for_this_test(x) + 1)
    assert len(passes) == 2 and not list(kept_plans.iterdir())


def test_nothing_is_kept_where_a_program_lowers_by_itself(
    passes, kept_plans, monkeypatch
):
    known = LOWERINGS[T.tanh(T.vector()).owner.op.__class__]
    cls = T.tanh(T.vector()).owner.op.__class__
    monkeypatch.setitem(LOWERINGS, cls, lambda *given: known(*given))
    function()
    assert not list(kept_plans.iterdir())


def test_a_host_step_is_told_of_each_time(kept_plans, monkeypatch):
    monkeypatch.setattr(plan_key, "is_ours", lambda code: True)
    x = T.vector("x")
    with config.use(assert_no_cpu_op="warn"):
        for _ in range(2):
            with pytest.warns(gpuarray.HostNotice, match="runs on the host"):
                theano.function([x], Doubled()(x))
    assert not list(kept_plans.iterdir())


def test_debug_mode_checks_the_rewrites_of_a_plan_that_is_kept(passes):
    function()
    debugged = function(mode="DebugMode")
    assert len(passes) > 1
    np.testing.assert_allclose(debugged(X, W), function()(X, W), rtol=1e-6)


@pytest.mark.parametrize("content", [b"", b"not a pickle", b"cos\nsystem\n."])
def test_a_damaged_entry_is_made_anew(content, kept_plans, passes):
    expected = function().plan
    (path,) = kept_plans.iterdir()
    path.write_bytes(content)
    assert function().plan == expected
    PLANS.keep(path.stem, content)  # well kept, but no plan
    assert function().plan == expected
    assert len(passes) == 3
    PLANS.keep(path.stem, plan_cache.ENCODING.encode(expected))  # not with its outputs
    assert function().plan == expected
    assert len(passes) == 4


@pytest.mark.parametrize("outputs", [(), (0, 1), "sum"], ids=str)
def test_a_plan_is_sound_where_all_its_numbers_are_of_values(outputs):
    x, w = T.matrix("x"), T.vector("w")
    made = {(): [], (0, 1): [x, w], "sum": [T.dot(x, w) + T.constant(np.ones(2, "f4"))]}
    inputs = [x, w] if outputs else []
    none = [T.constant(np.ones(3, "f4")) * 2]  # of no input
    found = theano.function(inputs, made[outputs] or none).plan
    count = len(found.values)
    assert plan_cache.is_sound(found)
    assert plan_cache.is_sound(replace(found, n_inputs=0))
    for number in (0, count - 1):
        assert plan_cache.is_sound(replace(found, outputs=(number,)))
        assert plan_cache.is_sound(replace(found, constants=((number, None),)))
    for number in (-1, count):
        assert not plan_cache.is_sound(replace(found, outputs=(0, number)))
        assert not plan_cache.is_sound(replace(found, constants=((number, None),)))
    assert not plan_cache.is_sound(replace(found, n_inputs=-1))
    assert not plan_cache.is_sound(replace(found, n_inputs=count + 1))


@pytest.mark.parametrize("part", ["outs", "ins"])
def test_a_plan_is_sound_where_its_steps_are_of_values(part):
    x = T.fmatrix("x")
    found = theano.function([x], T.exp(x) * x.shape[0]).plan
    count = len(found.values)
    for at, step in enumerate(found.steps):
        for numbers, is_sound in (
            ((count - 1,), True),
            ((count,), False),
            ((-1,), False),
        ):
            if getattr(step, part):
                steps = list(found.steps)
                steps[at] = replace(step, **{part: numbers})
                made = replace(found, steps=tuple(steps))
                assert plan_cache.is_sound(made) == is_sound


def test_a_damaged_body_makes_no_plan():
    x = T.fmatrix("x")
    found = theano.function([x], T.nnet.softmax(x)).plan
    ((place, step),) = ((i, s) for i, s in enumerate(found.steps) if s.ins)
    assert plan_cache.is_sound(found)
    assert not plan_cache.is_sound(with_body(found, place, cut(step.body)))
    with pytest.raises(Unencodable, match="body"):
        plan_cache.ENCODING.encode(with_body(found, place, "text"))


def test_a_damaged_loop_makes_no_plan():
    found = recurrent().plan
    place, step = next(
        (i, s) for i, s in enumerate(found.steps) if isinstance(s, plan.LoopStep)
    )
    assert plan_cache.is_sound(found)
    assert not plan_cache.is_sound(with_body(found, place, cut(step.body)))


def cut(body):
    """A body whose result is no value of it."""
    return replace(body, plan=replace(body.plan, outputs=(999,)))


def with_body(found, place, body):
    steps = list(found.steps)
    steps[place] = replace(steps[place], body=body)
    return replace(found, steps=tuple(steps))


def test_every_part_of_a_plan_has_a_text():
    parts = [x for x in vars(plan).values() if is_dataclass(x) and isinstance(x, type)]
    ours = {x for x in parts if x.__module__.startswith(plan.__name__)}
    assert len(ours) > 20
    assert ours - set(plan_cache.RECORDS) == {plan.Step}
    steps = {each.__name__ for each in kinds_of(ProgramStep) if is_dataclass(each)}
    assert len(steps) > 7
    assert steps <= {each.__name__ for each in plan_cache.RECORDS}


def kinds_of(base):
    for kind in base.__subclasses__():
        yield kind
        yield from kinds_of(kind)


def test_a_plan_without_inputs_is_found_again(passes):
    for _ in range(2):
        theano.function([], T.exp(T.constant(np.arange(4.0, dtype="f4"))))()
    assert len(passes) == 1


def test_large_constants_are_not_kept(kept_plans, monkeypatch):
    monkeypatch.setattr(plan_cache, "MOST_BYTES", 4000)
    theano.function([], T.constant(np.arange(1000.0)) * 2)
    assert not list(kept_plans.iterdir())


def test_an_error_names_the_node_of_a_plan_that_was_found():
    x, y = T.matrix("x"), T.matrix("y")
    first, second = twice([x, y], T.dot(x, y) + 1)
    said = []
    for each in (first, second):
        with pytest.raises(ValueError) as failure:
            each(np.ones((2, 3), "f4"), np.ones((2, 3), "f4"))
        said.append([str(failure.value), *getattr(failure.value, "__notes__", ())])
    assert said[0] == said[1]
    assert "test_plan_cache.py" in "\n".join(said[1])
