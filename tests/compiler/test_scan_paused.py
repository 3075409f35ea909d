"""Loops whose iterations need the host: Python or the library runs them one by one."""

import pickle

import gpuarray
import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import as_op, config, function, scan, shared
from gpuarray.compiler.errors import HostOpError
from gpuarray.compiler.plan import LoopStep
from gpuarray.compiler.printing import Print
from loops import by_turns, loop_steps, numbers

pytestmark = pytest.mark.usefixtures("in_float64")


@as_op(itypes=[T.dvector], otypes=[T.dvector])
def python_sine(v):
    return np.sin(v)


def loop_of(f):
    """The loop step of a function's plan, which pauses."""
    (step,) = loop_steps(f)
    assert not step.recorded and "pauses" in step.detail()
    return step


def by_host(f):
    """The loop step of a function's plan, whose iterations the library starts."""
    (step,) = loop_steps(f)
    assert step.recorded and step.by_host and "by the host" in step.detail()
    return step


def loops_in(plan):
    return [step for step in plan.steps if isinstance(step, LoopStep)]


def check(turn, numpys, given, infos, turns=(5, 1, 0), step_of=loop_of):
    """Hold a loop over the rows of a matrix against NumPy's turns."""
    x, s = T.dmatrix("x"), T.dvector("s")
    outs, _ = scan(turn, x, infos(s), return_list=True)
    f = function([x, s], outs)
    step_of(f)
    for count in turns:
        arrays = given[0][:count], given[1]
        got = f(*arrays)
        want = by_turns(numpys, [arrays[0]], infos(arrays[1])) or [
            np.zeros((0, *one.shape[1:])) for one in got
        ]
        for a, b in zip(got, want, strict=True):
            assert a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_an_op_of_python_in_a_body():
    check(
        lambda row, s: [python_sine(row) + s, (row * s).sum()],
        lambda row, s: [np.sin(row) + s, (row * s).sum()],
        (numbers(5, 3), numbers(3, seed=1)),
        lambda s: [s, None],
    )


def test_results_whose_shapes_depend_on_values():
    check(
        lambda row, s: [s + row[(row > 0).nonzero()].sum()],
        lambda row, s: [s + row[row > 0].sum()],
        (numbers(5, 3), numbers(3, seed=1)),
        lambda s: [s],
        step_of=by_host,
    )


def test_a_slice_whose_end_an_iteration_computes():
    places, s = T.lvector("places"), T.dvector("s")
    out, _ = scan(lambda i, s: s[:i].sum() + s, places, s)
    f = function([places, s], out)
    given = np.array([1, 3, 0, 2]), numbers(3)
    by_host(f)
    (want,) = by_turns(lambda i, s: [s[: int(i)].sum() + s], [given[0]], [given[1]])
    np.testing.assert_allclose(f(*given), want, rtol=1e-12)


def test_slices_whose_ends_a_loop_within_an_iteration_reads():
    x, ends = T.dmatrix("x"), T.lmatrix("ends")

    def turn(row, row_of_ends):
        return scan(lambda end, row: row[:end].sum(), row_of_ends, None, row)[0]

    sums, _ = scan(turn, [x, ends])
    f = function([x, ends], sums)
    assert any(step.by_host for step in loops_in(by_host(f).body.plan))
    rows, lengths = numbers(2, 3), np.array([[1, 2], [3, 0]])
    want = [
        [row[:n].sum() for n in pair] for row, pair in zip(rows, lengths, strict=True)
    ]
    np.testing.assert_allclose(f(rows, lengths), want, rtol=1e-12)


def test_an_inner_loop_of_a_number_of_iterations_that_an_iteration_computes():
    counts, s = T.lvector("counts"), T.dvector("s")
    out, _ = scan(
        lambda k, s: scan(lambda q: q * 2, outputs_info=s, n_steps=k)[0][-1], counts, s
    )
    f = function([counts, s], out)
    by_host(f)
    assert f([1, 3, 2], [1.0, 2.0]).tolist() == [[2, 4], [16, 32], [64, 128]]


def test_print_in_a_body_prints_in_each_iteration(capsys):
    x, s = T.dmatrix("x"), T.dvector("s")
    out, _ = scan(lambda row, s: Print("row")(row) + s, x, s)
    f = function([x, s], out)
    assert f([[1, 2], [3, 4]], [0, 0]).tolist() == [[1, 2], [4, 6]]
    printed = capsys.readouterr().out.splitlines()
    assert printed == ["row __str__ = [1. 2.]", "row __str__ = [3. 4.]"]


def test_print_stops_with_the_condition(capsys):
    most = T.dscalar("most")
    out, _ = scan(
        lambda s, most: (Print("s")(s) * 2, theano.scan_module.until(s * 2 > most)),
        outputs_info=T.constant(1.0, dtype="float64"),
        non_sequences=most,
        n_steps=64,
    )
    f = function([most], [out, out[-1]])
    got, last = f(10)
    assert got.tolist() == [2, 4, 8, 16] and last == 16
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_no_iterations_print_nothing_where_the_shapes_are_those_of_states(capsys):
    x, s = T.dmatrix("x"), T.dvector("s")
    out, _ = scan(lambda row, s: Print("row")(row) + s, x, s)
    f = function([x, s], out)
    assert f(np.zeros((0, 2)), [1, 2]).shape == (0, 2)
    assert capsys.readouterr().out == ""


