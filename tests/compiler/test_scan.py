"""Loops: ``scan`` held against NumPy that does the turns one by one."""

import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, scan, shared
from gpuarray.compiler.errors import MissingInputError
from loops import by_turns, numbers

pytestmark = pytest.mark.usefixtures("in_float64")


# ---- sequences ----


@pytest.mark.parametrize("length", [0, 1, 5])
def test_each_turn_gets_a_row(length):
    x = T.dmatrix("x")
    sums, updates = scan(lambda row: (row**2).sum(), sequences=x)
    assert not updates
    given = numbers(length, 3)
    got = function([x], sums)(given)
    np.testing.assert_allclose(got, (given**2).sum(1))
    assert got.shape == (length,)


@pytest.mark.parametrize("goes_back", [False, True])
@pytest.mark.parametrize("taps", [[0], [0, -1], [-2, 1], [2, 0, -1], [-3], [1]])
def test_turns_read_sequences_at_taps(taps, goes_back):
    x, start = T.dmatrix("x"), T.dvector("start")

    def step(*rows):
        *rows, state = rows
        return [sum((k + 1) * row for k, row in enumerate(rows)) + 0.5 * state]

    out, _ = scan(
        step,
        sequences={"input": x, "taps": taps},
        outputs_info=start,
        go_backwards=goes_back,
    )
    f = function([x, start], out)
    for length in (7, 4):
        given, begin = numbers(length, 3), numbers(3, seed=1)
        (want,) = by_turns(
            step, [{"input": given, "taps": taps}], [begin], go_backwards=goes_back
        ) or [np.zeros((0, 3))]
        np.testing.assert_allclose(f(given, begin), want, rtol=1e-12)


def test_the_shortest_sequence_says_how_many_turns_there_are():
    x, y = T.dvector("x"), T.dvector("y")
    out, _ = scan(lambda a, b: a * b, sequences=[x, y])
    f = function([x, y], out)
    assert f([1, 2, 3], [4, 5]).tolist() == [4, 10]
    assert f([1], [4, 5]).tolist() == [4]


def test_fewer_turns_than_rows():
    x, n = T.dvector("x"), T.iscalar("n")
    out, _ = scan(
        lambda a, s: s + a,
        sequences=x,
        outputs_info=T.constant(0.0, dtype="float64"),
        n_steps=n,
    )
    f = function([x, n], out)
    assert f([1, 2, 3], 2).tolist() == [1, 3]
    assert f([1, 2, 3], 0).tolist() == []


def test_more_turns_than_rows_are_an_error():
    x = T.dvector("x")
    out, _ = scan(lambda a: a * 2, sequences=x, n_steps=4)
    with pytest.raises(ValueError, match="3 rows, expected 4"):
        function([x], out)([1, 2, 3])
    taps = {"input": x, "taps": [-1, 1]}
    out, _ = scan(lambda a, b: a * b, taps, n_steps=4)
    with pytest.raises(ValueError, match="input 0 has 3 rows, expected 4") as error:
        function([x], out)([1, 2, 3, 4, 5])
    notes = "\n".join(error.value.__notes__)
    assert "  iterations" in notes
    assert "  input 0, row x[t-1]" in notes
    out, _ = scan(lambda a, s: s * a, x, T.ones_like(x[0]), n_steps=4)
    with pytest.raises(ValueError, match="3 rows, expected 4"):
        function([x], out)([1, 2, 3])


@pytest.mark.parametrize("step", [lambda a, s: s + a, lambda a, s: T.tanh(s + a)])
def test_a_negative_number_of_steps_counts_as_none(step):
    x, n = T.dvector("x"), T.lscalar("n")
    out, _ = scan(step, x, T.constant(0.0, dtype="float64"), n_steps=n)
    assert len(function([x, n], out)([1, 2, 3], -2)) == 0


def test_initial_values_too_few_for_the_taps_are_an_error():
    with pytest.raises(ValueError, match=r"outputs_info 0.*\[-3, -1\]; give 3"):
        scan(
            lambda a, b: a + b,
            outputs_info={"initial": T.ones(1), "taps": [-3, -1]},
            n_steps=2,
        )
    rows = T.dvector("rows")
    out, _ = scan(
        lambda a, b: a + b,
        outputs_info={"initial": rows, "taps": [-3, -1]},
        n_steps=2,
    )
    for result in (out, T.grad(out.sum(), rows)):
        f = function([rows], [result, out])
        with pytest.raises(ValueError, match=r"initial is rows.*\[-3, -1\]; give 3"):
            f([1.0, 2.0])


