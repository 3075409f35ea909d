"""Cases of ops that show and check values."""

import numpy as np
from cases import case, f64, i32
from gpuarray.compiler.ops.control.debugging import Assert, Print


def keep(op, value):
    """What a Print calls in these cases: it prints nothing."""


QUIET = Print("seen", global_fn=keep)

case("print", lambda x: QUIET(x) * 2, lambda x: x * 2, f64(3, 4))
case("print_only", QUIET, lambda x: x, f64(3))
case("print_int", QUIET, lambda x: x, i32(2, 3), has_gradient=False)
case("print_scalar", QUIET, lambda x: x, f64())
case("assert", lambda x: Assert()(x, (x < 99).all()), lambda x: x, f64(3))
case(
    "assert_two",
    lambda x, n: Assert("few")(x, n < 100, x.shape[0] > 2) ** 2,
    lambda x, n: x**2,
    f64(3, 2),
    np.array(4),
    has_gradient=False,
)
case("assert_true", lambda x: Assert()(x, True) + 1, lambda x: x + 1, f64(3))
