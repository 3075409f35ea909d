"""Texts of plans: what is read is what was written, and a damaged text is none."""

import json
import pickle
import random
from dataclasses import fields, is_dataclass, replace

import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import plan as p, shared
from gpuarray.compiler.encoding import Encoding, Unencodable
from gpuarray.compiler.function.plan_cache import (
    ENCODING,
    PLANS,
    RECORDS,
    Finished,
    calls,
    find,
)
from gpuarray.compiler.ifelse import ifelse
from gpuarray.compiler.ops.fused import row_steps

pytestmark = pytest.mark.usefixtures("on_context")
PLAIN = Encoding(())


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -(2**80),
        0.1,
        -0.0,
        float("inf"),
        2 - 0.5j,
        complex("-inf"),
        'text "\n\ud800é',
        b"",
        bytes(range(256)),
        (),
        ((1, "a"), [None, (2.5,)], {"k": (1,), 2: [b"x"]}),
        ...,
        np.dtype("float16"),
        np.dtype("complex128"),
    ],
)
def test_values_come_back(value):
    found = PLAIN.decode(PLAIN.encode(value))
    assert (repr(found), type(found)) == (repr(value), type(value))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "f2", "f8", "c8"])
@pytest.mark.parametrize("shape", [(), (0, 3), (4,), (2, 3, 2)])
@pytest.mark.parametrize("order", "CF")
def test_arrays_come_back(dtype, shape, order):
    array = np.array(np.arange(np.prod(shape)).reshape(shape), dtype, order=order)
    found = PLAIN.decode(PLAIN.encode(array))
    np.testing.assert_array_equal(found, array, strict=True)
    assert found.strides == array.strides or array.size == 0
    assert found.flags.writeable


@pytest.mark.parametrize("value", [np.float32(1.5), np.int64(-3), np.bool_(True)])
def test_numbers_of_numpy_keep_their_dtype(value):
    found = PLAIN.decode(PLAIN.encode(value))
    assert found == value and type(found) is type(value)


class Text(str):
    """A text of a program's own."""


@pytest.mark.parametrize(
    "value",
    [
        object(),
        print,
        Text("x"),
        np.array([None]),
        np.array(["a"]),
        np.dtype("O"),
        np.arange(3).astype(">i4"),
        p.IntValue(),
        {1, 2},
    ],
)
def test_other_values_have_no_text(value):
    for each in (value, (value,), {"k": value}):
        with pytest.raises(Unencodable):
            PLAIN.encode(each)


def test_a_field_is_of_the_type_that_its_class_declares():
    right = p.HostInt("label", "", (1,), (), 3)
    assert ENCODING.decode(ENCODING.encode(right)) == right
    for wrong in (
        {"value": 3.0},
        {"value": True},
        {"outs": [1]},
        {"outs": (1, "2")},
        {"label": None},
        {"when": ((1, 2),)},
    ):
        with pytest.raises(Unencodable):
            ENCODING.encode(replace(right, **wrong))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"nul",
        b"\xff",
        b"{}",
        b'{"list":1}',
        b'{"list":[],"dict":[]}',
        b'{"dict":[[1]]}',
        b'{"dict":[[{"list":[]},1]]}',
        b'{"complex":[1]}',
        b'{"complex":["1","2"]}',
        b'{"bytes":"%"}',
        b'{"bytes":7}',
        b'{"dtype":"object"}',
        b'{"dtype":[]}',
        b'{"array":["int8","C",[2],"AAAA"]}',
        b'{"array":["int8","C",[-3],"AAAA"]}',
        b'{"array":["int8","C",[-1,-3],"AAAA"]}',
        b'{"array":["int8","K",[3],"AAAA"]}',
        b'{"array":["int8","C",[3.0],"AAAA"]}',
        b'{"os.system":["true"]}',
        b'{"plan.IntValue":[1]}',
        b'{"plan.HostInt":["a","b",[1],[],"","","","",1]}',
        b"[" * 100_000,
        b"1" * 10_000,
    ],
)
def test_texts_of_no_value(text):
    with pytest.raises(Unencodable):
        ENCODING.decode(text)


# ---- plans ----


def classes(kind):
    """A class and all that are made from it."""
    return {kind}.union(*map(classes, kind.__subclasses__()))


