"""What the file of a function knows of its inputs, its values and its outputs."""

import warnings

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import In, Op, config, function, load, shared
from gpuarray.compiler.function import host_fallback, saving
from gpuarray.compiler.graph.core import Apply

pytestmark = pytest.mark.usefixtures("on_context")
GIVEN = np.array([1, 2, 3], "float32")


def kept():
    """A function that keeps values of each kind, under names that are not unique."""
    x, y, z = T.fvector("x"), T.fvector("y"), T.fvector("w")
    k = T.lscalar("k")
    zeros = np.zeros(3, "float32")
    w, twin, nameless = shared(zeros, "w"), shared(zeros + 1, "w"), shared(zeros + 2)
    unread = shared(zeros, "unread")
    inputs = [
        x,
        k,
        In(y, value=zeros + 3, update=y + x),
        In(z, value=zeros + 4, implicit=True),
        In(T.fvector("v"), value=zeros + 5, name="named"),
    ]
    total = w + twin + nameless + y + z + inputs[-1].variable
    updates = {w: w + x, unread: x * 2}
    return function(inputs, {"total": total, "k": x[:k]}, updates=updates, name="f")


def test_each_value_is_kept_under_a_name_of_its_own():
    f = kept()
    told = [
        (each.name, each.place, each.output, each.optional)
        for each in saving.kept_values(f)
    ]
    assert told == [
        ("w", 4, 2, False),
        ("w_2", 5, -1, False),
        ("value", 6, -1, False),
        ("unread", -1, 3, False),
        ("y", 1, 4, True),
        ("w_3", 2, -1, False),
        ("named", 3, -1, True),
    ]
    assert saving._name(None, "value", set()) == "value"
    taken = {"value", "value_2"}
    assert saving._name("", "value", taken) == "value_3" and "value_3" in taken


def test_each_input_is_told_as_a_call_may_give_it():
    f = kept()
    told = saving.interface_of(f)
    assert [each.name for each in told.inputs] == ["x", "k", "y", "named"]
    assert [each.place for each in told.inputs] == [0, 0, 1, 2]
    assert [each.integer for each in told.inputs] == [False, True, False, False]
    assert [each.optional for each in told.inputs] == [False, False, True, True]
    assert [each.value for each in told.inputs] == [None] * 4
    assert [each.rounds for each in told.inputs] == [True, False, True, True]
    assert (told.name, told.form) == ("f", ("total", "k"))


def test_a_file_is_called_as_its_function(tmp_path):
    f = kept()
    f.save(tmp_path / "f")
    again = load(tmp_path / "f")
    for each in (f, again):
        for y in (3, 4):
            made = each(GIVEN, 2)
            told = 1 + 2 + 4 + 5 + (y - 3) * GIVEN + (3 + (y - 3) * GIVEN)
            assert made["total"].tolist() == told.tolist()
            assert made["k"].tolist() == [1, 2]
        assert each(GIVEN, k=1, named=GIVEN * 0)["k"].tolist() == [1]
        assert each["unread"].tolist() == [2, 4, 6]
        assert each["y"].tolist() == [6, 9, 12]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("downcast", [None, True, False])
@pytest.mark.parametrize("value", [0.1, 0.5, np.float64(0.1)])
def test_a_file_takes_what_its_function_takes(tmp_path, strict, downcast, value):
    x = T.fscalar("x")
    f = function([In(x, strict=strict, allow_downcast=downcast)], x * 2)
    f.save(tmp_path / "f")
    outcomes = []
    for each in (f, load(tmp_path / "f")):
        try:
            outcomes.append(float(each(value)))
        except TypeError:
            outcomes.append("refused")
    assert outcomes[0] == outcomes[1]
    assert (outcomes[0] == "refused") == (
        strict
        or (downcast is False and float(np.float32(value)) != float(value))
        or (downcast is None and type(value) is not float)
    )


class Hosted(Op):
    """An op that Python computes."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = inputs[0] + 1


@pytest.mark.filterwarnings("ignore::gpuarray.HostNotice")
def test_why_a_file_is_a_pickle_is_told(tmp_path):
    x, n = T.fvector("x"), T.lscalar("n")
    plain = function([x], x * 2)
    assert saving.only_in_python(plain) == ""
    hosted = function([x], Hosted()(x), name="f")
    told = saving.only_in_python(hosted)
    assert told.startswith("its step reference (GpuHosted")
    assert told.endswith(") is computed in Python")
    counting = function([x, In(n, value=1, update=n + 1)], x[n:], name="g")
    assert saving.only_in_python(counting) == "the input n, an integer, is kept"
    hidden = function([x, In(n, value=1, implicit=True)], x[n:])
    assert saving.only_in_python(hidden) == "the input n, an integer, is kept"
    optional = function([x, In(n, value=1)], x[n:])
    assert saving.only_in_python(optional) == ""
    (told,) = [each for each in saving.interface_of(optional).inputs if each.integer]
    assert (told.value, told.optional, told.name) == (1, False, "n")
    with pytest.warns(UserWarning, match="save: f: its step .* the file is a pickle"):
        hosted.save(tmp_path / "f")
    with pytest.raises(ValueError, match="trusted"):
        load(tmp_path / "f")
    assert load(tmp_path / "f", trusted=True)(GIVEN).tolist() == [2, 3, 4]
    damaged = bytearray((tmp_path / "f").read_bytes())
    damaged[-1] ^= 1
    (tmp_path / "g").write_bytes(damaged)
    with pytest.raises(ValueError, match=r"damaged|hash|digest"):
        load(tmp_path / "g", trusted=True)


class ByNumpy(Op):
    """An op that has a reference and no device version."""

    __props__ = ()

    def infer(self, x):
        return x

    def reference(self, x):
        return x + 1


def test_what_runs_on_the_host_is_told_as_the_setting_says(monkeypatch):
    monkeypatch.setattr(host_fallback, "told", set())
    x = T.fvector("x")
    for op in (Hosted(), ByNumpy()):
        with config.use(assert_no_cpu_op="raise"):
            with pytest.raises(AssertionError, match="runs on the host"):
                function([x], op(x))
            assert function([x], x * 2)(GIVEN).tolist() == [2, 4, 6]
        noticed = pytest.warns(gpuarray.HostNotice, match="runs on the host")
        with config.use(assert_no_cpu_op="warn"), noticed:
            function([x], op(x))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        function([x], Hosted()(x))
        assert not seen
        for _ in range(2):  # told of once
            function([x], ByNumpy()(x))
        assert [each.category for each in seen] == [gpuarray.HostNotice]
    assert "ByNumpy has no device version" in str(seen[0].message)
    assert host_fallback.told == {"ByNumpy"}
