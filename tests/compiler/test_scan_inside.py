"""The body of a loop as users see it: printed, drawn, timed, checked, in errors."""

import re

import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import (
    MonitorMode,
    OpFromGraph,
    as_op,
    config,
    function,
    scan,
)
from gpuarray.compiler.errors import BadThunkOutput, NanGuardError
from gpuarray.compiler.gpukernels import lowers, step_function
from gpuarray.compiler.graph.core import Op
from gpuarray.compiler.ifelse import ifelse
from gpuarray.compiler.printing import dot, view
from loops import numbers, recurrent

pytestmark = pytest.mark.usefixtures("in_float64")


def stopping():
    """The inputs and states of a loop with a condition."""
    a = T.dvector("a")
    out, _ = scan(
        lambda s, a: (s * 2, theano.scan_module.until(s.sum() > 40)),
        outputs_info=T.ones_like(a),
        non_sequences=a,
        n_steps=64,
        name="doubled",
    )
    return [a], out


# ---- printed ----


def test_debugprint_of_a_function_shows_placed_bodies():
    inputs, out, *_ = recurrent()
    text = theano.printing.debugprint(function(inputs, out), file="str")
    outer, inner = text.split("Inner graphs of the scan ops:\n")
    assert re.search(r"for{network}\.1 \[id B\] ''   \d", outer)
    transfers = re.findall(r"GpuFromHost<None> \[id (\w+)\]", outer)
    assert "for{network}.0 [id B]" in inner
    for name in ("x[t]", "start[t-1]", "w"):
        arrow = rf"{re.escape(name)} \[id \w+\] -> \[id (\w+)\]"
        (source,) = set(re.findall(arrow, inner))
        assert source in transfers


def test_debugprint_names_loops_that_stop():
    inputs, out = stopping()
    assert "do_while{doubled}" in theano.printing.debugprint(out, file="str")
    compiled = theano.printing.debugprint(function(inputs, out), file="str")
    assert "do_while{doubled}" in compiled and "stopped [id" in compiled


def test_debugprint_shows_bodies_of_loops_in_bodies():
    x = T.dmatrix("x")
    zero = T.constant(0.0, dtype="float64")
    out, _ = scan(
        lambda row, total: scan(lambda a, s: T.tanh(s + a), row, total, name="inner")[
            0
        ][-1],
        x,
        zero,
        name="outer",
    )
    text = theano.printing.debugprint(out, file="str")
    assert text.index("\nfor{outer}.0") < text.index("\nfor{inner}.0")
    (inputs,) = re.findall(r"\nfor{inner}(.*)", text, re.DOTALL)
    assert re.search(r"x\[t\]\[t\] \[id \w+\] -> \[id \w+\]", inputs)


def test_loops_have_a_short_formula_and_repr():
    _, out, *_ = recurrent()
    assert theano.printing.pprint(out) == "network(x.shape[0], x, start, w).1"
    loop = out.owner.op
    assert repr(loop) == str(loop) == "for{network}"
    assert repr(loop.body) == (
        "Body((x[t], start[t-1], w) -> "
        "(Elemwise{tanh,no_inplace}.0, Elemwise{tanh,no_inplace}.0))"
    )


def test_listings_have_the_steps_of_bodies():
    inputs, out, *_ = recurrent()
    text = str(function(inputs, out).plan)
    body = text.split("<- network(")[1]
    assert re.search(r"\n {14}library .* <- gemv", body)
    assert re.search(r"\n {14}launch .* <- (add\+)?tanh", body)


# ---- drawn ----


def groups(data):
    """The groups of a page by their boxes' labels, those within groups too."""
    found = {}
    for box in data["boxes"]:
        if "group" in box:
            found[box["label"]] = box["group"]
            found |= groups(box["group"])
    return found


@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_page_unfolds_the_bodies_of_loops(is_compiled):
    inputs, out, *_ = recurrent()
    shown = function(inputs, out) if is_compiled else out
    found = groups(view.data_of(dot.picture_of(shown, dot.Style(), "viz")))
    body = found["for{network}"]
    labels = [box["label"] for box in body["boxes"]]
    assert any("name=x[t]" in label for label in labels)
    assert any("tanh" in label for label in labels)
    ids = {box["id"] for box in body["boxes"]}
    assert all({edge["from"], edge["to"]} <= ids for edge in body["edges"])


def test_a_page_of_a_profiled_function_has_the_times_of_bodies():
    inputs, out, given, _ = recurrent()
    f = function(inputs, out, profile=theano.ProfileStats())
    f(*given)
    found = groups(view.data_of(dot.picture_of(f, dot.Style(), "viz")))
    boxes = found["for{network}"]["boxes"]
    assert sum("seconds" in box for box in boxes) == 2  # a gemv and a launch


def test_a_page_unfolds_ops_of_graphs():
    x = T.dvector("x")
    op = OpFromGraph([x], [T.exp(x) + 1], name="shifted")
    found = groups(view.data_of(dot.picture_of(op(T.dvector()), dot.Style(), "viz")))
    assert "name=x" in found["shifted"]["boxes"][0]["label"]


