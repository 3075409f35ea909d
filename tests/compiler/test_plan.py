"""Plans are data: they print, compare, hash and pickle, and are the same each time."""

import os
import pickle
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import gpuarray.compiler.tensor as T
import numpy as np
import programs
import pytest
from gpuarray.compiler import config, function, plan, shared

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
LAUNCHES = {"simple": 1, "exp": 1, "logistic": 2}


@pytest.fixture(params=programs.PROGRAMS)
def name(request):
    return request.param


def test_a_plan_is_listed_as_before(request, name):
    listing = f"{programs.compiled(name).plan}\n"
    path = GOLDEN / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        path.write_text(listing)
    assert listing == path.read_text(), "pytest --update-golden accepts the change"


def test_a_plan_shows_its_listing_at_the_prompt():
    plan = programs.compiled("exp").plan
    assert repr(plan) == str(plan)


def test_every_listing_is_of_a_program():
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(programs.PROGRAMS)


def test_compiling_again_gives_an_equal_plan(name):
    one, other = programs.compiled(name).plan, programs.compiled(name).plan
    assert one == other and hash(one) == hash(other)
    assert str(one) == str(other)


def test_another_process_gives_the_same_plan(name):
    command = [sys.executable, programs.__file__, name]
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout == f"{programs.compiled(name).plan}\n"


def test_a_plan_comes_back_from_a_pickle(name):
    made = programs.compiled(name).plan
    back = pickle.loads(pickle.dumps(made))
    assert back == made and hash(back) == hash(made) and str(back) == str(made)


def test_different_plans_are_not_equal():
    plans = {programs.compiled(each).plan for each in programs.PROGRAMS}
    assert len(plans) == len(programs.PROGRAMS)
    assert programs.compiled("simple").plan != "simple"


def test_constants_tell_plans_apart():
    def add(values):
        x = T.fvector("x")
        with config.use(device="null"):
            return function([x], x + np.array(values, "float32")).plan

    assert add([1, 2]) == add([1, 2])
    assert add([1, 2]) != add([1, 3])


@pytest.mark.parametrize(("name", "count"), LAUNCHES.items())
def test_kernels_and_library_calls_are_few(name, count):
    assert programs.compiled(name).plan.launches() == count


def test_an_integer_power_is_multiplied_out():
    (step,) = programs.compiled("simple").plan.steps
    assert "pow" not in step.expr
    assert step.expr.count("*") == 4


def test_each_step_remembers_the_line_that_made_it(name):
    integers = plan.HostInt | plan.Dim | plan.IntOp
    steps = programs.compiled(name).plan.steps
    origins = {step.origin for step in steps if not isinstance(step, integers)}
    assert origins
    assert all(Path(programs.__file__).name in origin for origin in origins)


def test_the_origin_is_the_text_of_the_line():
    (step,) = programs.compiled("simple").plan.steps
    assert step.origin.endswith('return function([a], a + a**10, name="simple")')


def test_updates_take_over_the_memory_of_their_variables():
    made = programs.compiled("logistic").plan
    inputs = range(made.n_inputs)
    data, variables = inputs[:2], inputs[2:]
    taken = {
        step.ins[i]
        for step in made.steps
        if isinstance(step, plan.LaunchStep | plan.Call)
        for i in step.inplace
        if i >= 0
    }
    taken |= {
        step.ins[2]
        for step in made.steps
        if isinstance(step, plan.Library) and step.inplace
    }
    views = {s.outs[0]: s.ins[0] for s in made.steps if isinstance(s, plan.View)}
    written = {views.get(number, number) for number in taken}
    assert written >= set(variables)
    assert not written & set(data)
    listing = str(replace(made, names=()))
    texts = re.findall(r"in place of ([%\d, ]+)", listing)
    assert {int(n) for text in texts for n in re.findall(r"\d+", text)} == taken


def test_steps_are_named_by_kind_and_values_by_type():
    x = T.fmatrix("x")
    with config.use(device="null"):
        listing = str(function([x], x.T.transfer(None), name="turn").plan)
    assert listing.splitlines() == [
        "turn(x: float32[n, n])",
        "  view      %1: float32[n, n] <- dimshuffle(x)  [{1, 0}]",
        "  copy      %2: float32[n, n] <- copy(%1)",
        "  return    %2",
    ]


def test_inputs_are_listed_by_names_that_tell_them_apart():
    a, b, c = T.fvector("a"), T.fvector("a"), T.fscalar("one more")
    w = shared(np.float32(1), "w")
    with config.use(device="null"):
        made = function([a, b, c], (a * b + c) * w).plan
    assert str(made).startswith("function(%0: float32[n], %1: float32[n], %2: ")
    assert "w: float32[])" in str(made) and "(%0, %1, " in str(made)
    other = replace(made, names=("x", "y", "z", "w"))
    assert other == made and hash(other) == hash(made)
    assert str(other).startswith("function(x: float32[n], y: float32[n], z: float32[]")


def test_lengths_that_are_always_the_same_are_listed_with_bytes():
    x, s = T.fmatrix("x"), T.fscalar("s")
    table = np.ones((3, 1000), "float32")
    outputs = [
        T.alloc(s, 3, 4).transfer(None),
        T.reshape(x, (2, 3)).T.transfer(None),
        (table + s).transfer(None),
        (x + 1).transfer(None),
    ]
    with config.use(device="null"):
        listing = str(function([x, s], outputs).plan)
    assert "float32[3, 4] 48 B <- broadcast_to(s" in listing
    assert "float32[2, 3] 24 B <- reshape(x" in listing
    assert "float32[3, 2] 24 B <- dimshuffle" in listing
    assert "float32[3, 1000] 12,000 B = [[1., 1." in listing
    assert "float32[3, 1000] 12,000 B <- " in listing
    assert re.search(r"%\d+: float32\[n, n\] <- add\(x\)", listing)


def test_kernels_of_several_operations_are_listed_as_formulas(name):
    listing = str(programs.compiled(name).plan)
    assert not re.search(r"Part\(|Composite|sources=|program=|'array'", listing)
    made = programs.compiled(name).plan
    for step in made.steps:
        results = [line for line in step.lines() if line.startswith("%")]
        if step.text:
            assert len(results) == len(step.outs)
            values = {int(n) for n in re.findall(r"%(\d+)", " ".join(step.lines()))}
            assert values <= {*step.ins, *step.outs}


def test_formulas_read_as_what_is_computed():
    x, y = T.fvector("x"), T.fvector("y")
    with config.use(device="null"):
        made = function([x, y], [T.exp(x) * y + 2, (x * y).sum()], name="both").plan
    assert re.search(r"%\d+ = \(\(exp\(x\) \* y\) \+ 2\)", str(made))


def test_long_constants_are_abbreviated():
    w = shared(np.zeros(3, "float32"))
    with config.use(device="null"):
        listing = str(function([], updates={w: np.arange(1000, dtype="float32")}).plan)
    (line,) = [each for each in listing.splitlines() if "constant" in each]
    assert len(line) < 88 and "..." in line
