"""Keys of plans: what a key depends on, and programs that differ in one part alone."""

import copy
import sys
from dataclasses import fields, replace
from types import SimpleNamespace

import gpuarray
import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import shared
from gpuarray.compiler.function import compiling, make, plan_cache, plan_key
from gpuarray.compiler.graph.core import traced_as
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.nnet.nnet import Softmax
from gpuarray.compiler.ops.sorting.scanning import CumOp
from gpuarray.compiler.rewrites import Selection
from test_plan_cache import Doubled

pytestmark = pytest.mark.usefixtures("on_context", "kept_plans")

# ---- programs that differ in one part alone ----


def vector_times(value, dtype="float64", name="x", axis=0):
    """A program with a constant; its parts are the arguments."""
    x = T.matrix(name, dtype=dtype)
    return T.sum(x * T.constant(value), axis=axis)


SIX = np.arange(6.0)


def tagged(**tags):
    x = T.dvector("x")
    vars(x.tag).update(tags)
    return T.exp(x)


def of_shared(is_one):
    a = shared(SIX, "a")
    return a + (a if is_one else shared(SIX, "a"))


BESIDE = {
    "a constant's shape": lambda: [
        T.sum(T.constant(SIX.reshape(shape))) for shape in ((2, 3), (3, 2))
    ],
    "a constant's value": lambda: [vector_times(v) for v in (SIX[:3], SIX[3:])],
    "a constant's dtype": lambda: [T.constant(np.zeros(1, d)) for d in ("i4", "f4")],
    "a zero's sign": lambda: [T.constant(np.array([z])) for z in (0.0, -0.0)],
    "an input's dtype": lambda: [vector_times(SIX[:3], d) for d in ("f4", "f8")],
    "an input's name": lambda: [vector_times(SIX[:3], name=n) for n in "xy"],
    "an axis": lambda: [vector_times(SIX[:3], axis=a) for a in (0, 1)],
    "an axis of length 1": lambda: [T.exp(each("x")) for each in (T.dmatrix, T.drow)],
    "an operand's place": lambda: [
        (lambda x, y: [x - y, y - x][swapped])(T.dscalar("x"), T.dscalar("y"))
        for swapped in (0, 1)
    ],
    "the dtype of another input": lambda: [
        T.dvector("x") + T.vector("y", dtype=d) for d in ("f4", "f8")
    ],
    "an operation": lambda: [each(T.dvector("x")) for each in (T.sin, T.cos)],
    "a slice": lambda: [T.dvector("x")[part] for part in (slice(1, None), slice(1))],
    "a target": lambda: [tagged(target=each) for each in ("cpu", "gpu")],
    "a context": lambda: [tagged(context_name=each) for each in ("a", "b")],
    "shared values": lambda: [of_shared(each) for each in (True, False)],
    "an index of an output": lambda: [T.dvector("x").sort(), T.dvector("x").argsort()],
}


def text_of(output):
    """What a program's key holds of its graph."""
    writer = plan_key.GraphWriter()
    numbers = writer.graph([output])
    return numbers, writer.lines


@pytest.mark.parametrize("name", BESIDE)
def test_programs_that_differ_in_one_part_have_two_keys(name):
    with traced_as(None):
        (one, other), (again, _) = BESIDE[name](), BESIDE[name]()
    assert text_of(one) == text_of(again)
    assert text_of(one) != text_of(other)


def test_inputs_of_one_type_are_told_apart_by_their_lines():
    def program(is_swapped):
        made = [T.dvector("x")]
        made += [T.dvector("x")]
        return T.exp(made[is_swapped]) + made[not is_swapped]

    one, other, again = (program(swapped) for swapped in (False, True, False))
    assert text_of(one) == text_of(again) != text_of(other)


# ---- what beside the graph is in a key ----


@pytest.fixture
def task(monkeypatch):
    """What a function with a shared variable and two outputs is compiled from."""
    found = []
    monkeypatch.setattr(make, "finish", seen_by(found, make.finish))
    x, w = T.dvector("x"), shared(SIX, "w")
    theano.function([x], [T.exp(x), x * w], updates={w: w + 1}, name="f")
    assert plan_cache.key_of(found[0]) == plan_cache.key_of(found[0])
    return found[0]


def test_the_outputs_of_one_graph_are_a_part_of_the_key(task):
    first, second, value = task.expressions
    orders = (first, second, value), (first, first, value), (second, second, value)
    tasks = [replace(task, expressions=[*each, second, first]) for each in orders]
    assert len({plan_cache.key_of(each) for each in tasks}) == 3


