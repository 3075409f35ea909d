"""The body of a loop as users see it: printed, drawn, timed, checked, in errors."""

import re

import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import pytest
from gpuarray.compiler import OpFromGraph, config, function, scan
from gpuarray.compiler.printing import dot, view
from loops import numbers

pytestmark = pytest.mark.usefixtures("on_context")


@pytest.fixture
def on_context(context):
    with config.use(floatX="float64", device=context.name):
        yield context


def recurrent():
    """The inputs and the states of a small network, and arrays for the inputs."""
    x, start, w = T.dmatrix("x"), T.dvector("start"), T.dmatrix("w")
    out, _ = scan(
        lambda row, s, w: T.tanh(row + T.dot(s, w)),
        sequences=x,
        outputs_info=start,
        non_sequences=w,
        name="network",
    )
    return [x, start, w], out, (numbers(5, 3), numbers(3, seed=1), numbers(3, 3))


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
    inputs, out, _ = recurrent()
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
    _, out, _ = recurrent()
    assert theano.printing.pprint(out) == "network(x.shape[0], x, start, w).1"
    loop = out.owner.op
    assert repr(loop) == str(loop) == "for{network}"
    assert repr(loop.body) == (
        "Body((x[t], start[t-1], w) -> "
        "(Elemwise{tanh,no_inplace}.0, Elemwise{tanh,no_inplace}.0))"
    )


def test_listings_have_the_steps_of_bodies():
    inputs, out, _ = recurrent()
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
    inputs, out, _ = recurrent()
    shown = function(inputs, out) if is_compiled else out
    found = groups(view.data_of(dot.picture_of(shown, dot.Style(), "viz")))
    body = found["for{network}"]
    labels = [box["label"] for box in body["boxes"]]
    assert any("name=x[t]" in label for label in labels)
    assert any("tanh" in label for label in labels)
    ids = {box["id"] for box in body["boxes"]}
    assert all({edge["from"], edge["to"]} <= ids for edge in body["edges"])


def test_a_page_unfolds_ops_of_graphs():
    x = T.dvector("x")
    op = OpFromGraph([x], [T.exp(x) + 1], name="shifted")
    found = groups(view.data_of(dot.picture_of(op(T.dvector()), dot.Style(), "viz")))
    assert "name=x" in found["shifted"]["boxes"][0]["label"]


def test_a_page_is_written_for_loops(tmp_path):
    inputs, out, _ = recurrent()
    theano.printing.d3viz(function(inputs, out), tmp_path / "loop.html")
    assert "x[t]" in (tmp_path / "loop.html").read_text()


def test_pictures_have_the_bodies_of_loops_in_clusters():
    _, out, _ = recurrent()
    plain = theano.printing.pydotprint(out, format="dot", return_image=True)
    assert "subgraph" not in plain
    text = theano.printing.pydotprint(
        out, format="dot", return_image=True, scan_graphs=True
    )
    (cluster,) = re.findall(r'subgraph "cluster_\w+" \{(.*?)\n  \}', text, re.DOTALL)
    assert "an iteration of for{network}" in cluster
    assert re.search(r'"n\d\.n\d" -> "n\d\.n\d"', cluster)
