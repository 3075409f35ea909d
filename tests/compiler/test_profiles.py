"""Profiles: times by function, class, operation and node; memory; traces; tips."""

import io
import json
import pickle
import re
import subprocess
import sys

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, grad, profiling, scan, shared
from gpuarray.compiler.ops.control.debugging import Print
from gpuarray.compiler.profiling import ProfileStats
from gpuarray.compiler.profiling.registry import forget
from gpuarray.compiler.scan_module import until

N, FEATS = 400, 784


@pytest.fixture(autouse=True)
def nothing_at_exit():
    yield
    forget()


def data():
    rng = np.random.default_rng(2)
    return rng.normal(size=(N, FEATS)), rng.integers(0, 2, N).astype("float64")


def training(**options):
    """The logistic regression of the slides."""
    x, y = T.dmatrix("x"), T.dvector("y")
    w, b = shared(np.zeros(FEATS), name="w"), shared(0.0, name="b")
    p_1 = 1 / (1 + T.exp(-T.dot(x, w) - b))
    xent = -y * T.log(p_1) - (1 - y) * T.log(1 - p_1)
    cost = xent.mean() + 0.01 * (w**2).sum()
    gw, gb = grad(cost, [w, b])
    updates = {w: w - 0.1 * gw, b: b - 0.1 * gb}
    return function([x, y], [p_1 > 0.5, xent], updates=updates, **options)


def summary(stats, **options):
    stream = io.StringIO()
    stats.summary(stream, **options)
    return stream.getvalue()


def test_a_profile_counts_the_time_of_each_node_on_the_device(context):
    f = training(name="train", profile=True)
    arrays = data()
    for _ in range(3):
        f(*arrays)
    stats = f.profile
    assert stats.fct_callcount == 3 and stats.calls["train"][0] == 3
    nodes = f.maker.fgraph.toposort()
    assert set(stats.apply_time) == set(nodes)
    assert [stats.position[node] for node in nodes] == list(range(len(nodes)))
    times = {type(node.op).__name__: stats.apply_time[node] for node in nodes}
    for name in ("GpuRowwise", "GpuMultiTensor", "GpuFromHost", "HostFromGpu"):
        assert times[name] > 0, name
    assert times["GpuDimShuffle"] == 0  # a view launches nothing
    assert set(stats.apply_callcount.values()) == {3}
    assert stats.local_time <= stats.fct_call_time
    assert 0 < stats.vm_call_time <= stats.fct_call_time
    assert sum(stats.class_time().values()) == pytest.approx(stats.local_time)
    assert sum(stats.op_time().values()) == pytest.approx(stats.local_time)