@pytest.mark.parametrize("taps, least", [([-2, 0], 2), ([0, 3], 3), ([-1, 2], 3)])
def test_sequences_too_short_for_their_taps_are_an_error(taps, least):
    rows = T.dvector("rows")
    out, _ = scan(lambda a, b: a * b, {"input": rows, "taps": taps})
    f = function([rows], [out, T.grad(out.sum(), rows)])
    assert [len(result) for result in f(np.ones(least))] == [0, least]
    said = rf"sequence 0 is .*too few rows for the taps .*at least {least}"
    with pytest.raises(ValueError, match=said):
        f(np.ones(least - 1))
    with pytest.raises(ValueError, match=said):
        scan(
            lambda a, b: a * b, {"input": T.constant(np.ones(least - 1)), "taps": taps}
        )


# ---- states ----


def test_powers_of_the_slides():
    a, k = T.dvector("a"), T.iscalar("k")
    result, updates = scan(
        lambda prior, a: prior * a,
        outputs_info=T.ones_like(a),
        non_sequences=a,
        n_steps=k,
    )
    power = function([a, k], result[-1], updates=updates)
    np.testing.assert_allclose(power(range(10), 2), np.arange(10.0) ** 2)
    np.testing.assert_allclose(power(range(4), 5), np.arange(4.0) ** 5)


@pytest.mark.parametrize("taps", [[-1], [-2, -1], [-1, -3], [-2]])
@pytest.mark.parametrize("turns", [0, 1, 2, 7])
def test_states_of_several_turns_before(taps, turns):
    start = T.dmatrix("start")

    def step(*states):
        return [sum((k + 1) * s for k, s in enumerate(states)) * 0.5]

    depth = -min(taps)
    info = {"initial": start, "taps": taps} if depth > 1 else start[0]
    out, _ = scan(step, outputs_info=[info], n_steps=turns)
    given = numbers(depth, 3)
    numpys = {"initial": given, "taps": taps} if depth > 1 else given[0]
    want = by_turns(step, outputs_info=[numpys], n_steps=turns) or [np.zeros((0, 3))]
    np.testing.assert_allclose(function([start], out)(given), want[0], rtol=1e-12)


def test_fibonacci_s_numbers():
    out, _ = scan(
        lambda a, b: a + b,
        outputs_info={"initial": T.as_tensor_variable([1, 1]), "taps": [-2, -1]},
        n_steps=6,
    )
    assert function([], out)().tolist() == [2, 3, 5, 8, 13, 21]


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "complex128", "bool"])
def test_states_of_any_dtype(dtype):
    x = T.TensorType(dtype, (False, False))("x")
    start = T.TensorType(dtype, (False,))("start")

    def step(row, state):
        return [(row ^ state) if dtype == "bool" else row * state + row]

    out, _ = scan(step, sequences=x, outputs_info=start)
    given, begin = numbers(5, 3, dtype=dtype), numbers(3, dtype=dtype, seed=3)
    (want,) = by_turns(step, [given], [begin])
    got = function([x, start], out)(given, begin)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_several_outputs_some_of_which_no_turn_reads():
    x, start, w = T.dmatrix("x"), T.dvector("start"), T.dmatrix("w")

    def step(row, state, w):
        new = (
            np.tanh(row + state @ w)
            if isinstance(w, np.ndarray)
            else T.tanh(row + T.dot(state, w))
        )
        return [new, (new * row).sum(), new + 1]

    outs, _ = scan(step, sequences=x, outputs_info=[start, None, None], non_sequences=w)
    given = numbers(6, 3), numbers(3, seed=1), numbers(3, 3, seed=2)
    got = function([x, start, w], outs)(*given)
    want = by_turns(step, [given[0]], [given[1], None, None], [given[2]])
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_an_axis_that_broadcasts_at_the_start_only():
    x = T.dmatrix("x")
    start = T.zeros((1, 3))
    out, _ = scan(
        lambda row, s: s + row, sequences=x, outputs_info=T.addbroadcast(start, 0)[0]
    )
    given = numbers(4, 3)
    np.testing.assert_allclose(function([x], out)(given), given.cumsum(0), rtol=1e-12)


def test_a_state_that_changes_its_shape_is_an_error():
    start, x = T.dvector("start"), T.dvector("x")
    out, _ = scan(lambda s: T.concatenate([s, x]), outputs_info=start, n_steps=2)
    with pytest.raises(
        ValueError, match=r"a state, has shape \(2,\), and \(5,\) after an iteration"
    ):
        function([start, x], out)([1, 2], [1, 2, 3])


# ---- what a turn reads from outside ----


def test_variables_from_outside_are_found():
    x, y = T.dmatrix("x"), T.dvector("y")
    w = shared(np.array([1.0, 2.0, 3.0]), "w")
    out, _ = scan(lambda row: (row * w + T.exp(y)).sum(), sequences=x)
    given = numbers(4, 3), numbers(3, seed=1)
    want = (given[0] * [1, 2, 3] + np.exp(given[1])).sum(1)
    np.testing.assert_allclose(function([x, y], out)(*given), want, rtol=1e-12)