def test_a_page_is_written_for_loops(tmp_path):
    inputs, out, *_ = recurrent()
    theano.printing.d3viz(function(inputs, out), tmp_path / "loop.html")
    assert "x[t]" in (tmp_path / "loop.html").read_text()


def test_pictures_have_the_bodies_of_loops_in_clusters():
    _, out, *_ = recurrent()
    plain = theano.printing.pydotprint(out, format="dot", return_image=True)
    assert "subgraph" not in plain
    text = theano.printing.pydotprint(
        out, format="dot", return_image=True, scan_graphs=True
    )
    (cluster,) = re.findall(r'subgraph "cluster_\w+" \{(.*?)\n  \}', text, re.DOTALL)
    assert "an iteration of for{network}" in cluster
    assert re.search(r'"n\d\.n\d" -> "n\d\.n\d"', cluster)


# ---- checked step by step ----


def notes(error):
    """An error's message and its notes."""
    return "\n".join([str(error), *getattr(error, "__notes__", [])])


def line_of(text, words):
    """The file's line that the text says something was made at, which has the words."""
    lines = re.findall(r"made at \S*test_scan_inside.py:\d+ in [^:]*: (.*)", text)
    return next(line for line in lines if words in line)


class Twice(Op):
    """Twice the input; the device is off by a tenth where an element is above 5."""

    __props__ = ()

    def infer(self, x):
        return x

    def reference(self, x):
        return 2 * x


@step_function("test: about twice")
def about_twice(x):
    return x * 2 + (x > 5) * 0.1


@lowers(Twice)
def lower_twice(op, node, k):
    k.call(node, "test: about twice", node.inputs)


def test_debug_mode_names_the_iteration_and_the_step_of_a_body():
    s = T.dvector("s")
    out, _ = scan(lambda s: Twice()(s), outputs_info=s, n_steps=6, name="doubling")
    f = function([s], out, mode="DebugMode")
    with pytest.raises(BadThunkOutput) as caught:
        f([1.0, 1.0])
    text = notes(caught.value)
    assert re.search(r"DebugMode: GpuTwice\S*\(s\[t-1\]\) gives", text)
    assert "in iteration 3 of doubling" in text
    assert line_of(text, "Twice()(s)")
    f([0.1, 0.1])  # no element is above 5


@pytest.mark.parametrize(
    "make", [lambda: recurrent()[:3], lambda: (*stopping(), ([1.0, 2.0],))]
)
def test_debug_mode_passes_loops_that_are_right(make):
    inputs, out, given = make()
    expected = function(inputs, out)(*given)
    got = function(inputs, out, mode="DebugMode")(*given)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def accumulated(x):
    """The gradient of a sum, whose state the reverse loop returns as it is."""
    sums, _ = scan(lambda a, s: s + T.tanh(a), x, T.zeros(()))
    return T.grad(sums[-1], x)


def chosen(x):
    """The gradient through branches, of which each iteration takes another."""
    h, _ = scan(lambda a, s: ifelse(T.gt(a, 0.0), s * a, s), x, T.ones(()))
    return T.grad(h.sum(), x)


def swapped(x):
    """Two states that change places."""
    (p, q), _ = scan(lambda p, q: [q, p + q], outputs_info=[x[0], x[1]], n_steps=1)
    return p[-1] + q[-1]


@pytest.mark.parametrize(
    "graph",
    [
        lambda x: scan(lambda a, s: T.tanh(a + s), x[:0], T.zeros(()))[0],
        lambda x: scan(lambda a, s: s, x, T.zeros(()))[0],
        accumulated,
        chosen,
        swapped,
    ],
)
def test_debug_mode_passes_states_that_stay(graph):
    x = T.dvector("x")
    expected = function([x], graph(x))([-1.0, 2.0, 0.5])
    found = function([x], graph(x), mode="DebugMode")([-1.0, 2.0, 0.5])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_debug_mode_looks_into_loops_in_loops():
    x, s = T.dmatrix("x"), T.dvector("s")

    def outer(row, s):
        inner, _ = scan(lambda q: Twice()(q), outputs_info=s + row, n_steps=2)
        return inner[-1]

    out, _ = scan(outer, x, s, name="outer")
    with pytest.raises(BadThunkOutput) as caught:
        function([x, s], out, mode="DebugMode")(np.zeros((3, 2)), [1.0, 1.0])
    text = notes(caught.value)
    assert text.index("in iteration 1 of scan_fn") < text.index("in iteration 1 of out")


def test_nan_guard_names_the_iteration_and_the_line_of_a_body():
    x, s = T.dmatrix("x"), T.dvector("s")

    def turn(row, s):
        scaled = s * 2
        return T.log(row) + scaled

    out, _ = scan(turn, x, s, name="logs")
    f = function([x, s], out, mode="NanGuardMode")
    f(np.ones((4, 2)), [1.0, 2.0])
    given = np.ones((4, 2))
    given[2, 1] = -1
    with pytest.raises(NanGuardError, match="holds nan") as caught:
        f(given, [1.0, 2.0])
    assert line_of(notes(caught.value), "T.log(row)")  # of all rows, before the loop
    with pytest.raises(NanGuardError, match="the input x holds nan"):
        f(given * np.nan, [1.0, 2.0])