def test_a_profiled_function_computes_what_another_does(context):
    arrays = data()
    plain, measured = training(), training(profile=ProfileStats())
    for _ in range(2):
        for a, b in zip(plain(*arrays), measured(*arrays), strict=True):
            np.testing.assert_array_equal(a, b)
    (x, y) = arrays
    for a, b in zip(plain(x, y=y), measured(x, y=y), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_summary_has_the_tables_of_the_slides(context):
    with config.use(profile_memory=True):
        f = training(name="train", profile=True)
        for _ in range(2):
            f(*data())
    text = summary(f.profile)
    kind = "<% of local_time spent on this kind of Op> <cumulative %> "
    times = "<self seconds> <cumulative seconds> <time per call> [*] <nb_call> "
    position = "<% of local_time spent at this position> <cumulative %> "
    headers = [
        "Time since import",
        "Compile time: ",
        "    Optimization time: ",
        "    Linker time: ",
        "Function call ",
        "    Op time ",
        "    Function overhead ",
        "2 function calls, ",
        "Rest of the time since import ",
        "<% total fct time> <total time> <time per call> <nb call> <fct name>",
        f"{kind}{times}<nb_op> <nb_apply> <Op name>",
        f"{kind}{times}<nb_apply> <Op name>",
        f"{position}{times.replace('self seconds', 'apply time')}<Apply position> ",
        "Spent ",
        "Max without gc, inplace and view (KB)",
        "Here are tips to potentially make your code run faster.",
    ]
    places = [text.find(each) for each in headers]
    assert min(places) >= 0 and places == sorted(places)
    called = r"^  100\.0% +\d+\.\d{3}s  \d\.\d\de[-+]\d\ds +2 train$"
    assert re.search(called, text, re.M)
    rows = r"^ +[\d.]+% +[\d.]+% +[\d.]+s +[\d.]+s (\S+)s \* +2 +1 +1 GpuRowwise$"
    line = re.search(rows, text, re.M)
    assert line is not None and float(line[1]) > 0
    split = r"Spent 0\.000s\(0\.0%\) in cpu op, \S+ in gpu op and \S+ in transfer op"
    assert re.search(split, text)
    assert "`floatX=float32`" in text


def test_shares_add_up_and_long_tables_are_cut(context):
    f = training(profile=True)
    f(*data())
    text = summary(f.profile, n_ops_to_print=2, n_apply_to_print=3)
    for what in ("Classes", "Ops", "Apply instances"):
        found = re.search(
            rf"\.\.\. \(remaining \d+ {what} account for [\d.]+%\([\d.]+s\) of the "
            "runtime",
            text,
        )
        assert found is not None, what
    whole = summary(f.profile)
    classes = whole[whole.index("\nClass\n") : whole.index("\nOps\n")]
    rows = re.findall(r"^ +([\d.]+)% +([\d.]+)%", classes, re.M)
    assert sum(float(row[0]) for row in rows) == pytest.approx(100, abs=1)
    assert float(rows[-1][1]) == 100


def test_the_memory_profile_has_the_bytes_of_the_slides(context):
    with config.use(profile_memory=True):
        f = training(name="train", profile=True, mode="FAST_COMPILE")
        g = training(name="fast", profile=True)
        f(*data())
        g(*data())
    found = {
        (sum(each.sizes), each.flags, type(each.node.op).__name__)
        for each in f.profile.memory["train"].nodes
    }
    assert (2508800, ("v",), "GpuDimShuffle") in found  # x.T
    assert (2508800, ("c",), "GpuFromHost") in found
    assert (3200, ("c",), "GpuDot") in found
    memory = g.profile.memory["fast"]
    fast = {
        (sum(each.sizes), each.flags, type(each.node.op).__name__)
        for each in memory.nodes
    }
    assert (6280, ("i", "i"), "GpuMultiTensor") in fast  # w and b, in place
    assert (6800, ("c", "c", "c"), "GpuRowwise") in fast
    on_device = [n for n in memory.nodes if "HostFromGpu" not in str(n.node.op)]
    assert memory.without_any == sum(sum(each.sizes) for each in on_device)
    assert memory.saved_by_inplace >= 6272
    assert 0 < memory.peak <= memory.without_gc <= memory.without_any
    text = summary(f.profile)
    assert re.search(r"2508800B  \[2508800\] \[\(784, 400\)\] v ", text)
    assert "Memory saved by view (KB) 24" in text


def test_memory_is_freed_after_its_last_reader(context):
    x = T.dvector("x")
    y = x
    for _ in range(4):
        y = T.cumsum(y[::-1])
    with config.use(profile_memory=True):
        f = function([x], y.sum(), profile=True, name="f",
                     mode="FAST_COMPILE")  # fmt: skip
        f(np.zeros(1000))
    memory = f.profile.memory["f"]
    assert memory.without_gc == 5 * 8000 + 8
    assert memory.peak == 2 * 8000
    assert memory.saved_by_view == 4 * 8000


def test_memory_is_measured_in_a_run_that_counts_once(context):
    w = shared(np.zeros(3))
    with config.use(profile_memory=True):
        seen = []
        show = Print(global_fn=lambda op, value: seen.append(value.copy()))
        f = function([], show(w), updates={w: w + 1}, profile=True)
        f()
        f()
    assert [value.tolist() for value in seen] == [[0] * 3, [1] * 3]
    np.testing.assert_array_equal(w.get_value(), [2] * 3)
    (node,) = [n for n in f.profile.apply_time if "Print" in str(n.op)]
    assert f.profile.apply_callcount[node] == 2
    assert f.profile.apply_time[node] > 0


def test_a_pause_counts_as_work_of_the_host(context):
    x = T.dvector("x")
    op = Print(global_fn=lambda op, value: None)
    f = function([x], op(x * 2).sum(), profile=True)
    f(np.zeros(3))
    (node,) = [n for n in f.profile.apply_time if "Print" in str(n.op)]
    assert f.profile.kind(node) == "host" and f.profile.apply_time[node] > 0
    text = summary(f.profile)
    assert not re.search(r"\* .*GpuPrint$", text, re.M)
    assert "take them out" in text


def test_compile_time_is_split_by_part_phase_and_rule(context):
    with config.use(profile_optimizer=True):
        f = training(profile=True)
    times = f.profile.compile
    assert list(times.parts) == [
        "graph", "opening the context", "rewriting", "placing", "lowering", "loading",
    ]  # fmt: skip
    assert min(times.parts.values()) > 0
    assert sum(times.phases.values()) <= times.parts["rewriting"]
    assert {"stabilize", "fuse", "inplace"} <= set(times.phases)
    assert times.fired["fuse_rows"] > 0
    asked, seconds = times.rules["recognize_sigmoid"]
    assert asked > 0 and 0 < seconds < times.parts["rewriting"]
    text = summary(f.profile)
    assert "Rewrites: <seconds> <times asked> <times fired> <name>" in text
    assert "(remaining " in text
    g = training(profile=True)
    assert not g.profile.compile.rules and "Rewrites:" not in summary(g.profile)


def test_a_trace_shows_calls_on_the_host_and_launches_on_the_device(tmp_path, context):
    f = training(name="train", profile=True)
    for _ in range(2):
        f(*data())
    f.profile.chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    spans = [each for each in events if each["ph"] == "X"]
    calls = [each for each in spans if each["cat"] == "call"]
    assert [each["name"] for each in calls] == ["train", "train"]
    assert min(each["ts"] for each in spans) == 0
    device = [each for each in spans if each["pid"] == 1 and each["args"]["label"]]
    assert any("rows: mul+" in each["args"]["label"] for each in device)
    assert sum(each["cat"] == "transfer" for each in spans) == 8


def test_one_profile_may_take_several_functions(context):
    stats = ProfileStats(message="both")
    x = T.dvector("x")
    f = function([x], x + 1, profile=stats, name="f")
    g = function([x], T.exp(x).sum(), profile=stats, name="g")
    f(np.zeros(3))
    g(np.zeros(3))
    g(np.zeros(3))
    assert {name: count for name, (count, _) in stats.calls.items()} == {"f": 1, "g": 2}
    text = summary(stats)
    assert text.startswith("both\n====\n") and "3 function calls" in text


def test_the_setting_profiles_every_function_but_those_that_say_no(context):
    x = T.dvector("x")
    with config.use(profile=True):
        f, g = function([x], x + 1), function([x], x + 1, profile=False)
    assert f.profile is not None and g.profile is None
    assert function([x], x + 1).profile is None


def test_without_times_of_nodes_calls_are_counted(context):
    x = T.dvector("x")
    with config.use(**{"profiling.time_thunks": False}):
        f = function([x], x + 1, profile=True)
        assert f(np.zeros(2)).tolist() == [1, 1]
    assert f.profile.fct_callcount == 1 and f.profile.vm_call_time == 0


def test_modes_that_look_at_each_step_count_calls(context):
    x = T.dvector("x")
    f = function([x], x + 1, profile=True, mode="DebugMode")
    assert f(np.zeros(2)).tolist() == [1, 1]
    assert f.profile.fct_callcount == 1


def test_a_profiled_function_pickles(context):
    x = T.dvector("x")
    f = function([x], x + 1, profile=True, name="f")
    f(np.zeros(2))
    again = pickle.loads(pickle.dumps(f))
    assert again(np.zeros(2)).tolist() == [1, 1]
    assert again.profile.fct_callcount == 1 and f.profile.fct_callcount == 1


def test_an_error_of_a_profiled_call_is_the_same(context):
    x, y = T.dvector("x"), T.dvector("y")
    f = function([x, y], x + y, profile=True)
    with pytest.raises(ValueError):
        f(np.zeros(2), np.zeros(3))
    assert f(np.zeros(2), np.zeros(2)).tolist() == [0, 0]


def test_a_program_may_print_more(context):
    x = T.dvector("x")
    f = function([x], x + 1, profile=True)
    f(np.zeros(2))

    @profiling.register_profiler_printer
    def more(stats, file):
        file.write(f"calls: {stats.fct_callcount}\n")

    try:
        assert summary(f.profile).endswith("calls: 1\n")
    finally:
        profiling.report._PRINTERS.remove(more)


def test_a_profile_goes_where_the_setting_says(tmp_path, capsys, context):
    x = T.dvector("x")
    f = function([x], x + 1, profile="hello")
    f(np.zeros(2))
    f.profile.summary()
    assert capsys.readouterr().err.startswith("hello\n")
    with config.use(**{"profiling.destination": str(tmp_path / "p.txt")}):
        f.profile.summary()
    assert (tmp_path / "p.txt").read_text().startswith("hello\n")
    with config.use(**{"profiling.destination": "stdout"}):
        profiling.print_global_stats()
    assert capsys.readouterr().out.startswith("Global stats\n")


def test_a_better_order_of_nodes_is_looked_for_where_it_is_wanted(context):
    x = T.dvector("x")
    wide = [T.cumsum(x * k) for k in range(1, 4)]
    wide_first = wide[0].sum() + wide[1].sum() + wide[2].sum()
    with config.use(profile_memory=True, **{"profiling.min_peak_memory": True}):
        f = function([x], wide_first, profile=True, name="f", mode="FAST_COMPILE")
        f(np.zeros(1000))
    memory = f.profile.memory["f"]
    assert 0 < memory.least <= memory.peak
    assert "Max in a better order (KB)" in summary(f.profile)


def test_the_graph_is_printed_where_it_is_wanted(context):
    x = T.dvector("x")
    f = function([x], T.exp(x), profile=True)
    with config.use(**{"profiling.debugprint": True}):
        assert "HostFromGpu(gpuarray) [id A] ''" in summary(f.profile)
    assert "[id A]" not in summary(f.profile)


def test_copies_have_profiles_of_their_own(context):
    x = T.dvector("x")
    f = function([x], x + 1, profile=True, name="f")
    g, h = f.copy(name="g"), f.copy(profile=False)
    for each in (f, g, h):
        assert each(np.zeros(2)).tolist() == [1, 1]
    assert g.profile.calls["g"][0] == 1 and f.profile.calls["f"][0] == 1
    assert h.profile is None
    assert max(g.profile.apply_time.values()) > 0
    assert function([x], x + 1).copy().profile is None
    with pytest.raises(ValueError, match="compile it with profile=True"):
        function([x], x + 1).copy(profile=True)


def test_the_older_mode_is_a_profile(context):
    x = T.dvector("x")
    assert function([x], x + 1, mode="ProfileMode").profile is not None


PROGRAM = """
import numpy as np
import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
theano.config.device = {device!r}
x = T.dvector("x")
for name in ("f", "g"):
    theano.function([x], T.exp(x), name=name, profile=True)(np.zeros(3))
"""


def test_profiles_are_printed_at_the_end_of_the_program(context):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(device=context.name)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    heads = re.findall(r"^(.*)\n=+$", done.stderr, re.M)
    assert heads == ["f", "g", "Sum of all (2) profiles"]
    assert done.stdout == ""


# ---- loops ----


def network():
    """A loop whose iterations are recorded, and arrays for its inputs."""
    x, s, w = T.dmatrix("x"), T.dvector("s"), T.dmatrix("w")
    out, _ = scan(lambda row, s, w: T.tanh(row + T.dot(s, w)), x, s, w, name="network")
    arrays = np.ones((7, 3)), np.ones(3), np.ones((3, 3))
    return function([x, s, w], out, profile=True), arrays


def the_loop(f):
    """The node of a function's loop, and its profile."""
    ((node, loop),) = f.profile.loops.items()
    return node, loop


def test_a_loop_s_line_has_its_iterations_and_the_time_of_all_of_them(context):
    with config.use(device=context.name):
        f, arrays = network()
    f(*arrays)
    f(arrays[0][:3], *arrays[1:])
    node, loop = the_loop(f)
    assert loop.calls == 2 and loop.iterations == 10 and not loop.as_kernel
    ops = {str(inner.op).partition("{")[0]: inner for inner in loop.seconds}
    assert set(ops) == {"GpuGemv", "GpuElemwise"}
    assert loop.commands[ops["GpuElemwise"]] == 10
    total = sum(loop.seconds.values())
    assert f.profile.apply_time[node] >= total * (1 - 1e-9) > 0  # to rounding
    assert f.profile.other_time == 0
    text = summary(f.profile)
    assert re.search(r"for{network}\(.*\)  \[5 iterations a call\]", text)
    assert "for{network}: 5 iterations a call, 2 calls" in text
    assert re.search(r"%  +0\.\d+s \d\.\d\de-\d\ds +10 GpuElemwise{tanh}", text)


def test_a_loop_that_is_one_kernel_says_so(context):
    x, s = T.dmatrix("x"), T.dvector("s")
    out, _ = scan(lambda row, s: T.tanh(row + s), x, s, name="sums")
    with config.use(device=context.name):
        f = function([x, s], out, profile=True)
    f(np.ones((4, 3)), np.ones(3))
    node, loop = the_loop(f)
    assert loop.as_kernel == loop.calls == 1 and not loop.seconds
    assert f.profile.apply_time[node] > 0
    text = summary(f.profile)
    assert "for{sums}: 4 iterations a call, one kernel" in text
    assert "have no times of their own" in text


def test_a_loop_that_may_stop_has_a_bound(context):
    s = T.dvector("s")
    out, _ = scan(lambda s: (s * 2, until(s.max() > 9)), outputs_info=s, n_steps=64)
    with config.use(device=context.name):
        f = function([s], out, profile=True)
    assert len(f(np.ones(3))) == 5
    assert "at most 64 iterations a call" in summary(f.profile)


def test_a_loop_that_python_runs_has_times_of_its_steps(context):
    x, s = T.dmatrix("x"), T.dvector("s")
    out, _ = scan(lambda row, s: Print("row", attrs=())(row) * 2 + s, x, s, name="seen")
    with config.use(device=context.name):
        f = function([x, s], out, profile=True)
    f(np.ones((4, 3)), np.ones(3))
    node, loop = the_loop(f)
    assert loop.iterations == 4 and not loop.as_kernel
    counts = {str(n.op).partition("{")[0]: count for n, count in loop.commands.items()}
    assert counts["GpuPrint"] == 4 and counts["GpuElemwise"] == 4
    assert f.profile.kind(node) == "host"
    assert f.profile.apply_time[node] >= sum(loop.seconds.values())


def test_loops_in_loops_have_times_of_their_own(context):
    x, s, w = T.dmatrix("x"), T.dvector("s"), T.dmatrix("w")

    def turn(row, s, w):
        inner, _ = scan(
            lambda q, w: T.tanh(T.dot(q, w)),
            outputs_info=s,
            non_sequences=w,
            n_steps=2,
            name="inner",
        )
        return inner[-1] + row

    out, _ = scan(turn, x, s, w, name="outer")
    with config.use(device=context.name):
        f = function([x, s, w], out, profile=True)
    f(np.ones((4, 3)), np.ones(3), np.ones((3, 3)))
    loops = {str(node.op): loop for node, loop in f.profile.loops.items()}
    assert loops["for{outer}"].iterations == 4
    (inner,) = [n for n in loops["for{outer}"].seconds if str(n.op) == "for{inner}"]
    spent = loops["for{outer}"].seconds[inner]
    assert spent >= sum(loops["for{inner}"].seconds.values()) > 0
    assert "for{inner}: 2 iterations a call, 4 calls" in summary(f.profile)


def test_a_missing_cudnn_is_told_of_convolutions(context, monkeypatch):
    said = "cuDNN cannot be opened: pip install nvidia-cudnn-cu13\n  more of it"
    monkeypatch.setattr("gpuarray.compiler.profiling.tips.why_no_dnn", lambda _: said)
    x, w = T.ftensor4("x"), T.ftensor4("w")
    images, filters = np.ones((1, 1, 5, 5), "f4"), np.ones((2, 1, 3, 3), "f4")
    with config.use(device=str(context.name)):
        convolved = function([x, w], T.nnet.conv2d(x, w), profile=True)
        summed = function([x, w], x.sum() + w.sum(), profile=True)
    convolved(images, filters)
    summed(images, filters)
    told = "cuDNN was not used: cuDNN cannot be opened: pip install nvidia-cudnn-cu13; "
    assert told in summary(convolved.profile)
    assert "cuDNN" not in summary(summed.profile)
