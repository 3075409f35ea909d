"""The benchmarks: rows that all libraries compute alike, and nothing that is lost."""

import json
import sys
import xml.etree.ElementTree
from dataclasses import replace
from pathlib import Path

import gpuarray
import gpuarray.compiler as compiler
import gpuarray.compiler.tensor as T
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from benchmarks import compile_times, ops, page, processes, report, run, turns, worker  # noqa: E402
from benchmarks.charts import Line, chart, scaled  # noqa: E402
from benchmarks.libraries import numpy as of_numpy, ours  # noqa: E402
from benchmarks.rows import SIZES, Row, numbers  # noqa: E402
from benchmarks.workloads import rows  # noqa: E402
from benchmarks.workloads.networks import network  # noqa: E402

TINY = rows("tiny")
SOME = (
    ("softmax of rows", "arrays"),
    ("logistic step 400x784", ""),
    ("MLP step, batch 60", ""),
    ("layer norm and gradient", ""),
    ("crossentropy and gradient", ""),
    ("pow(A, 30) of 10", ""),
    ("exponential average of 9 rows", ""),
    ("Newton's roots of 1000 until converged", ""),
    ("RNN, T=3 B=2 H=4", ""),
    ("RNN gradient, T=3 B=2 H=4", ""),
    ("RNN gradient, some states, T=3 B=2 H=4", ""),
    ("LSTM, T=3 B=2 H=4", ""),
    ("LSTM gradient, T=3 B=2 H=4", ""),
    ("convolution 1x3x56x56, 16 of 7x7 by 2", "arrays"),
    ("convolution 1x3x56x56, 16 of 7x7 by 2: by images", ""),
    ("convolution 1x36x14x14, depthwise 3x3: by filters", ""),
    ("max pool 1x16x28x28, 3x3 by 2, and gradient", ""),
    ("batch norm 1x16x28x28", "arrays"),
    ("batch norm 1x16x28x28, relu, and gradient", ""),
    ("seeds' conv net step, batch 1", ""),
    ("dropout of tanh, and gradient", ""),
    ("MRG31k3p uniform", ""),
    ("permutation", "arrays"),
)
"""Rows of which ours are compared with NumPy here; a run compares every one."""


def results(module, row, variant, place, path):
    """What a library makes of a row, as a worker keeps it."""
    prepared = module.prepare(row, variant, place)
    return worker.Worker(prepared, row).check(str(path))


def plan(context, names, seconds=60.0):
    """A plan for libraries of this Python, of two rounds."""
    places = {name: context.name if name == "ours" else "cpu" for name in names}
    pythons = dict.fromkeys(names, sys.executable)
    environment = turns.peers_environment(context.is_cpu)
    return turns.Plan("tiny", pythons, places, 2, seconds, environment)


# ---- rows ----


def test_every_size_has_the_same_rows():
    names = [len(rows(size)) for size in SIZES]
    assert len(set(names)) == 1
    assert len(TINY) > 50


@pytest.mark.parametrize("name", [n for n in TINY if "000 par" not in n])
def test_numpy_computes_every_row(name):
    row = TINY[name]
    row = replace(row, measure="call") if row.measure == "first" else row
    if "50 layers" in name:
        row = network(name, "MB", 4, [8] * 51, "peak")
    prepared = of_numpy.prepare(row, "", "cpu")
    prepared.call()
    assert all(np.isfinite(each).all() for each in prepared.results())


def test_ours_has_the_names_that_rows_use():
    with compiler.config.use(floatX="float32", device="null"):
        for row in filter(lambda row: row.compiled, TINY.values()):
            data = [T.tensor(x.dtype.name, (False,) * x.ndim) for x in row.data()]
            row.work(ours.NAMES, [compiler.shared(x) for x in row.state()], data)
    with pytest.raises(AttributeError, match="add no_such to the names"):
        _ = ours.NAMES.no_such


@pytest.mark.parametrize(("name", "variant"), SOME)
def test_ours_computes_what_numpy_does(first_context, tmp_path, name, variant):
    row, path, expected = TINY[name], tmp_path / "ours.npz", tmp_path / "numpy.npz"
    results(of_numpy, row, "", "cpu", expected)
    results(ours, row, variant, first_context.name, path)
    assert turns.differs(row, path, expected) == ""


