"""The row by which draws of gamma numbers have gradients: a slope by the shape."""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuarray.compiler.errors import NotOfferedError
from gpuarray.scalars import Scalar
from gpuarray.scalars.texts import device_functions, horner

# fmt: off
_TERMS = {
    "H1": (
        0.16666666666666666, -0.08333333333333333, 0.05, -0.03333333333333333,
        0.023809523809523808, -0.017857142857142856, 0.013888888888888888,
        -0.011111111111111112, 0.00909090909090909, -0.007575757575757576,
        0.00641025641025641, -0.005494505494505495,
    ),
    "H2": (
        0.016666666666666666, 0.0, -0.004761904761904762, 0.005952380952380952,
        -0.005952380952380952, 0.005555555555555556, -0.005050505050505051,
        0.004545454545454545,
    ),
    "H3": (
        -0.009523809523809525, 0.008333333333333333, -0.005952380952380952,
        0.003968253968253968, -0.0025252525252525255, 0.0015151515151515152,
    ),
    "H4": (
        -0.0035714285714285713, 0.0, 0.0018037518037518038, -0.0025252525252525255,
    ),
}
# fmt: on
"""The power series of the terms for large shapes, by the names in the device code."""

_AGAIN = (
    "the slope of a gamma draw by its shape is not implemented: such draws are "
    "differentiable once"
)


def _reference(a: Any, y: Any) -> Any:
    """Raise NotOfferedError, as for the draws that it is for."""
    raise NotOfferedError("gamma_slope: it has no NumPy reference: devices compute it")


def _gradient(m: Any, g: Any, y: Any, *operands: Any) -> tuple[Any, ...]:
    """The slope of the logarithm of a gamma number by its shape."""
    return tuple(m.unknown(_AGAIN) for _ in operands)


class SlopeRow(Scalar):
    """A row of the package that stands beside the table."""

    __slots__ = ()

    @property
    def is_ours(self) -> bool:
        """True."""
        return True

    def __reduce__(self) -> tuple[Callable[..., Scalar], tuple[str, ...]]:
        return _row, ()


def _row() -> Scalar:
    return GAMMA_SLOPE


GAMMA_SLOPE = SlopeRow(
    name="gamma_slope",
    expression="ga_gamma_slope({0}, {1})",
    reference=_reference,
    gradient=_gradient,
    arity=2,
    support={
        "": device_functions(
            "gamma_slope", **{name: horner(row, "d") for name, row in _TERMS.items()}
        )
    },
    joins=(0, 1),
    public=False,
)
"""The slope of the logarithm y of a gamma number of shape a, by a: its probability held
fixed (Figurnov, Mohamed and Mnih, 2018)."""