PROPERTIES = [
    None, ..., False, True, 0, 1, 2, 0.0, -0.0, 1.0, 1 + 0j, 1j, "a", "b", "1", b"a",
    b"1", (), [], (1,), [1], (1, 2), (2, 1), ("a",), (("a",),), frozenset(), {1},
    {1, 2}, {}, {"a": 1}, {"a": 2}, {"b": 1}, np.dtype("f4"),
    np.dtype("i4"), np.float32(1), np.float64(1), np.float32(2), np.ones(1, "f4"),
    np.ones((1, 1), "f4"), np.zeros(1, "f4"), Softmax, CumOp, slice(1),
    T.dvector, T.fvector, T.dmatrix, Softmax(0), Softmax(1), TensorType,
]  # fmt: skip


def test_properties_that_differ_have_texts_that_differ():
    known = {}
    for value in PROPERTIES:
        text = plan_key.GraphWriter().value(value)
        assert text == plan_key.GraphWriter().value(copy.deepcopy(value))
        assert known.setdefault(text, value) is value, text
    assert len(known) == len(PROPERTIES)
    several = [f"name{i}" for i in range(9)]
    texts = {plan_key.GraphWriter().value(set(x)) for x in (several, several[::-1])}
    assert len(texts) == 1


@pytest.mark.parametrize(
    "value",
    [
        lambda x: x,
        np.array([None]),
        object(),
        Doubled,
        Doubled(),
        [Doubled],
        {"a": Doubled},
        SimpleNamespace(),
        iter(()),
    ],
)
def test_properties_of_a_programs_own_have_no_text(value):
    with pytest.raises(plan_key.Unknown):
        plan_key.GraphWriter().value(value)


def test_a_slice_is_written_with_all_its_parts():
    written = {
        plan_key.GraphWriter().value(slice(*parts))
        for parts in ((1, 2, 3), (0, 2, 3), (1, 0, 3), (1, 2, 0), (1, 2), (None, 1, 2))
    }
    assert len(written) == 6


def seen_by(found, finish):
    """``finish``, which notes its task."""

    def noting(task, *others):
        found.append(task)
        return finish(task, *others)

    return noting


def device(bin_id="a", name="b", is_cpu=True):
    return SimpleNamespace(bin_id=bin_id, name=name, is_cpu=is_cpu)


OTHER_TASKS = {
    "name": lambda task: "g",
    "variables": lambda task: [*task.variables, T.dvector("y")],
    "shared": lambda task: [*task.shared, shared(SIX, "u")],
    "expressions": lambda task: task.expressions[::-1],
    "selection": lambda task: [
        Selection(phases=()),
        replace(task.selection, including=frozenset({"fusion"})),
        replace(task.selection, excluding=frozenset({"fusion"})),
    ],
    "become": lambda task: [{}, {1: task.shared[0]}, {2: task.variables[0]}],
    "stay": lambda task: [frozenset(), frozenset({0, 2})],
    "home": lambda task: "another",
    "names": lambda task: [
        {None: "a"},
        {"b": "a"},
        {"b": "b"},
        {None: "a", "b": "a"},
    ],
    "contexts": lambda task: [
        {"a": device()},
        {"b": device()},
        {"a": device(bin_id="b")},
        {"a": device(name="c")},
        {"a": device(is_cpu=False)},
        {"a": device(), "b": device()},
    ],
    "settings": lambda task: [
        with_other(task.settings, each.name)
        for each in fields(task.settings)
        if each.name != "profile_optimizer"  # of which nothing is kept
    ],
}


def with_other(settings, name):
    """Settings that are another one by a value of the test's."""
    changed = copy.copy(settings)
    object.__setattr__(changed, name, "another")
    return changed


@pytest.mark.parametrize("part", [each.name for each in fields(compiling.Task)])
def test_tasks_that_differ_in_one_part_have_two_keys(part, task):
    others = OTHER_TASKS[part](task)
    if not isinstance(others, list) or part in ("variables", "shared", "expressions"):
        others = [others]
    keys = [plan_cache.key_of(replace(task, **{part: each})) for each in others]
    assert len({plan_cache.key_of(task), *keys}) == len(keys) + 1


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (gpuarray, "__version__", "9"),
        (np, "__version__", "9"),
        (sys, "version", "9"),
        (plan_cache, "package", lambda: "9"),
    ],
)
def test_other_versions_have_other_keys(module, name, value, task, monkeypatch):
    key = plan_cache.key_of(task)
    monkeypatch.setattr(module, name, value)
    assert plan_cache.key_of(task) != key


def test_the_code_of_the_package_is_in_its_python_and_its_libraries(tmp_path):
    (tmp_path / "inner").mkdir()
    for name in ("a.py", "b.so", "c.txt", "d.pyc", "inner/e.py", "inner/f.h"):
        (tmp_path / name).write_text(name)
    found = {path for path, _, _ in plan_cache._files(tmp_path)}
    assert found == {str(tmp_path / name) for name in ("a.py", "b.so", "inner/e.py")}


def test_the_code_of_the_package_is_the_arrays_and_the_compilers():
    found = {path for path, _, _ in plan_cache.package_files()}
    assert {gpuarray.__file__, plan_cache.__file__} <= found