def test_another_result_is_told(tmp_path):
    right, row = numbers((5, 40), 0), TINY["a + b"]
    worker.keep([right], str(tmp_path / "right.npz"))
    wrong = right.copy()
    wrong[2, 3] += 1
    for name, array, said in (
        ("same", right * (1 + 1e-7), ""),
        ("value", wrong, "result 0: "),
        ("shape", right.T, "result 0: shape (40, 5), not (5, 40)"),
        ("count", None, "2 results, not 1"),
    ):
        found = [right, right] if array is None else [array]
        worker.keep(found, str(tmp_path / "found.npz"))
        text = turns.differs(row, tmp_path / "found.npz", tmp_path / "right.npz")
        assert text.startswith(said) and bool(text) == bool(said), (name, text)


def test_what_is_between_the_values_compared_counts_in_the_mean(tmp_path):
    right = np.ones(10 * worker.SHARE, "float32")
    wrong = right.copy()
    wrong[1::10] = 2
    for name, array in (("right", right), ("wrong", wrong)):
        worker.keep([array], str(tmp_path / f"{name}.npz"))
    said = turns.differs(TINY["a + b"], tmp_path / "wrong.npz", tmp_path / "right.npz")
    assert said == "result 0: the mean is 1.1, not 1"


def test_figures_and_limits():
    row = Row("r", "GB/s", None, list, bytes=8 * 10**6, flops=10**6)
    assert row.figure(1e-3) == pytest.approx(8.0)
    assert row.limit(lambda count: 4e9, 1e12) == pytest.approx(4.0)
    assert row.limit(lambda count: 4e9, 1e8) == pytest.approx(0.8)
    assert replace(row, unit="us").limit(lambda count: 4e9, 1e12) == pytest.approx(2e3)
    assert replace(row, bytes=0, flops=0).limit(lambda count: 4e9, 1e12) is None
    assert replace(row, unit="TFLOP/s").figure(1e-6) == pytest.approx(1.0)
    assert replace(row, unit="Gelem/s", count=10**9).figure(2.0) == pytest.approx(0.5)
    assert replace(row, unit="MB").figure(3e6) == pytest.approx(3.0)


# ---- processes that take turns ----


def test_a_row_of_two_processes(first_context, tmp_path):
    row = TINY["a + a, 10 floats"]
    found = plan(first_context, ["numpy", "ours"], 600.0).run(row, tmp_path)
    assert all(len(values) == 2 and min(values) > 0 for values in found.values())


def test_who_fails_is_reported_and_leaves_the_others(
    first_context, tmp_path, monkeypatch
):
    broken = {"broken": turns.Library("no_such_library", "", "numpy")}
    monkeypatch.setattr(turns, "LIBRARIES", turns.LIBRARIES | broken)
    found = plan(first_context, ["numpy", "broken"]).run(TINY["x.T"], tmp_path)
    assert len(found["numpy"]) == 2
    assert found["broken"].startswith("failed: ModuleNotFoundError")


def test_who_takes_too_long_is_ended(first_context, tmp_path):
    found = plan(first_context, ["numpy"], seconds=0.01).run(TINY["x.T"], tmp_path)
    assert found == {"numpy": "more than 0 s"}
    assert processes.ended(["sleep", "60"], 0.05) == (None, "", "")


def test_a_process_that_dies_is_told(first_context, tmp_path):
    process = plan(first_context, ["numpy"]).start("numpy", TINY["x.T"])
    assert process.answer(60) == {"ready": True}
    process.process.kill()
    process.process.wait()
    assert "failed: ended with" in process.asked(60, "round", 0)["error"]


# ---- reports, the page, plots ----


def test_a_report_is_read_as_it_was_written(tmp_path):
    row = {"unit": "us", "libraries": {"ours": report.figures([3.0, 1.0, 2.0])}}
    report.write({"device": "d", "rows": {"r": row}}, tmp_path / "r.json")
    found = report.read(tmp_path / "r.json")["rows"]["r"]
    assert found == row
    assert report.medians(found) == {"ours": 2.0}
    assert found["libraries"]["ours"] == {
        "median": 2.0,
        "low": 1.0,
        "high": 3.0,
        "rounds": 3,
    }


def test_patterns_pick_rows():
    assert run.wanted(["sum axis 0", "sum", "a + b"], ["sum*"]) == ["sum axis 0", "sum"]
    assert run.wanted(["a", "b"], ["*"]) == ["a", "b"]
    with pytest.raises(ValueError, match=r"no row fits 'sofmax'.* mean 'softmax'"):
        run.wanted(["softmax", "sum"], ["sofmax"])


