"""Messages of distributions for parameters that do not fit."""

import gpuarray
import numpy as np
import pytest
from gpuarray._random.table import DISTRIBUTIONS, real_dtype
from judge import assert_same
from test_distributions import PARAMETERS, draw, dtypes_of, rng

# ---- bad input ----


def wrong(name, given):
    row = DISTRIBUTIONS[name]
    for k, p in enumerate(row.parameters):
        values = [np.nan]
        values += [p.least] if p.above else [p.least - 1]
        values += [p.greatest] if p.below else [p.greatest + 1]
        values += [2.5] if p.whole else []
        for value in values:
            if not p.allows(np.float64(value)):
                yield p.name, [*given[:k], value, *given[k + 1 :]]


@pytest.mark.parametrize("name", sorted(DISTRIBUTIONS))
def test_parameters_out_of_range(context, name):
    generator = rng(context)
    for dtype in dtypes_of(name):
        whole = DISTRIBUTIONS[name].kind != "f"
        for parameter, given in wrong(name, PARAMETERS[name]):
            with pytest.raises(
                ValueError, match=f"{name}: got {parameter} .*, expected"
            ):
                draw(generator, name, given, 3, dtype)
            rows = [
                [good, bad] for good, bad in zip(PARAMETERS[name], given, strict=True)
            ]
            with pytest.raises(
                ValueError, match=f"{name}: got {parameter} .*, expected"
            ):
                draw(generator, name, rows, None, dtype)
            assert generator.state == (7, 3, 0)
            real = real_dtype(dtype)
            device = [
                gpuarray.asarray(np.array(row, real), context=context) for row in rows
            ]
            got = draw(rng(context), name, device, None, dtype).get()
            assert (
                got[0] == draw(rng(context), name, PARAMETERS[name], 2, dtype).get()[0]
            )
            assert got[1] == -1 if whole else np.isnan(got[1])


def test_parameters_that_do_not_fit_each_other(context):
    generator, device = rng(context), []
    for call, said in (
        (
            lambda a: generator.triangular(*a),
            "right .*1.*, expected at least mode, .*2",
        ),
        (
            lambda a: generator.truncated_normal(0, 1, *a[1:]),
            "high .*1.*, expected at least low, .*2",
        ),
        (
            lambda a: generator.hypergeometric(0, 1, a[1]),
            "nsample .*2.*, expected at most ngood [+] nbad, .*1",
        ),
    ):
        with pytest.raises(ValueError, match=said):
            call([0, 2, 1])
        with pytest.raises(ValueError, match=said):
            call([[0], [2], [1]])
        arrays = [gpuarray.asarray([value], context=context) for value in (0, 2, 1)]
        device.append(call(arrays).get()[0])
    assert np.isnan(device[:2]).all() and device[2] == -1


def test_wrong_calls(context):
    generator = rng(context)
    out = gpuarray.zeros(3, context=context)
    for error, said, call in (
        (TypeError, "loc 'a'", lambda: generator.normal("a")),
        (TypeError, "scale None", lambda: generator.normal(0, None)),
        (TypeError, "complex64", lambda: generator.normal([0], 1, dtype="complex64")),
        (TypeError, "int32 for normal", lambda: generator.normal([0], dtype="int32")),
        (TypeError, "bool for poisson", lambda: generator.poisson(2, dtype="bool")),
        (
            ValueError,
            r"loc \(2,\), scale \(3,\)",
            lambda: generator.normal([1, 2], [1] * 3),
        ),
        (ValueError, "loc of shape", lambda: generator.normal([1, 2, 3], size=(3, 4))),
        (ValueError, "negative length", lambda: generator.gamma(1, size=-1)),
        (TypeError, "2.5 is not an integer", lambda: generator.gamma(1, size=2.5)),
        (ValueError, "shape of out", lambda: generator.gamma(1, size=4, out=out)),
        (ValueError, "shape of shape", lambda: generator.gamma([1, 2], out=out)),
        (
            ValueError,
            "read-only",
            lambda: generator.gamma(1, out=out.broadcast_to((2, 3))),
        ),
        (
            ValueError,
            "1.67772e[+]07",
            lambda: generator.binomial(2**25, 0.5, 3, "int32"),
        ),
        (
            ValueError,
            "1.67772e[+]07",
            lambda: generator.binomial([2**25], 0.5, dtype="int32"),
        ),
        (TypeError, "low 1.5", lambda: generator.integers(1.5)),
        (ValueError, "not below high", lambda: generator.integers([1, 5], [3, 5])),
        (ValueError, "uint8", lambda: generator.integers(0, [5, 300], dtype="uint8")),
        (TypeError, "low", lambda: generator.integers([0.5], 3)),
        (
            ValueError,
            "'x', expected",
            lambda: generator.standard_exponential(method="x"),
        ),
        (TypeError, "^random: got int8", lambda: generator.random(dtype="int8")),
        (ValueError, "^random: neg", lambda: generator.random(-1)),
        (TypeError, "^standard_normal: out", lambda: generator.standard_normal(out=3)),
        (
            TypeError,
            "^standard_exponential: shape",
            lambda: generator.standard_exponential("x"),
        ),
        (ValueError, "^standard_cauchy: n", lambda: generator.standard_cauchy(-1)),
        (ValueError, "^standard_gamma: got", lambda: generator.standard_gamma(-1)),
    ):
        with pytest.raises(error, match=said):
            call()
    assert generator.state == (7, 3, 0) and not out.get().any()


def test_arrays_of_another_context(context):
    elsewhere = gpuarray.zeros(3, context="null")
    for call in (rng(context).normal, rng(context).poisson, rng(context).integers):
        with pytest.raises(ValueError, match="is on null, the generator on"):
            call(elsewhere)


def test_a_parameter_may_be_the_result(context):
    wanted = rng(context).normal([1.0, 2.0, 3.0], 1).get()
    x = gpuarray.asarray([1.0, 2.0, 3.0], context=context)
    assert_same(rng(context).normal(x, 1, out=x), wanted, exact=True)
    x = gpuarray.asarray([3.0, 2.0, 1.0], context=context)
    assert_same(rng(context).normal(x[::-1], 1, out=x), wanted, exact=True)


def test_integers_between_arrays(context):
    wanted = rng(context).integers(-5, 1000, (50, 2)).get()[:, 1]
    got = rng(context).integers([0, -5], [2**62, 1000], (50, 2)).get()
    np.testing.assert_array_equal(got[:, 1], wanted)
    assert got[:, 0].min() >= 0 and got[:, 0].max() > 2**60
    low = gpuarray.asarray([[0], [200]], context=context)
    made = rng(context).integers(low, [201, 256], (999, 2, 2), "uint8").get()
    assert made.max((0, 2)).tolist() == [254, 255] or made.max() == 255
    assert (made >= [[0], [200]]).all() and (made < [201, 256]).all()
    assert rng(context).integers([5], [5], endpoint=True).tolist() == [5]