def test_strict_finds_what_was_not_given():
    x, y = T.dmatrix("x"), T.dvector("y")
    with pytest.raises(MissingInputError, match=r"reads y.*strict"):
        scan(lambda row: row + y, sequences=x, strict=True)
    out, _ = scan(lambda row, z: row + z + y, x, non_sequences=[y], strict=True)
    assert function([x, y], out)([[1.0]], [2.0]).tolist() == [[5.0]]


def test_non_sequences_that_are_no_variables_become_such():
    table = numbers(3, 2)

    def step(i, table, k):
        return table[i].dimshuffle("x", 0).sum() + k.astype("float64")

    out, _ = scan(step, T.arange(3), non_sequences=[table, 2])
    np.testing.assert_allclose(function([], out)(), table.sum(1) + 2, rtol=1e-12)
    with pytest.raises(TypeError, match=r"non_sequences 1: .*'text'"):
        scan(step, T.arange(3), non_sequences=[table, "text"])


def test_shared_variables_are_updated_by_turns():
    count = shared(1.0, "count")
    out, updates = scan(lambda: (count, {count: count + 1}), n_steps=3)
    f = function([], out, updates=updates)
    assert f().tolist() == [1, 2, 3]
    assert count.get_value() == 4
    assert f().tolist() == [4, 5, 6]


def test_updates_that_shared_variables_bring_along():
    count = shared(0, "count")
    count.default_update = count + 2
    out, updates = scan(lambda: count * 10, n_steps=3)
    assert list(updates) == [count]
    assert function([], out, updates=updates)().tolist() == [0, 20, 40]
    assert count.get_value() == 6


def test_integers_that_settle_shapes_in_a_turn():
    x, n = T.dvector("x"), T.iscalar("n")
    out, _ = scan(lambda a, n: T.alloc(a, n, 2), sequences=x, non_sequences=n)
    f = function([x, n], out)
    assert f([1, 2], 3).shape == (2, 3, 2)
    assert f([1, 2, 3], 1).tolist() == [[[1, 1]], [[2, 2]], [[3, 3]]]


# ---- until ----


def test_a_turn_may_be_the_last():
    def powers(prior, most):
        return prior * 2, theano.scan_module.until(prior * 2 > most)

    most = T.dscalar("most")
    out, _ = scan(
        powers,
        outputs_info=T.constant(1.0, dtype="float64"),
        non_sequences=most,
        n_steps=1024,
    )
    f = function([most], out)
    assert f(45).tolist() == [2, 4, 8, 16, 32, 64]
    assert f(0).tolist() == [2]
    assert len(f(1e300)) == 997


def test_until_with_several_outputs_and_a_sequence():
    x, start = T.dmatrix("x"), T.dvector("start")

    def step(row, state):
        new = state * 0.5 + row
        return [new, row.sum()], theano.scan_module.until(new.sum() > 1)

    def numpys(row, state):
        new = state * 0.5 + row
        return [new, row.sum()], new.sum() > 1

    (a, b), _ = scan(step, sequences=x, outputs_info=[start, None])
    f = function([x, start], [a, b, a[-1]])
    for seed in range(4):
        given = numbers(9, 2, seed=seed), numbers(2, seed=50 + seed)
        want = by_turns(numpys, [given[0]], [given[1], None])
        got = f(*given)
        np.testing.assert_allclose(got[0], want[0], rtol=1e-12)
        np.testing.assert_allclose(got[1], want[1], rtol=1e-12)
        np.testing.assert_allclose(got[2], want[0][-1], rtol=1e-12)


# ---- loops in loops ----


def test_a_loop_in_a_loop():
    x, y = T.dmatrix("x"), T.dvector("y")

    def outer(row, total):
        inner, _ = scan(lambda a, s: s + a * y.sum(), sequences=row, outputs_info=total)
        return inner[-1]

    out, _ = scan(outer, sequences=x, outputs_info=T.constant(0.0, dtype="float64"))
    given = numbers(4, 3), numbers(2, seed=1)
    want = np.cumsum(given[0].sum(1) * given[1].sum())
    np.testing.assert_allclose(function([x, y], out)(*given), want, rtol=1e-12)


# ---- views ----


def test_map_reduce_and_folds():
    x = T.dvector("x")
    zero = T.constant(0.0, dtype="float64")
    mapped, _ = theano.map(lambda a: a * 2, x)
    total, _ = theano.reduce(lambda a, s: s + a, x, zero)
    left, _ = theano.foldl(lambda a, s: a - s, x, zero)
    right, _ = theano.foldr(lambda a, s: a - s, x, zero)
    got = function([x], [mapped, total, left, right])([0, 1, 2, 3])
    assert got[0].tolist() == [0, 2, 4, 6]
    assert [each.item() for each in got[1:]] == [6, 2, -2]


