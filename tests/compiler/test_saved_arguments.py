"""Arguments of functions from files, taken and refused as before they were saved."""

import json

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray._files import function_files
from gpuarray.compiler import In, function, load
from test_saving import classifier, labels, rows

pytestmark = pytest.mark.filterwarnings("ignore:save.*the file is a pickle:UserWarning")


def test_wrong_calls(on_first, tmp_path):
    f = classifier()
    f.save(tmp_path / "f")
    g = load(tmp_path / "f", trusted=True)
    x, y = rows(6), labels(6)
    for args, named in [
        ((x,), {}),
        ((x, y, y), {}),
        ((x, y), {"y": y}),
        ((x,), {"z": y}),
    ]:
        with pytest.raises(TypeError, match="expected 2: x, y"):
            g(*args, **named)
    wrong = "classify: the value of w: given ndarray of dtype float64, expected"
    with pytest.raises(TypeError, match=wrong):
        g["w"] = np.zeros((4, 3))
    assert not g["w"].any() and g(x, y) == f(x, y)


def test_calls_that_do_not_fit_are_told_of_as_ever(on_first, tmp_path):
    a, b = T.matrix("x"), T.lvector("y")
    scores = T.nnet.softmax(T.dot(a, np.ones((4, 3), "float32")))
    cost = T.nnet.categorical_crossentropy(scores, b)
    function([a, b], cost, name="classify").save(tmp_path / "f")
    g = load(tmp_path / "f", trusted=True)
    x, y = rows(6), labels(6)
    for _ in range(2):
        with pytest.raises(ValueError, match="dimension mis-match") as caught:
            g(x, y[:3])
        assert caught.value.__notes__[-1].splitlines() == [
            "  in function classify",
            "  input x: float32 of shape (6, 4)",
            "  input y: int64 of shape (3,)",
        ]
        with pytest.raises(IndexError, match="index 7 is out of bounds"):
            g(x, y + 7 - y)
    with pytest.raises(ValueError, match="inner dimensions 3 and 4 differ") as caught:
        g(rows(6, 3), y)
    assert "input x: float32 of shape (6, 3)" in caught.value.__notes__[-1]


@pytest.mark.parametrize(("count", "more"), [(8, []), (10, ["  and 2 more"])])
def test_the_first_inputs_are_told_of_a_call(on_first, tmp_path, count, more):
    inputs = [T.vector(f"x{i}") for i in range(count)]
    function(inputs, sum(inputs[1:], inputs[0]), name="sum").save(tmp_path / "f")
    arrays = [np.ones(2 + (i == 1), "float32") for i in range(count)]
    with pytest.raises(ValueError) as caught:
        load(tmp_path / "f")(*arrays)
    lines = caught.value.__notes__[-1].splitlines()
    assert lines[0] == "  in function sum"
    assert lines[2] == "  input x1: float32 of shape (3,)"
    assert lines[8:] == ["  input x7: float32 of shape (2,)", *more]


def outcome(f, *args):
    """What a call gives: results, or the first line of a TypeError or ValueError."""
    try:
        return [np.asarray(each).tolist() for each in f(*args)]
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        return kind, str(error).splitlines()[0]


NUMBERS = [
    *(1, 1.0, 1.5, True, 127, 128, 300, -129, 2**31, 2**40, 2**63, 2**70, -(2**70)),
    *(None, "a", 1j, [1], [1, 2], np.nan, np.inf, object),
    *(np.int8(1), np.int64(1), np.uint8(1), np.float64(1), np.array(1, "int16")),
]


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "bool"])
@pytest.mark.parametrize("how", ["plain", "downcast", "exact", "strict"])
def test_integers_are_taken_as_by_the_function_that_was_saved(
    on_first, tmp_path, dtype, how
):
    x, k = T.vector("x"), T.tensor(dtype, (), "k")
    how_taken = {
        "plain": {},
        "downcast": {"allow_downcast": True},
        "exact": {"allow_downcast": False},
        "strict": {"strict": True},
    }[how]
    at = T.cast(k, "int64")
    given = In(k, value=np.array(1, dtype), **how_taken)
    f = function([x, given], [x[:at], at + 1], name="head")
    f.save(tmp_path / "f")
    loaded = [
        load(tmp_path / "f"),
        gpuarray.load_function(tmp_path / "f", on_first),
    ]
    values = rows(1)[0]
    numbers = [*NUMBERS, *(gpuarray.asarray(np.array(1, t)) for t in ("i1", "i8"))]
    for g in loaded:
        assert outcome(g, values) == outcome(f, values)
        for number in numbers:
            assert outcome(g, values, number) == outcome(f, values, number), number


def test_arrays_are_taken_as_by_the_function_that_was_saved(on_first, null, tmp_path):
    x, r = T.matrix("x"), T.row("r")
    f = function([In(x, strict=True), r], [x + r], name="sums")
    f.save(tmp_path / "f")
    g = gpuarray.load_function(tmp_path / "f", on_first)
    a = rows(2)
    wrong = [
        *((a.tolist(), a[:1]), (a, a), (a, a.tolist()), (a.astype("float64"), a[:1])),
        *((a, a[0]), (a, [[1, 2], [3]]), (a, [[1j]]), (a, "a"), (a, None)),
    ]
    for args in wrong:
        assert outcome(g, *args)[0] is TypeError
        assert outcome(g, *args) == outcome(f, *args)
        try:
            there = [gpuarray.asarray(each, context=on_first) for each in args]
        except (TypeError, ValueError):
            continue
        assert outcome(g, *there) == outcome(f, *there)
    there = gpuarray.asarray(a, context=null)
    assert outcome(g, there, a[:1])[0] is ValueError
    assert outcome(g, there, a[:1]) == outcome(f, there, a[:1])
    assert outcome(g, a, a[:1]) == outcome(f, a, a[:1]) == [(a + a[:1]).tolist()]


def test_a_file_that_does_not_tell_the_dtypes_of_integers(
    on_first, tmp_path, monkeypatch
):
    def packed(interface, graph):
        new = ("integer", "broadcastable", "rounds", "kind")
        fields = dict(vars(interface), inputs=[])
        for each in interface.inputs:
            old = {n: v for n, v in vars(each).items() if n not in new}
            fields["inputs"].append(old | {"dtype": None} if each.integer else old)
        head = json.dumps(fields).encode()
        return len(head).to_bytes(8, "little") + head + graph

    x, k = T.vector("x"), T.iscalar("k")
    f = function([x, k], [x[:k], x.sum() + 1.5], name="head")
    monkeypatch.setattr(function_files, "packed", packed)
    f.save(tmp_path / "f")
    g = gpuarray.load_function(tmp_path / "f", on_first)
    values = rows(1)[0]
    assert outcome(g, values, 2) == outcome(f, values, 2)
    assert outcome(g, values, 2**40)[0] == values.tolist()
    kind, text = outcome(g, values, 2**70)
    assert kind is TypeError and "head: input 1 (k): given int" in text
    assert "expected int64 of 0 axes" in text