def test_all_steps_have_texts():
    steps = {each for each in classes(p.Step) if each.__module__ == p.__name__}
    # A class with slots is made twice; the one that the module has counts.
    steps = {each for each in steps if getattr(p, each.__name__) is each}
    made = set(row_steps.AnyStep.__args__)
    assert steps - {p.Step, p.LoopStep} <= set(RECORDS)  # loops are of files' bodies
    assert made <= set(RECORDS)
    assert len({each.__name__ for each in (p.ArrayValue, p.IntValue)}) == 2


def logistic():
    x, y = T.matrix("x"), T.vector("y")
    w, b = shared(np.zeros(7, "f4"), "w"), shared(np.float32(0), "b")
    p_1 = 1 / (1 + T.exp(-T.dot(x, w) - b))
    cost = (-y * T.log(p_1) - (1 - y) * T.log(1 - p_1)).mean()
    gw, gb = T.grad(cost, [w, b])
    rate = np.float32(0.1)
    updates = {w: w - rate * gw, b: b - rate * gb}
    return [x, y], [p_1 > 0.5, cost], {"updates": updates}


def perceptron():
    x, y = T.matrix("x"), T.lvector("y")
    w, v = shared(np.ones((5, 4), "f4"), "w"), shared(np.ones((4, 3), "f4"), "v")
    b = shared(np.zeros(3, "f4"), "b")
    rows = T.nnet.softmax(T.dot(T.tanh(T.dot(x, w)), v) + b)
    cost = -T.log(rows)[T.arange(y.shape[0]), y].mean()
    rate = np.float32(0.1)
    parameters = [w, v, b]
    gradients = T.grad(cost, parameters)
    updates = [(q, q - rate * g) for q, g in zip(parameters, gradients, strict=True)]
    return [x, y], [cost, rows.argmax(axis=1)], {"updates": updates}


def normalized_rows():
    x = T.matrix("x")
    centred = x - x.mean(axis=1, keepdims=True)
    return [x], [centred / T.sqrt(T.sqr(centred).mean(axis=1, keepdims=True))], {}