# ---- what a loop is not ----


MISTAKES = {
    "the number of iterations is unknown": (ValueError, lambda x: scan(lambda: 1)),
    r"sequence 0 is .* no rows": (TypeError, lambda x: scan(lambda a: a, x.sum())),
    "n_steps is -1": (ValueError, lambda x: scan(lambda a: a, x, n_steps=-1)),
    "n_steps is .* expected an integer": (
        TypeError,
        lambda x: scan(lambda a: a, x, n_steps=x),
    ),
    r"taps are \[-1, -1\], expected each tap once": (
        ValueError,
        lambda x: scan(lambda a: a, {"input": x, "taps": [-1, -1]}),
    ),
    r"taps are \[0\], expected negative": (
        ValueError,
        lambda x: scan(lambda a: a, outputs_info={"initial": x, "taps": [0]}),
    ),
    "has the taps .* and no 'initial'": (
        ValueError,
        lambda x: scan(lambda a: a, x, outputs_info=[{"taps": [-2]}]),
    ),
    "has 'tap'; it may have 'input' and 'taps'": (
        ValueError,
        lambda x: scan(lambda a: a, {"input": x, "tap": [0]}),
    ),
    "fn returns 2 outputs, and outputs_info has 1": (
        ValueError,
        lambda x: scan(lambda a: [a, a], x, outputs_info=[None]),
    ),
    "output 0 .*float64.* is of .*float32.*begin with a state of float64": (
        ValueError,
        lambda x: scan(lambda a, s: a + s, x, T.fvector("s")[0]),
    ),
    r"output 0 .*float32.* is of .*float64.*cast the output.*astype\('float64'\)": (
        ValueError,
        lambda x: scan(lambda a, s: T.cast(s, "float32"), x, x[0]),
    ),
    "output 0 of fn is .*same number|number of axes": (
        ValueError,
        lambda x: scan(lambda a, s: T.stack([s, s]), x, x[0]),
    ),
    "truncate_gradient is 0": (
        ValueError,
        lambda x: scan(lambda a: a, x, truncate_gradient=0),
    ),
    "scan: the name is 3, expected a string": (
        TypeError,
        lambda x: scan(lambda a: a, x, name=3),
    ),
    "go_backwards is n, expected True or False": (
        TypeError,
        lambda x: scan(lambda a: a, x, go_backwards=T.iscalar("n")),
    ),
    "go_backwards is 'no', expected True or False": (
        TypeError,
        lambda x: scan(lambda a: a, x, go_backwards="no"),
    ),
    "fn returns no output and no update": (
        ValueError,
        lambda x: scan(lambda a: None, x),
    ),
    "expected an output or a list of them": (
        TypeError,
        lambda x: scan(lambda a: "text", x),
    ),
    "the condition is .* expected a scalar": (
        TypeError,
        lambda x: scan(lambda a: (a, theano.scan_module.until(x > 1)), x),
    ),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_are_named(text):
    kind, call = MISTAKES[text]
    with pytest.raises(kind, match=text):
        call(T.dvector("x"))


# ---- test values ----


def test_a_turn_has_the_test_values_of_the_first_one():
    seen = []

    def step(row, state, w):
        new = T.tanh(row + T.dot(state, w))
        seen.append(new.tag.test_value)
        return new

    with config.use(compute_test_value="raise"):
        x, s, w = T.dmatrix("x"), T.dvector("s"), T.dmatrix("w")
        arrays = numbers(4, 3), numbers(3, seed=1), numbers(3, 3, seed=2)
        for variable, array in zip((x, s, w), arrays, strict=True):
            variable.tag.test_value = array
        out, _ = scan(step, x, s, w)
        slopes = theano.grad((out**2).sum(), [x, w])
    (want,) = by_turns(
        lambda r, s, w: [np.tanh(r + s @ w)], [arrays[0]], [arrays[1]], [arrays[2]]
    )
    np.testing.assert_allclose(seen[0], want[0])
    np.testing.assert_allclose(out.tag.test_value, want)
    found = function([x, s, w], slopes)(*arrays)
    for slope, got in zip(slopes, found, strict=True):
        np.testing.assert_allclose(slope.tag.test_value, got, rtol=1e-10)


def test_a_test_value_that_is_missing_is_told_of():
    x, s = T.dmatrix("x"), T.dvector("s")
    x.tag.test_value = numbers(4, 3)
    with (
        config.use(compute_test_value="raise"),
        pytest.raises(AttributeError, match="test value"),
    ):
        scan(lambda row, s: row + s, x, s)
