"""Profiles of a context."""

import itertools
import json

import gpuarray
import numpy as np
import pytest


def test_launches_have_times(context):
    a = gpuarray.asarray(np.ones((500, 500), "f4"), context=context)
    b, s = a + 1, a.sum()
    with gpuarray.profile(context) as found:
        for _ in range(4):
            b = a + 1
        s = b.sum()
    assert s.item() == 500000
    rows = found.table()
    assert rows[0].seconds >= rows[-1].seconds > 0
    assert 4 in [row.calls for row in rows]
    assert sum(row.share for row in rows) == pytest.approx(1)
    assert found.seconds == pytest.approx(sum(row.seconds for row in rows))
    for row in rows:
        assert row.mean == pytest.approx(row.seconds / row.calls)
    ends = [span.end for span in found.spans]
    assert all(x <= y + 1e-5 for x, y in itertools.pairwise(ends))
    assert all(span.kind == "launch" for span in found.spans)


def test_it_prints_as_a_table(null):
    a = gpuarray.zeros((10,), context=null)
    with gpuarray.profile(null) as found:
        for _ in range(3):
            b = a.copy()
        np.asarray(b)
    head, names, *rows = repr(found).splitlines()
    assert head.startswith("profile of 'null': 4 commands, ")
    assert names.split() == ["name", "calls", "total", "mean", "share"]
    assert sorted(row.split()[0] for row in rows) == ["copy", "read"]
    assert len({len(row) for row in rows} | {len(names)}) == 1
    with gpuarray.profile(null) as empty:
        pass
    assert repr(empty).count("\n") == 0


def test_a_trace_for_chrome(context, tmp_path):
    a = gpuarray.zeros((1000,), "f4", context)
    queue = context.new_queue()
    with gpuarray.profile(context) as found:
        b = a + 1
        with queue:
            b = a + 2
    found.chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert [span["tid"] for span in spans] == [one.queue for one in found.spans]
    assert len({span["tid"] for span in spans}) == 2
    assert all(span["dur"] >= 0 and span["ts"] >= 0 for span in spans)
    names = [event["args"]["name"] for event in events if event["ph"] == "M"]
    assert context.device_name in names[0]
    assert names[1] == "queue 0"
    assert b.shape == (1000,)


def test_a_block_that_fails_ends_the_profile(null):
    with pytest.raises(KeyError), gpuarray.profile(null) as found:
        gpuarray.zeros((3,), context=null)
        raise KeyError
    assert [span.kind for span in found.spans] == ["fill"]
    with gpuarray.profile(null):
        pass


def test_what_is_too_much_is_counted(null):
    a = gpuarray.zeros((3,), context=null)
    with gpuarray.profile(null, most=2) as found:
        for _ in range(5):
            a.copy()
    assert len(found.spans) == 2
    assert found.lost == 3
    assert "; 3 without" in repr(found)


def test_misuse(null):
    with pytest.raises(ValueError, match="most is 0"), gpuarray.profile(null, most=0):
        pass
    with (
        gpuarray.profile(null),
        pytest.raises(NotImplementedError, match="being profiled already"),
        gpuarray.profile(null),
    ):
        pass


def test_a_name_of_several_lines_is_one_line_of_the_table(first_context):
    a = gpuarray.ones(3, "float32", first_context)
    kernel = gpuarray.ElementwiseKernel("T x, T k", "T y", "T q = x;\ny = q * k;")
    kernel(a, 2)
    with gpuarray.profile(first_context) as found:
        kernel(a, 2)
    assert len(repr(found).splitlines()) == 3
