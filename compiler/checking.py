"""Gradients checked against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gpuarray.compiler import tensor
from gpuarray.compiler.config import config
from gpuarray.compiler.derivatives.reverse import grad
from gpuarray.compiler.errors import CompilerError, GraphTypeError, GraphValueError
from gpuarray.compiler.function import function
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.reduce.reduce import sum as add_up

Array = np.ndarray[Any, Any]

TOLERANCES = {"float64": 1e-4, "float32": 1e-2, "float16": 5e-2, "bfloat16": 4e-1}
"""The allowed error of a gradient, by the coarsest dtype in it."""

STEPS = {"float64": 1e-7, "float32": 3e-4, "float16": 1e-1, "bfloat16": 4e-1}
"""The steps of finite differences, by the coarsest dtype in the function."""


class GradientError(CompilerError, AssertionError):
    """A gradient differs from finite differences, at argument ``arg``.

    ``err_pos`` is the flat index of the worst element; there the gradient is ``val1``
    and finite differences ``val2``.
    """

    def __init__(
        self,
        arg: int,
        err_pos: int,
        shape: tuple[int, ...],
        val1: float,
        val2: float,
        abs_err: float,
        rel_err: float,
        abs_tol: float,
        rel_tol: float,
    ) -> None:
        self.arg, self.err_pos, self.shape = arg, err_pos, shape
        self.val1, self.val2 = val1, val2
        self.abs_err, self.rel_err = abs_err, rel_err
        self.abs_tol, self.rel_tol = abs_tol, rel_tol
        super().__init__(
            arg, err_pos, shape, val1, val2, abs_err, rel_err, abs_tol, rel_tol
        )

    def __str__(self) -> str:
        return (
            f"verify_grad: the gradient by argument {self.arg} of shape {self.shape} "
            f"is {self.val1:.8g} at element {self.err_pos}, finite differences give "
            f"{self.val2:.8g}:\n"
            f"  absolute error {self.abs_err:.3g}, allowed {self.abs_tol:.3g}\n"
            f"  relative error {self.rel_err:.3g}, allowed {self.rel_tol:.3g}"
        )


def coarsest(dtypes: Sequence[Any]) -> str:
    """Return the name of the dtype of least precision."""
    order = list(TOLERANCES)
    names = [str(np.dtype(dtype).name) for dtype in dtypes]
    return max(names, key=order.index)


class numeric_grad:
    """The gradient, by finite differences, of ``f`` of NumPy arrays at ``pt``.

    ``pt`` is an array or a list of them; so is ``gf``, the gradient by steps of
    ``eps``, by default what suits the coarsest dtype among the arguments and
    ``out_type``.
    """

    type_eps = STEPS

    def __init__(
        self,
        f: Callable[..., Any],
        pt: Any,
        eps: float | None = None,
        out_type: Any = None,
    ) -> None:
        single = not isinstance(pt, list | tuple)
        points = [np.array(value) for value in ([pt] if single else pt)]
        step = eps
        if step is None:
            dtypes = [array.dtype for array in points]
            step = STEPS[coarsest(dtypes if out_type is None else [*dtypes, out_type])]
        gradients = []
        for point in points:
            gradient = np.zeros(point.shape, point.dtype)
            for place in np.ndindex(point.shape):
                gradient[place] = _slope(f, points, point, place, step)
            gradients.append(gradient)
        self.gf: Any = gradients[0] if single else gradients

    @staticmethod
    def abs_rel_err(a: Any, b: Any) -> tuple[Any, Any]:
        """Return the absolute difference, and its ratio to the sum."""
        distance = np.abs(np.subtract(a, b))
        size = np.maximum(np.abs(a) + np.abs(b), 1e-8)
        return distance, distance / size

    def abs_rel_errors(self, g_pt: Sequence[Any]) -> list[tuple[Any, Any]]:
        """Return, for each argument, a gradient's errors."""
        expected = self.gf if isinstance(self.gf, list) else [self.gf]
        if len(g_pt) != len(expected):
            raise GraphValueError(
                f"numeric_grad: given {len(g_pt)} gradients for {len(expected)} "
                "arguments"
            )
        errors = []
        for i, (a, b) in enumerate(zip(g_pt, expected, strict=True)):
            if np.shape(a) != b.shape:
                raise GraphValueError(
                    f"numeric_grad: the gradient by argument {i} has shape "
                    f"{np.shape(a)}, the argument {b.shape}"
                )
            wide = np.promote_types(b.dtype, np.float32)
            errors.append(self.abs_rel_err(np.asarray(a, wide), np.asarray(b, wide)))
        return errors

    def max_err(
        self, g_pt: Any, abs_tol: float, rel_tol: float
    ) -> tuple[int, int, float, float]:
        """Return a gradient's worst: argument, index, absolute and relative error."""
        worst = (0, 0, 0.0, 0.0)
        most = -1.0
        gradients = g_pt if isinstance(g_pt, list | tuple) else [g_pt]
        for arg, (far, part) in enumerate(self.abs_rel_errors(gradients)):
            if far.size == 0:
                continue
            score = np.minimum(far / abs_tol, part / rel_tol).ravel()
            score = np.where(np.isnan(score), np.inf, score)
            place = int(score.argmax())
            if score[place] > most:
                most = float(score[place])
                worst = (arg, place, float(far.flat[place]), float(part.flat[place]))
        return worst