def test_the_page_and_its_plots_are_current():
    said = f"write them anew: {page.REFRESH}"
    made = page.files()
    for path, text in made.items():
        assert path.exists() and path.read_text() == text, f"{path.name}: {said}"
    assert set(page.PLOTS.glob("*")) == set(made) - {page.PAGE}, said


def test_a_section_tells_what_failed_and_how_near_the_limit_we_are():
    libraries = {
        "ours": {"median": 4.0, "low": 3.5, "high": 5.0, "rounds": 3},
        "torch": {"median": 2.0, "low": 2.0, "high": 2.0, "rounds": 3},
        "jax": {"error": "another result: result 0: 1, not 2"},
        "cupy": {"error": "not offered: needs CUDA"},
    }
    rows = {"r": {"unit": "us", "limit": 1.0, "libraries": libraries}}
    about = {"device": "d", "context": "c", "driver": "", "commit": "x", "date": "y"}
    text = "\n".join(page.section("name", {**about, "rows": rows}))
    assert "| r | us | 4 (3.5 to 5) | **2** | 1 | 25% |" in text
    assert "- r: jax: another result: result 0: 1, not 2" in text
    assert "cupy" not in text
    assert page.lines(rows) == [Line("r, us", {"torch": 2.0}, 4.0)]


def test_a_plot_is_svg_with_a_dot_for_each_library():
    lines = [Line("a < b, us", {"torch": 2.0, "jax": 0.5}, 4.0), Line("c", {"jax": 1})]
    root = xml.etree.ElementTree.fromstring(chart(lines, "title & more"))
    circles = [each for each in root if each.tag.endswith("circle")]
    assert len(circles) == 3 + 2  # and those of the legend
    assert scaled(10, 100) > scaled(2, 100) > scaled(1, 100) > scaled(0.5, 100)
    assert scaled(1e9, 100) == scaled(100, 100)


# ---- compile times ----


def test_compile_times_of_a_graph(first_context, tmp_path):
    """Two processes: only a whole run shows that the program fits together."""
    path = tmp_path / "times.json"
    options = ["--context", first_context.name, "--graphs", "chain 100"]
    options += ["--only", "ours", "--times", "1", "--json", str(path)]
    compile_times.main(options)
    found = json.loads(path.read_text())["rows"]
    for name in ("chain 100, cold", "chain 100, warm"):
        figures = found[name]["libraries"]["ours"]
        assert figures["median"] > 0
        assert {"build", "compile", "first call"} <= set(figures)


def test_a_compiler_that_takes_too_long_is_said_so():
    found = compile_times.measured(sys.executable, "ours", "chain 100", "", 0.01)
    assert found == "more than 0.01 s"
    assert compile_times.as_figures([found]) == {"error": found}


# ---- ops of one's own ----


@pytest.fixture
def rows_of_scalars():
    """The table of scalar operations, without the op that is measured afterwards."""
    before = dict(gpuarray.scalars.SCALARS)
    yield
    for name in gpuarray.scalars.SCALARS.keys() - before.keys():
        del gpuarray.scalars.SCALARS[name]


@pytest.mark.usefixtures("rows_of_scalars")
def test_ops_are_measured_beside_kernels_launched_by_hand(first_context, tmp_path):
    path = tmp_path / "ops.json"
    options = ["--context", first_context.name, "--size", "tiny", "--rounds", "2"]
    ops.main([*options, "--json", str(path)])
    found = report.read(path)["rows"]
    assert len(found) == len(ops.WORKS) + 1
    for row in found.values():
        assert len(row["libraries"]) == 2
        assert all(each["median"] > 0 for each in row["libraries"].values())
    *works, small = found.values()
    assert all(row["ratio"]["rounds"] == 2 for row in works)
    assert small["difference"]["rounds"] == 20
    assert ops.verdict({"ratio": {"median": 1.02}}) == "    +2.0 % beside by hand"


def test_ops_that_compute_something_else_are_not_measured():
    right, wrong = np.ones(3), np.array([1, 1, 1.1])
    ops.check("op", [right], [right])
    with pytest.raises(SystemExit, match=r"op: result 1 is 0.1 apart, of values"):
        ops.check("op", [right, right], [right, wrong])
    with pytest.raises(SystemExit, match="nan apart"):
        ops.check("op", [right * np.nan], [right])