def test_nan_guard_names_the_iteration_in_which_a_state_overflows():
    s = T.dvector("s")
    out, _ = scan(lambda s: T.exp(s) * s, outputs_info=s, n_steps=3, name="growth")
    f = function([s], out, mode="NanGuardMode")
    with pytest.raises(NanGuardError, match="a number beyond") as caught:
        f([1.0])
    text = notes(caught.value)
    assert "s[t-1]" in text and "in iteration 2 of growth" in text
    assert line_of(text, "T.exp(s) * s")
    with (
        config.use(**{"NanGuardMode.action": "warn"}),
        pytest.warns(UserWarning, match="an output of for{growth}"),
        pytest.warns(UserWarning, match="in iteration 2 of growth"),
    ):
        f([1.0])


def test_nan_guard_ignores_iterations_after_the_condition_held():
    s = T.dvector("s")
    out, _ = scan(
        lambda s: (s * 1e4, theano.scan_module.until(s.max() > 10)),
        outputs_info=s,
        n_steps=9,
    )
    f = function([s], out, mode="NanGuardMode")
    assert f([1.0]).tolist() == [[1e4], [1e8]]


def test_monitors_are_called_in_each_iteration():
    inputs, out, given, _ = recurrent()
    seen = []
    mode = MonitorMode(post_func=lambda i, node, fn: seen.append((i, str(node.op))))
    function(inputs, out, mode=mode)(*given)
    assert sum("tanh" in op for _, op in seen) == 5
    assert sum(op == "for{network}" for _, op in seen) == 1


# ---- errors of a run ----


def test_an_index_out_of_bounds_names_the_iteration_and_the_line():
    places, s, w = T.lvector("places"), T.dvector("s"), T.dmatrix("w")

    def turn(i, s, w):
        return T.tanh(s + w[i])

    out, _ = scan(turn, places, s, w, name="gathered")
    for on_device in (False, True):
        f = function([places, s, w], out, on_device=on_device)
        with pytest.raises(IndexError, match="index 7 is out of bounds") as caught:
            np.asarray(f([0, 1, 2, 7, 1], np.ones(3), np.ones((3, 3))))
        text = notes(caught.value)
        assert line_of(text, "T.tanh(s + w[i])")
        where = "an iteration" if on_device else "iteration 3"
        assert f"in {where} of gathered" in text
        assert np.isfinite(np.asarray(f([0, 1], np.ones(3), np.ones((3, 3))))).all()


def test_an_assertion_in_a_body_names_the_iteration_and_the_line():
    x, s = T.dmatrix("x"), T.dvector("s")

    def turn(row, s):
        return T.opt.Assert("too large")(s + row, (s < 3).all()) * 1

    out, _ = scan(turn, x, s, name="sums")
    f = function([x, s], out)
    assert f(np.ones((2, 2)), np.ones(2)).shape == (2, 2)
    with pytest.raises(AssertionError, match="too large") as caught:
        f(np.ones((5, 2)), np.ones(2))
    text = notes(caught.value)
    assert "in iteration 2 of sums" in text and line_of(text, "(s < 3).all()")
    assert len(text.splitlines()) <= 15


def test_shapes_that_do_not_fit_name_the_step_of_the_body():
    x, s, w = T.dmatrix("x"), T.dvector("s"), T.dmatrix("w")

    def turn(row, s, w):
        product = T.dot(s, w)
        return T.tanh(row + product)

    out, _ = scan(turn, x, s, w, name="network")
    f = function([x, s, w], out)
    with pytest.raises(ValueError, match="gemv") as caught:
        f(numbers(5, 3), numbers(3), numbers(4, 3))
    text = notes(caught.value)
    assert "in network: " in text and "s[t-1]: float64 of shape (3,)" in text
    assert line_of(text, "T.dot(s, w)") and "in iteration 0 of network" in text
    with pytest.raises(ValueError, match=r"\(3,\).*\(4,\)|3 against 4") as caught:
        f(numbers(5, 3), numbers(4), numbers(4, 4))
    assert line_of(notes(caught.value), "T.tanh(row + product)")


def test_an_error_of_python_in_a_body_names_the_iteration_and_the_line():
    @as_op(itypes=[T.dvector], otypes=[T.dvector])
    def fails_above_two(v):
        if v.max() > 2:
            raise RuntimeError("above two")
        return v

    x, s = T.dmatrix("x"), T.dvector("s")

    def turn(row, s):
        return fails_above_two(s) + row

    out, _ = scan(turn, x, s, name="sums")
    with pytest.raises(RuntimeError, match="above two") as caught:
        function([x, s], out)(np.ones((5, 2)), np.zeros(2))
    text = notes(caught.value)
    assert "in iteration 3 of sums" in text and line_of(text, "fails_above_two(s)")