def _slope(
    f: Callable[..., Any],
    points: list[Array],
    point: Array,
    place: tuple[int, ...],
    step: float,
) -> float:
    """Return the central difference quotient for an element of a point."""
    before = point[place]
    ends = []
    for sign in (1, -1):
        point[place] = before + point.dtype.type(sign * step)
        ends.append((float(point[place]), float(np.asarray(f(*points)))))
    point[place] = before
    (high, at_high), (low, at_low) = ends
    return (at_high - at_low) / (high - low)


def verify_grad(
    fun: Callable[..., Any],
    pt: Sequence[Any],
    n_tests: int = 2,
    rng: Any = None,
    eps: float | None = None,
    out_type: Any = None,
    abs_tol: float | None = None,
    rel_tol: float | None = None,
    mode: Any = None,
    cast_to_output_type: bool = False,
    no_debug_ref: bool = True,
) -> None:
    """Check the gradient of ``fun`` at the arrays ``pt`` against finite differences.

    ``fun`` takes a variable for each array, whose axes of length 1 broadcast, and
    returns one variable, of any shape: an op, or a function that builds a graph. Its
    result is weighted by random numbers from ``rng`` (by default
    ``numpy.random.default_rng(config.unittests.rseed)``) and summed to a cost,
    ``n_tests`` times. Functions are compiled in ``mode``. With ``cast_to_output_type``
    the arguments become the result's dtype first; ``no_debug_ref`` changes nothing.

    Raises GradientError, also called ``verify_grad.E_grad``, where both the absolute
    and the relative error of an element exceed their limits; by default 1e-4 for
    float64 and 1e-2 for float32. Raises TypeError for arrays that are not of floats.

    >>> from gpuarray.compiler import tensor as T
    >>> verify_grad(T.tanh, [np.array([0.5, -1.0])])
    """
    points = [np.array(value) for value in pt]
    generator = np.random.default_rng(config.unittests.rseed) if rng is None else rng
    for i, point in enumerate(points):
        if point.dtype.name not in TOLERANCES:
            raise GraphTypeError(
                f"verify_grad: argument {i} is an array of {point.dtype}; finite "
                "differences need real numbers"
            )
    variables = [
        TensorType(array.dtype.name, tuple(n == 1 for n in array.shape))(f"input {i}")
        for i, array in enumerate(points)
    ]
    output = _only_output(fun, variables)
    dtype = str(output.type.dtype)
    if cast_to_output_type:
        points = [array.astype(dtype) for array in points]
        variables = [
            TensorType(dtype, variable.type.broadcastable)(variable.name)
            for variable in variables
        ]
        output = _only_output(fun, variables)
    kind = coarsest([*(array.dtype for array in points), out_type or dtype])
    allowed = (
        TOLERANCES[kind] if abs_tol is None else abs_tol,
        TOLERANCES[kind] if rel_tol is None else rel_tol,
    )
    shape = np.shape(function(variables, output, mode=mode, **QUIET)(*points))
    weights = TensorType(dtype, output.type.broadcastable)("weights")
    cost = add_up(weights * output, dtype=_sum_dtype(dtype))
    value_of = function([*variables, weights], cost, mode=mode, **QUIET)
    gradients = grad(cost, variables, disconnected_inputs="ignore")
    slope_of = function([*variables, weights], gradients, mode=mode, **QUIET)
    for _ in range(n_tests):
        sample = np.asarray(generator.random(shape) + 0.5).astype(dtype)
        numeric = numeric_grad(
            lambda *moved, w=sample: value_of(*moved, w), points, eps, kind
        )
        _compare(numeric, slope_of(*points, sample), points, allowed)


verify_grad.E_grad = GradientError  # type: ignore[attr-defined]
tensor.verify_grad = verify_grad

QUIET: Any = {"on_unused_input": "ignore"}


def _sum_dtype(dtype: str) -> str:
    return dtype if dtype in ("float32", "float64") else "float32"


def _only_output(fun: Callable[..., Any], variables: Sequence[Variable]) -> Variable:
    """Return the only output of ``fun``, checked to be one of floats."""
    output = fun(*variables)
    if isinstance(output, list | tuple) and len(output) == 1:
        output = output[0]
    if not isinstance(output, Variable):
        raise GraphTypeError(
            f"verify_grad: the function gives {output!r}; expected one variable: check "
            "the outputs one by one"
        )
    if str(output.type.dtype) not in TOLERANCES:
        raise GraphTypeError(
            f"verify_grad: the function gives {output.type}; expected real numbers"
        )
    return output


def _compare(
    numeric: numeric_grad,
    gradients: Sequence[Any],
    points: Sequence[Array],
    allowed: tuple[float, float],
) -> None:
    """Raise GradientError where the errors exceed their limits."""
    arg, place, abs_err, rel_err = numeric.max_err(list(gradients), *allowed)
    is_near = abs_err <= allowed[0] or rel_err <= allowed[1]
    if not is_near:
        gradient = float(np.asarray(gradients[arg]).flat[place])
        difference = float(numeric.gf[arg].flat[place])
        shape = points[arg].shape
        raise GradientError(
            arg, place, shape, gradient, difference, abs_err, rel_err, *allowed
        )