def test_states_with_several_taps_and_updates():
    count = shared(np.array([1.0, 2.0]), "count")
    x, first = T.dmatrix("x"), T.dmatrix("first")

    def turn(row, before, s):
        return python_sine(row) + before - s, {count: count * 2 + s}

    out, updates = scan(turn, x, {"initial": first, "taps": [-2, -1]})
    f = function([x, first], out, updates=updates)
    loop_of(f)
    given = numbers(4, 2), numbers(2, 2, seed=1)
    (want,) = by_turns(
        lambda r, b, s: [np.sin(r) + b - s],
        [given[0]],
        [{"initial": given[1], "taps": [-2, -1]}],
    )
    np.testing.assert_allclose(f(*given), want, rtol=1e-12)
    expected = np.array([1.0, 2.0])
    for state in [given[1][1], *want[:-1]]:
        expected = expected * 2 + state
    np.testing.assert_allclose(count.get_value(), expected, rtol=1e-12)


def test_a_state_that_a_step_overwrites_is_the_loop_s_own():
    x, s = T.dmatrix("x"), T.dvector("s")
    out, _ = scan(lambda row, s: T.inc_subtensor(s[0], python_sine(row)[1]), x, s)
    f = function([x, s], [out, s * 1], on_device=True)
    given = (
        gpuarray.asarray(numbers(4, 3), context=config.device),
        gpuarray.asarray(numbers(3), context=config.device),
    )
    got, _ = f(*given)
    want = np.tile(numbers(3), (4, 1))
    want[:, 0] += np.sin(numbers(4, 3)[:, 1]).cumsum()
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-12)
    np.testing.assert_array_equal(np.asarray(given[1]), numbers(3))


def test_gradients_go_through_loops_that_pause():
    x, s = T.dmatrix("x"), T.dvector("s")

    def turn(row, s, look):
        return T.tanh(look(row) * s + row)

    slopes = []
    for look in (Print("row", attrs=()), lambda row: row):
        out, _ = scan(lambda row, s, look=look: turn(row, s, look), x, s)
        f = function([x, s], theano.grad((out**2).sum(), [x, s]))
        slopes.append(f(numbers(4, 3), numbers(3, seed=1)))
    for a, b in zip(*slopes, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)


def test_mistakes_of_shapes_are_the_same_as_in_recorded_loops():
    x, s = T.dmatrix("x"), T.dvector("s")
    out, _ = scan(lambda row, s: T.concatenate([s, python_sine(row)]), x, s)
    with pytest.raises(
        ValueError, match=r"a state, has shape \(2,\), and \(5,\) after an iteration"
    ):
        function([x, s], out)(numbers(3, 3), numbers(2))
    out, _ = scan(lambda row, s: python_sine(row) + s, x, s, n_steps=4)
    with pytest.raises(ValueError, match="3 rows, expected 4"):
        function([x, s], out)(numbers(3, 2), numbers(2))


def test_a_loop_that_pauses_is_pickled_copied_and_saved(tmp_path):
    x, s = T.dmatrix("x"), T.dvector("s")
    out, _ = scan(lambda row, s: Print("row", attrs=())(row) + s, x, s, name="sums")
    f = function([x, s], out)
    given = numbers(4, 3), numbers(3, seed=1)
    want = f(*given)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(f))(*given), want)
    np.testing.assert_array_equal(f.copy()(*given), want)
    with pytest.warns(
        UserWarning, match="its loop sums needs Python in each iteration"
    ):
        f.save(tmp_path / "sums.plan")
    g = theano.load(tmp_path / "sums.plan", trusted=True)
    np.testing.assert_array_equal(g(*given), want)


def test_a_loop_that_reads_is_in_a_file(tmp_path):
    x, s = T.dmatrix("x"), T.dvector("s")
    out, _ = scan(lambda row, s: row[(row > 0).nonzero()].sum() + s, x, s)
    f = function([x, s], [out, theano.grad(out.sum(), x)])
    f.save(tmp_path / "sums.plan", graph=False)
    g = gpuarray.load_function(tmp_path / "sums.plan", config.device)
    for count in (4, 1, 0):
        given = numbers(count, 3), numbers(3, seed=1)
        for loaded, made in zip(g(*given), f(*given), strict=True):
            np.testing.assert_array_equal(np.asarray(loaded), made)


def test_a_mistake_beside_a_loop_that_reads_is_of_its_own_step():
    x, s, y = T.dmatrix("x"), T.dvector("s"), T.dvector("y")
    out, _ = scan(lambda row, s: row[(row > 0).nonzero()].sum() + s, x, s)
    f = function([x, s, y], [out, s + y])
    with pytest.raises(ValueError, match=r"add: shapes \(3,\) and \(2,\)"):
        f(numbers(2, 3), numbers(3), numbers(2))
    assert len(f(numbers(2, 3), numbers(3), numbers(3))[0]) == 2


def test_steps_on_the_host_are_told_of_in_bodies():
    x, s = T.dmatrix("x"), T.dvector("s")
    out, _ = scan(lambda row, s: python_sine(row) + s, x, s)
    with (
        config.use(assert_no_cpu_op="raise"),
        pytest.raises(HostOpError, match=r"python_sine.*runs on the host"),
    ):
        function([x, s], out)