def shapes():
    x, y = T.matrix("x"), T.vector("y")
    flat = x.reshape((x.shape[0] * x.shape[1],))
    zeros = T.zeros((x.shape[1] // 2, y.shape[0] + 1))
    pairs = x.reshape((-1, 2)).sum(axis=1)
    return [x, y], [x.mean(axis=0), flat * x.shape[0], zeros, pairs, x.T + y], {}


def chosen():
    x, flag = T.vector("x"), T.bscalar("flag")
    return [x, flag], [ifelse(flag, x * 2, T.exp(x))], {}


def changed():
    x, i = T.matrix("x"), T.lvector("i")
    ones = T.set_subtensor(x[1:, ::2], np.float32(1))
    return [x, i], [ones, T.inc_subtensor(x[i], 2), x[i, 1:], x[-1, 1]], {}


def sorted_and_joined():
    x = T.vector("x")
    both = T.concatenate([x, T.sort(x), T.cumsum(x)])
    return [x], [both, T.nonzero(x > 0)[0], both.reshape((3, -1)), x[:, None].T], {}


def constants():
    x = T.matrix("x")
    table = np.asfortranarray(np.arange(6.0, dtype="f4").reshape(2, 3))
    return [x], [T.dot(x, T.constant(table)), x.shape], {}


PROGRAMS = [
    logistic, perceptron, normalized_rows, shapes, chosen, changed, sorted_and_joined,
    constants,
]  # fmt: skip


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    """The folder of plans; kernels stay where they are."""
    monkeypatch.setattr(PLANS, "folder", lambda: tmp_path)
    return tmp_path


def entry(build, kept):
    """The key and text that a program's plan is kept under, and its plan."""
    inputs, outputs, options = build()
    made = theano.function(inputs, outputs, **options)
    (path,) = kept.iterdir()
    return path.stem, PLANS.find(path.stem), made.plan


def same(one, other):
    """Whether two values are of the same types and equal, to the last field."""
    if type(one) is not type(other):
        return False
    if is_dataclass(one):
        names = [each.name for each in fields(one)]
        return all(same(getattr(one, n), getattr(other, n)) for n in names)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return one == other


@pytest.mark.parametrize("build", PROGRAMS, ids=lambda each: each.__name__)
def test_plans_come_back(build, kept):
    key, content, plan = entry(build, kept)
    found = find(key)
    assert same(found.plan, plan)
    assert str(found.plan) == str(plan)
    assert ENCODING.encode(found) == content


def test_a_plan_of_several_contexts_comes_back():
    step = p.Copy("copy", "", (1,), (0,), place="other", when=((0, True),))
    values = p.ArrayValue("float32", (False,), "other"), p.ArrayValue("f4", (True,))
    finished = Finished(p.Plan("f", values, 1, (), (step,), (1,)), (True, False))
    assert same(ENCODING.decode(ENCODING.encode(finished)), finished)


def leaves(tree, path=()):
    """The paths of all that is in a tree of lists and dictionaries."""
    yield path
    if isinstance(tree, list | dict):
        items = enumerate(tree) if isinstance(tree, list) else tree.items()
        for at, each in items:
            yield from leaves(each, (*path, at))


STRANGE = [None, -1, 10**30, 1.5, "x", [], {}, True, [[1]], {"list": []}, "0", 7]


def damaged(tree, draw):
    """The tree with something else at one place."""
    path = draw.choice([each for each in leaves(tree) if each])
    copy = json.loads(json.dumps(tree))
    at = copy
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = draw.choice(STRANGE)
    return copy


@pytest.mark.parametrize("build", PROGRAMS, ids=lambda each: each.__name__)
def test_a_text_that_is_damaged_is_a_plan_or_none(build, kept):
    """Behind the seal, which tells all damage but that of somebody who seals anew."""
    draw = random.Random(build.__name__)
    key, content, _ = entry(build, kept)
    tree = json.loads(content)
    for _ in range(60):
        cut = content[: draw.randrange(len(content))]
        flipped = bytearray(content)
        flipped[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        changed = json.dumps(damaged(tree, draw)).encode()
        for each in (cut, bytes(flipped), changed):
            try:
                found = ENCODING.decode(each)
            except Unencodable:
                continue
            if isinstance(found, Finished):
                assert same(ENCODING.decode(ENCODING.encode(found)), found)
    for _ in range(3):
        PLANS.keep(key, json.dumps(damaged(tree, draw)).encode())
        found = find(key)
        assert found is None or isinstance(calls(found.plan), set)


def test_a_file_that_is_damaged_is_made_anew(kept):
    draw = random.Random(5)
    x, w = np.arange(6, dtype="f4").reshape(2, 3), np.ones(3, "f4")

    def call():
        a, b = T.matrix("a"), T.vector("b")
        return theano.function([a, b], T.tanh(T.dot(a, b)))(x, w)

    expected = call()
    (path,) = kept.iterdir()
    good = path.read_bytes()
    for count in range(2000):
        data = bytearray(good)
        if count % 2:
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        else:
            del data[draw.randrange(len(data)) :]
        path.write_bytes(data)
        assert find(path.stem) is None
        if count < 6:
            np.testing.assert_array_equal(call(), expected)
            assert path.read_bytes() == good


class Marks:
    """Unpickled, it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_a_pickle_in_the_folder_is_not_read(kept, tmp_path_factory):
    key, _, _ = entry(logistic, kept)
    mark = tmp_path_factory.mktemp("marks") / "mark"
    PLANS.keep(key, pickle.dumps(Marks(mark)))
    assert find(key) is None
    assert not mark.exists()
    pickle.loads(pickle.dumps(Marks(mark))).close()
    assert mark.exists()  # it would have made one


@pytest.mark.parametrize(
    "changes",
    [
        {"outputs": (9,)},
        {"outputs": (-1,)},
        {"n_inputs": 3},
        {"constants": ((5, np.zeros(2)),)},
        {"steps": (p.Copy("copy", "", (1,), (2,)),)},
        {"steps": (p.Copy("copy", "", (1,), (0,), when=((2, True),)),)},
        {"steps": (p.Call("f", "", (1,), (0,), "system", (), (-1,), (), True),)},
    ],
)
def test_numbers_of_values_that_are_not_there(changes):
    value = p.ArrayValue("float32", (False,))
    step = p.Copy("copy", "", (1,), (0,))
    right = p.Plan("f", (value, value), 1, (), (step,), (1,))
    for key, plan in (("a" * 32, right), ("b" * 32, replace(right, **changes))):
        PLANS.keep(key, ENCODING.encode(Finished(plan, (True,))))
    assert find("a" * 32).plan == right
    assert find("b" * 32) is None
