"""Print and Assert, pictures by Graphviz, and the page for a browser."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import FunctionGraph, function, grad, printing, shared
from gpuarray.compiler.ops.control.debugging import Assert, Print
from gpuarray.compiler.printing import dot, view

X = np.arange(1.0, 4.0)


def test_print_shows_a_value_each_time_it_is_computed(capsys, context):
    x = T.dvector("x")
    f = function([x], Print("twice")(x * 2).sum())
    assert (f(X), f(X + 1)) == (12, 18)
    assert capsys.readouterr().out == (
        "twice __str__ = [2. 4. 6.]\ntwice __str__ = [4. 6. 8.]\n"
    )


def test_print_shows_attributes_of_values_and_of_lengths(capsys, context):
    x = T.fmatrix("x")
    shown = Print("x", attrs=("shape", "dtype", "max"))(x)
    f = function([x], [shown, Print("n")(x.shape[0])])
    f(np.ones((2, 3), "float32"))
    lines = set(capsys.readouterr().out.splitlines())
    assert lines == {
        "x shape = (2, 3)", "x dtype = float32", "x max = 1.0", "n __str__ = 2"
    }  # fmt: skip


def test_print_calls_a_function_of_the_program(context):
    seen = []
    x = T.dvector("x")
    op = Print(
        "p", global_fn=lambda op, value: seen.append((op.message, value.tolist()))
    )
    function([x], op(x))(X)
    assert seen == [("p", [1, 2, 3])]


def test_a_gradient_goes_through_print_and_assert(capsys, context):
    x = T.dvector("x")
    y = Assert("short")(Print("y")(x**2), x.shape[0] < 9)
    f = function([x], grad(y.sum(), x))
    np.testing.assert_allclose(f(X), 2 * X)


def test_print_sees_a_shared_variable_before_it_is_overwritten(capsys, context):
    w = shared(np.zeros(2), "w")
    f = function([], Print("w")(w) + 0.5, updates={w: w + 1})
    f()
    f()
    assert capsys.readouterr().out == "w __str__ = [0. 0.]\nw __str__ = [1. 1.]\n"
    np.testing.assert_allclose(w.get_value(), [2, 2])


def test_assert_raises_with_its_message_and_the_users_line(context):
    x = T.dvector("x")
    f = function([x], Assert("x is positive")(x, T.gt(x, 0).all()) + 1)
    np.testing.assert_allclose(f(X), X + 1)
    with pytest.raises(AssertionError, match="x is positive") as caught:
        f(-X)
    assert "test_seeing.py" in "".join(caught.value.__notes__)
    np.testing.assert_allclose(f(X), X + 1)  # the function lives on


def test_assert_is_gone_where_its_conditions_are_known_to_hold(context):
    x = T.dvector("x")
    kept = function([x], T.opt.assert_op(x, T.eq(x.shape[0], 3), True))
    gone = function([x], T.opt.Assert()(x, 1, True))
    ops = [
        [type(n.op).__name__ for n in f.maker.fgraph.toposort()] for f in (kept, gone)
    ]
    assert "GpuAssert" in ops[0] and "GpuAssert" not in ops[1]
    (node,) = [n for n in kept.maker.fgraph.toposort() if "Assert" in str(n.op)]
    assert len(node.inputs) == 2
    with pytest.raises(AssertionError, match="Assert failed"):
        function([x], T.opt.assert_op(x, False))(X)


def logistic():
    x = T.dmatrix("x")
    w, b = shared(np.ones(3), name="w"), shared(0.0, name="b")
    return x, w, b, T.nnet.sigmoid(T.dot(x, w) + b) * 2


def training(**options):
    x, w, b, y = logistic()
    cost = (y**2).sum()
    new = [(v, v - 0.1 * g) for v, g in zip((w, b), grad(cost, [w, b]), strict=True)]
    return function([x], [cost], updates=new, name="train", **options)


def test_the_picture_of_an_expression_as_text():
    x, y = T.dvector("x"), T.dvector("y")
    z = T.exp(x) + y
    z.name = "z"
    text = printing.pydotprint(z, format="dot", return_image=True)
    vector = "TensorType(float64, vector)"
    node = 'shape="ellipse" style="filled" fillcolor="#FFAABB"'
    box = 'shape="box" style="filled" fillcolor='
    assert text.splitlines() == [
        "digraph graph_ {",
        f'  v0 [label="name=x {vector}" {box}"green"];',
        f'  v1 [label="name=y {vector}" {box}"green"];',
        f'  n2 [label="Elemwise{{exp,no_inplace}}" {node}];',
        f'  n3 [label="Elemwise{{add,no_inplace}}" {node}];',
        f'  v4 [label="name=z {vector}" {box}"blue" fontcolor="white"];',
        "  v0 -> n2 [];",
        f'  n2 -> n3 [label="0 {vector}"];',
        '  v1 -> n3 [label="1"];',
        "  n3 -> v4 [];",
        "}",
    ]


def test_pictures_take_theanos_options(tmp_path, capsys):
    x = T.dvector("x")
    y = T.exp(x).sum()
    wide = printing.pydotprint(y, compact=False, format="dot", return_image=True)
    assert wide.count('shape="box"') == 3 and "n1 -> v3" in wide
    ids = printing.pydotprint(y, with_ids=True, format="dot", return_image=True)
    assert "id=0 Elemwise{exp" in ids and "id=1 Sum" in ids
    short = printing.pydotprint(y, max_label_size=13, format="dot", return_image=True)
    assert max(map(len, re.findall('label="([^"]*)"', short))) == 13
    simple = printing.pydotprint(
        y, var_with_name_simple=True, format="dot", return_image=True
    )
    assert 'label="x"' in simple
    pale = printing.pydotprint(y, high_contrast=False, format="dot", return_image=True)
    assert "filled" not in pale and 'color="#FFAABB"' in pale
    own = printing.pydotprint(
        y, colorCodes={"Sum": "pink", "Reduce": "gold"}, format="dot", return_image=True
    )
    assert "gold" in own and "#FFAABB" not in own
    out = tmp_path / "y.dot"
    assert printing.pydotprint_variables(y, out) is None
    assert out.read_text() == printing.pydotprint(y, format="dot", return_image=True)
    assert str(out) in capsys.readouterr().out
    printing.pydotprint(y, tmp_path / "quiet.dot", print_output_file=False)
    assert capsys.readouterr().out == ""


def test_the_picture_of_a_function_shows_updates_views_and_what_is_overwritten(context):
    text = printing.pydotprint(training(), format="dot", return_image=True)
    assert text.count('label="UPDATE"') == 2
    assert text.count('fillcolor="cyan"') == 2 and 'color="red"' in text
    names = re.findall(r"^  (\w+) \[", text, re.M)
    edges = re.findall(r"^  (\w+) -> (\w+)", text, re.M)
    assert len(names) == len(set(names))
    assert {name for edge in edges for name in edge} <= set(names)


def test_labels_are_quoted():
    assert dot.quoted('a "b" \\dot\nc') == '"a \\"b\\" \\\\dot\\nc"'


def test_without_graphviz_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    x = T.dvector("x")
    with pytest.raises(RuntimeError, match="apt install graphviz") as caught:
        printing.pydotprint(x + 1, tmp_path / "x.png")
    assert str(tmp_path / "x.dot") in str(caught.value)
    assert (tmp_path / "x.dot").read_text().startswith("digraph")
    assert not (tmp_path / "x.png").exists()


def test_graphviz_draws(tmp_path, monkeypatch):
    """With a program of this name that says what it was asked for."""
    program = tmp_path / "dot"
    program.write_text('#!/bin/sh\necho "$1"\ncat\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    x = T.dvector("x")
    printing.pydotprint(x + 1, tmp_path / "x", format="svg", print_output_file=False)
    assert (tmp_path / "x.svg").read_text().startswith("-Tsvg\ndigraph")
    image = printing.pydotprint(x + 1, format="png", return_image=True)
    assert image.startswith(b"-Tpng\n")
    program.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    with pytest.raises(Exception, match="dot failed: broken"):
        printing.pydotprint(x + 1, return_image=True)


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_reads_what_is_written(tmp_path, context):
    image = printing.pydotprint(training(), format="png", return_image=True)
    assert image.startswith(b"\x89PNG")
    svg = printing.pydotprint(logistic()[-1], format="svg", return_image=True)
    assert "<svg" in svg and "name=w" in svg


def data_of(path):
    text = Path(path).read_text()
    (found,) = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', text, re.S
    )
    return text, json.loads(found)


def test_the_page_is_one_file_that_needs_no_network(tmp_path, context):
    printing.d3viz(training(), tmp_path / "train.html")
    assert [each.name for each in tmp_path.iterdir()] == ["train.html"]
    text, data = data_of(tmp_path / "train.html")
    links = re.findall(r"https?://[^\"' ]*", text)
    assert set(links) == {"http://www.w3.org/2000/svg"}  # a name, nothing to load
    assert not re.findall(r"<link|@import|src=", text)
    assert "<title>train</title>" in text
    ids = [box["id"] for box in data["boxes"]]
    assert len(ids) == len(set(ids))
    assert {e[end] for e in data["edges"] for end in ("from", "to")} <= set(ids)
    groups = [box for box in data["boxes"] if "group" in box]
    assert groups and all(len(box["group"]["boxes"]) > 3 for box in groups)
    node = groups[0]
    assert "float64" in node["facts"]["input 0"]
    assert "test_seeing.py" in node["facts"]["made at"]


def test_nothing_in_a_page_ends_its_script(tmp_path):
    x = T.dvector("</script><b>")
    printing.viz(x + 1, tmp_path / "x.html")
    text, data = data_of(tmp_path / "x.html")
    assert "</script><b>" not in text
    assert "</script><b>" in data["boxes"][0]["label"]


def test_the_page_has_times_and_shapes_of_a_profiled_function(tmp_path, context):
    from gpuarray.compiler import config
    from gpuarray.compiler.profiling import ProfileStats

    f = training(profile=ProfileStats())
    with config.use(profile_memory=True):
        f(np.ones((4, 3)))
    printing.viz(f, tmp_path / "f.html")
    _, data = data_of(tmp_path / "f.html")
    nodes = [box for box in data["boxes"] if box["kind"] == "apply"]
    assert all("seconds" in box for box in nodes)
    shapes = {box["facts"].get("output 0 shape") for box in nodes}
    assert {"(4, 3)", "(4,)", "()"} <= shapes


BROWSER = os.environ.get("GPUARRAY_BROWSER") or next(
    filter(
        None,
        map(
            shutil.which,
            (
                "chromium-headless-shell",
                "chromium",
                "google-chrome",
                "chromium-browser",
            ),
        ),
    ),
    None,
)

# What a person would do, and what is to be seen then.
ACTS = """
<script>
window.addEventListener("load", () => {
  const seen = {};
  const say = (type, target, options) => target.dispatchEvent(
    new PointerEvent(type, {bubbles: true, cancelable: true, ...options}));
  const count = kind => document.querySelectorAll(kind).length;
  const where = () => scene.getAttribute("transform");
  const middle = box => { const r = box.getBoundingClientRect();
    return {clientX: r.x + r.width / 2, clientY: r.y + 6}; };
  const click = box => { const p = middle(box);
    say("pointerdown", box, p); say("pointerup", box, p); };
  try {
    seen.boxes = count(".box");
    seen.edges = count(".edge");
    seen.groups = count(".box.group");
    const frame = svg.getBoundingClientRect();
    seen.fits = [...document.querySelectorAll(".box")].every(box => {
      const r = box.getBoundingClientRect();
      return r.left >= 0 && r.top >= 0 && r.right <= frame.right &&
        r.bottom <= frame.bottom; });
    const rects = [...document.querySelectorAll(".box")]
      .map(box => box.getBoundingClientRect());
    seen.apart = rects.every((a, i) => rects.every((b, j) => i === j ||
      a.right <= b.left + 0.5 || b.right <= a.left + 0.5 ||
      a.bottom <= b.top + 0.5 || b.bottom <= a.top + 0.5));
    const before = state.scale;
    svg.dispatchEvent(new WheelEvent("wheel", {deltaY: -400, clientX: 300,
      clientY: 200, cancelable: true}));
    seen.zoomed = state.scale / before;
    const start = where();
    say("pointerdown", svg, {clientX: 10, clientY: 300});
    say("pointermove", svg, {clientX: 60, clientY: 340});
    say("pointerup", svg, {clientX: 60, clientY: 340});
    seen.moved = where() !== start;
    document.getElementById("fit").click();
    click(document.querySelector(".box.group rect"));
    seen.opened = count(".box");
    seen.open = count(".box.open");
    click(document.querySelector(".box.open > rect"));
    seen.closed = count(".box");
    document.getElementById("open").click();
    seen.allOpen = count(".box.open");
    document.getElementById("close").click();
    const node = document.querySelector(".box.apply rect");
    say("mousemove", node, middle(node));
    seen.tip = tip.style.display === "block" ? tip.textContent : "";
    say("mousemove", svg, {clientX: 1, clientY: 1});
    seen.hidden = tip.style.display === "none";
    const find = document.getElementById("find");
    find.value = "EXP";
    find.dispatchEvent(new Event("input"));
    seen.found = count(".box.found");
    document.getElementById("heat").click();
    seen.heat = [...document.querySelectorAll(".box.apply > rect:first-child")]
      .map(r => r.getAttribute("fill"));
  } catch (error) { seen.error = String(error); }
  const result = document.createElement("pre");
  result.id = "result";
  result.textContent = JSON.stringify(seen);
  document.body.appendChild(result);
});
</script>
"""


@pytest.mark.skipif(BROWSER is None, reason="no browser; GPUARRAY_BROWSER names one")
def test_the_page_in_a_browser(tmp_path):
    x, y = T.dmatrix("x"), T.dvector("y")
    with_groups = FunctionGraph([x, y], [(T.exp(x * 2 + y)).sum(axis=0)])
    from gpuarray.compiler.rewrites import optimize

    optimize(with_groups)
    page = tmp_path / "x.html"
    printing.viz(with_groups, page)
    text, data = data_of(page)
    page.write_text(text + ACTS)
    done = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu",
         "--window-size=1200,800", "--virtual-time-budget=2000", "--dump-dom",
         page.as_uri()],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    (found,) = re.findall(r'<pre id="result">(.*?)</pre>', done.stdout, re.S)
    seen = json.loads(found.replace("&lt;", "<").replace("&gt;", ">"))
    assert "error" not in seen
    (group,) = [box for box in data["boxes"] if "group" in box]
    inner = len(group["group"]["boxes"])
    assert seen["boxes"] == len(data["boxes"]) == seen["closed"]
    assert seen["edges"] == len(data["edges"])
    assert seen["fits"] and seen["apart"] and seen["moved"] and seen["hidden"]
    assert 1.5 < seen["zoomed"] < 2.5
    assert (seen["groups"], seen["open"], seen["allOpen"]) == (1, 1, 1)
    assert seen["opened"] == seen["boxes"] + inner
    assert "TensorType(float64" in seen["tip"] and "made at" in seen["tip"]
    assert seen["found"] == 1
    assert all(fill.startswith("rgb(255,") for fill in seen["heat"])


@pytest.mark.parametrize("count", [1, 300])
def test_pages_of_many_nodes(tmp_path, count):
    y = T.dvector("x")
    for _ in range(count):
        y = T.exp(y) + y
    data = view.data_of(dot.picture_of(y, dot.Style(), "viz"))
    assert len(data["boxes"]) == 2 * count + 2
    assert len(data["edges"]) == 3 * count + 1
