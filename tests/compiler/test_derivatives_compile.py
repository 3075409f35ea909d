"""Whatever compiles can be differentiated: each derivative of each op has a plan."""

import numpy as np
import pytest
from cases import CASES
from evaluate import evaluate
from gpuarray.compiler import Rop, config, function, grad
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.scalars import SCALARS
from test_gradient import FLOAT_ROWS, WITHOUT, row_case


def derivatives(build, variables):
    """What flows back to the float inputs, and how a direction moves the outputs."""
    built = build(*variables)
    outputs = list(built) if isinstance(built, (list, tuple)) else [built]
    outputs = [each for each in outputs if each.dtype == "float64"]
    floats = [each for each in variables if each.dtype == "float64"]
    points = [each.type(f"v{i}") for i, each in enumerate(floats)]
    cost = sum((each * each).sum() for each in outputs)
    back = grad(cost, floats, disconnected_inputs="ignore")
    return [*variables, *points], [*back, *Rop(outputs, floats, points, "ignore")]


SMOOTH = [
    case
    for case in CASES
    if case.has_gradient and "float64" in {each.dtype.name for each in case.arrays}
]


@pytest.mark.parametrize("case", SMOOTH, ids=lambda case: case.name)
def test_the_derivatives_of_an_op_have_a_plan(case, null):
    inputs, found = derivatives(case.build, case.variables())
    with config.use(device="null", contexts="a->null;b->null"):
        f = function(inputs, found, on_unused_input="ignore")
    assert len(f.plan.outputs) == len(found)


@pytest.mark.parametrize("name", [n for n in FLOAT_ROWS if n not in WITHOUT])
def test_the_derivatives_of_a_row_are_what_numpy_says_on_every_context(name, context):
    if not context.has_double:
        pytest.skip(f"{context.device_name} has no float64")
    arrays, variables = row_case(name)
    inputs, found = derivatives(Elemwise(SCALARS[name]), variables)
    points = [np.ones_like(each) for each in arrays if each.dtype == "float64"]
    values = dict(zip(inputs, [*arrays, *points], strict=True))
    with config.use(device=context.name):
        f = function(inputs, found, on_unused_input="ignore")
    for got, right in zip(f(*values.values()), evaluate(found, values), strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-9, atol=1e-12)
