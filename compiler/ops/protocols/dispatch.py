"""NumPy's protocols: its functions called with variables call ours of that name.

``numpy.exp(x)`` is ``T.exp(x)``, ``numpy.add.reduce(x)`` is a sum, and ``numpy.sum(x,
axis=0)`` is ``T.sum(x, axis=0)``. The scalar table has the ufunc of a row; functions
are found by name, and their arguments are passed by name. Functions and options that
ours lack raise TypeError.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from gpuarray._core.base import BaseArray
from gpuarray.compiler.config import config
from gpuarray.compiler.errors import GraphTypeError
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.broadcast import axes
from gpuarray.compiler.ops.creation import diagonals, joining
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index import picking
from gpuarray.compiler.ops.index.indexing import index
from gpuarray.compiler.ops.reduce import reduce as reducing
from gpuarray.compiler.ops.shape.shape import dimshuffle, flatten, shape_i, size
from gpuarray.compiler.ops.sorting.scanning import FUNCTIONS as RUNNING, CumOp
from gpuarray.compiler.ops.variables.basic import as_tensor_variable, normalise_axis
from gpuarray.scalars import PAIRS, SCALARS, Scalar

Function = Callable[..., Any]
Find = Callable[[Sequence[str]], Any]
_finders: list[Find] = []

HERE = "T (gpuarray.compiler.tensor)"


def offer(find: Find) -> None:
    """Set the lookup of a function by NumPy's path to it; it gives None if unknown."""
    _finders[:] = [find]


def _ours(path: Sequence[str]) -> Any:
    return next((find(path) for find in _finders), None)


def _missing(name: str, instead: str = "") -> GraphTypeError:
    hint = instead or (
        f"write it with functions of {HERE}, or make NumPy's function an op with "
        "compile.ops.as_op"
    )
    return GraphTypeError(
        f"numpy.{name}: not offered for a symbolic variable, whose value is not known "
        f"yet; {hint}"
    )


# ---- ufuncs ----


def _rows() -> dict[np.ufunc, Scalar]:
    """Return the row of each ufunc that has one result."""
    pairs = ((row.ufunc, row) for row in SCALARS.values())
    return {ufunc: row for ufunc, row in pairs if ufunc is not None and ufunc.nout == 1}


ROW_OF = _rows()
PAIR_OF = {pair.reference: pair.rows for pair in PAIRS}

# Options with their default values.
_PLAIN: dict[str, Any] = {
    "casting": "same_kind",
    "dtype": None,
    "order": "K",
    "out": None,
    "subok": True,
    "where": True,
}


def _is_known(operand: Any) -> bool:
    """True if our functions accept an operand, or refuse it with a reason."""
    kinds = Variable, BaseArray, np.ndarray, np.generic, bool, int, float, complex
    return isinstance(operand, (*kinds, list, tuple))


def array_ufunc(
    variable: Any, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any
) -> Any:
    """Return ``__array_ufunc__``: the function of the ufunc's row."""
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    if not all(map(_is_known, inputs)):
        return NotImplemented
    if options.get("out") is not None:
        raise _missing(name, f"out= is written; {HERE} gives a new variable instead")
    nondefault = {
        option: value
        for option, value in options.items()
        if not _is_default(value, _PLAIN.get(option, np._NoValue))
    }
    if method != "__call__":
        return _by_method(name, ufunc, method, inputs, nondefault)
    if nondefault:
        raise _missing(
            name, f"{', '.join(nondefault)}= cannot be given; use T.cast or T.where"
        )
    row = ROW_OF.get(ufunc)
    if row is not None:
        return _compared(row, inputs, math.FUNCTIONS[row.name](*inputs))
    if ufunc in PAIR_OF:
        return tuple(math.FUNCTIONS[part.name](*inputs) for part in PAIR_OF[ufunc])
    composed = _ours([name])
    if composed is None:
        raise _missing(name)
    return composed(*inputs)


def _compared(row: Scalar, inputs: Sequence[Any], result: Variable) -> Variable:
    """Give ``array == x`` the truth of ``x == array``: an array is no variable.

    So variables are still found in lists that also have arrays.
    """
    if row.operator in ("eq", "ne") and not isinstance(inputs[0], Variable):
        result.tag.truth = row.operator == "ne"
    return result


def _by_method(
    name: str,
    ufunc: np.ufunc,
    method: str,
    inputs: Sequence[Any],
    options: Mapping[str, Any],
) -> Variable:
    """``ufunc.reduce``, ``accumulate`` and ``outer``."""
    row = ROW_OF.get(ufunc)
    if method == "outer" and row is not None and not options:
        a, b = map(as_tensor_variable, inputs)
        spread = dimshuffle(a, *range(a.type.ndim), *("x",) * b.type.ndim)
        return math.FUNCTIONS[row.name](spread, b)
    if method == "reduce" and row is not None and row.name in reducing.NAMES:
        return _reduced(name, row, *inputs, **options)
    if method == "accumulate" and row is not None and row.name in RUNNING:
        return _accumulated(row, *inputs, **options)
    instead = "T.inc_subtensor(x[places], values)" if method == "at" else ""
    raise _missing(name, instead and f"use {instead}")


def _reduced(
    name: str,
    row: Scalar,
    x: Any,
    axis: Any = 0,
    dtype: Any = None,
    keepdims: bool = False,
    **rest: Any,
) -> Variable:
    if rest:
        raise _missing(name, f"{', '.join(rest)}= cannot be given")
    return reducing.reduced(row.name, x, axis, keepdims, dtype)


def _accumulated(row: Scalar, x: Any, axis: int = 0, dtype: Any = None) -> Variable:
    result: Variable = CumOp(axis, row.name)(
        x if dtype is None else math.cast(x, dtype)
    )
    return result


# ---- functions ----


def array_function(
    variable: Any,
    function: Function,
    types: Sequence[type],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> Any:
    """Return ``__array_function__``: the function of the same name, or one of `OWN`."""
    if not all(issubclass(kind, (Variable, BaseArray, np.ndarray)) for kind in types):
        return NotImplemented
    path = [*function.__module__.split(".")[1:], function.__name__]
    name = ".".join(path)
    if name in WRITES:
        raise _missing(name, f"a variable stays as it is; use new = {WRITES[name]}")
    own = OWN.get(name)
    if own is not None:
        return _handed_on(name, function, own, args, kwargs)
    ours = _ours([*path[:-1], SYNONYMS.get(name, path[-1])])
    if ours is None:
        near = _ours(path[-1:]) if path[0] == "linalg" else None
        if near is None:
            raise _missing(name, ELSEWHERE.get(path[0], ""))
        ours = near
    return _handed_on(name, function, ours, args, kwargs)


@cache
def _signature(function: Function) -> inspect.Signature | None:
    """Return a function's signature; None for one in C without it."""
    try:
        return inspect.signature(function)
    except ValueError:
        return None


def _handed_on(
    name: str,
    function: Function,
    ours: Function,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> Any:
    """Call ``ours`` with the arguments of NumPy's function.

    NumPy's parameters without a default are passed by position, the others by name,
    where they are not the default. Raises TypeError for those that ours lacks.
    """
    numpy_signature, own_signature = _signature(function), _signature(ours)
    if numpy_signature is None or own_signature is None:
        return ours(*args, **kwargs)
    bound, own_parameters = (
        numpy_signature.bind(*args, **kwargs),
        own_signature.parameters,
    )
    places: list[Any] = []
    names: dict[str, Any] = {}
    for key, value in bound.arguments.items():
        parameter = numpy_signature.parameters[key]
        if parameter.kind is parameter.VAR_POSITIONAL:
            places += value
        elif parameter.kind is parameter.VAR_KEYWORD:
            names |= value
        elif parameter.default is parameter.empty:
            places.append(value)
        elif not _is_default(value, parameter.default):
            if key not in own_parameters:
                listed = ", ".join(own_parameters)
                raise _missing(
                    name, f"{key}={value!r} cannot be given; ours takes ({listed})"
                )
            names[key] = value
    return ours(*places, **names)


def _is_default(value: Any, default: Any) -> bool:
    if value is default:
        return True
    plain = bool, int, float, str
    return (
        isinstance(value, plain) and type(value) is type(default) and value == default
    )


# ---- functions of NumPy's that are not found by name ----


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None and y is None:
        return picking.nonzero(condition)
    return math.FUNCTIONS["where"](condition, x, y)


def _clip(
    a: Any, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None
) -> Variable:
    low = min if a_min is None else a_min
    high = max if a_max is None else a_max
    if low is not None and high is not None:
        return math.FUNCTIONS["clip"](a, low, high)
    if low is not None:
        return math.FUNCTIONS["maximum"](a, low)
    return as_tensor_variable(a) if high is None else math.FUNCTIONS["minimum"](a, high)


def _angle(z: Any, deg: bool = False) -> Variable:
    angle = math.FUNCTIONS["angle"](z)
    return math.FUNCTIONS["rad2deg"](angle) if deg else angle


def rounded(a: Any, decimals: int = 0) -> Variable:
    """Return ``a`` rounded to decimals, half to even; integers stay integers."""
    variable = as_tensor_variable(a)
    dtype = variable.type.dtype
    if dtype[0] in "iu" and decimals >= 0:
        return variable
    scale = 10.0 ** abs(decimals)
    up, down = ("mul", "true_div") if decimals > 0 else ("true_div", "mul")
    if decimals == 0:
        return math.FUNCTIONS["rint"](variable)
    near = math.FUNCTIONS["rint"](math.FUNCTIONS[up](variable, scale))
    return math.cast(math.FUNCTIONS[down](near, scale), dtype)


def _split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Variable]:
    x = as_tensor_variable(ary)
    along = normalise_axis("numpy.split", axis, x.type.ndim)
    if isinstance(indices_or_sections, (int, np.integer)):
        count = int(indices_or_sections)
        part = math.FUNCTIONS["floor_divide"](shape_i(x, along), count)
        parts = joining.split(x, [part] * count, count, along)
        return parts if isinstance(parts, list) else [parts]
    cuts = [None, *indices_or_sections, None]
    before = (slice(None),) * along
    return [index(x, (*before, slice(*ends))) for ends in pairwise(cuts)]


def _flipped(m: Any, axis: Any = None) -> Variable:
    x = as_tensor_variable(m)
    over = reducing.axes_of("flip", axis, x.type.ndim)
    back = [slice(None, None, -1 if i in over else None) for i in range(x.type.ndim)]
    return index(x, tuple(back)) if over else x


def _stacked(axis: int, ndim: int) -> Function:
    """Return ``hstack`` or ``vstack``: a join of arrays with ``ndim`` axes or more."""

    def join(tup: Sequence[Any]) -> Variable:
        arrays = [axes.atleast_nd(as_tensor_variable(array), ndim) for array in tup]
        return joining.concatenate(arrays, min(axis, arrays[0].type.ndim - 1))

    return join


def _count(a: Any, axis: Any = None, keepdims: bool = False) -> Variable:
    return reducing.sum(math.FUNCTIONS["ne"](a, 0), axis, keepdims=keepdims)


def _size(a: Any, axis: Any = None) -> Variable:
    variable = as_tensor_variable(a)
    if axis is None:
        return size(variable)
    return reducing.count(variable, reducing.axes_of("size", axis, variable.type.ndim))


def _dtyped(function: Function) -> Function:
    """Return a function of dtypes that also takes variables."""

    def of_dtypes(*arguments: Any, **options: Any) -> Any:
        kinds = [
            x.type.numpy_dtype if isinstance(x, Variable) else x for x in arguments
        ]
        return function(*kinds, **options)

    return of_dtypes


def _matrix_trace(x: Any, offset: int = 0) -> Variable:
    return diagonals.trace(x, offset, -2, -1)


def _matrix_diagonal(x: Any, offset: int = 0) -> Variable:
    return diagonals.diagonal(x, offset, -2, -1)


OWN: dict[str, Function] = {
    "angle": _angle,
    "around": rounded,
    "can_cast": _dtyped(np.can_cast),
    "clip": _clip,
    "count_nonzero": _count,
    "flip": _flipped,
    "fliplr": lambda m: _flipped(m, 1),
    "flipud": lambda m: _flipped(m, 0),
    "hstack": _stacked(1, 1),
    "iscomplexobj": lambda x: x.type.dtype.startswith("complex"),
    "isrealobj": lambda x: not x.type.dtype.startswith("complex"),
    "linalg.diagonal": _matrix_diagonal,
    "linalg.trace": _matrix_trace,
    "ndim": lambda a: as_tensor_variable(a).type.ndim,
    "ravel": lambda a: flatten(as_tensor_variable(a)),
    "result_type": _dtyped(np.result_type),
    "round": rounded,
    "size": _size,
    "split": _split,
    "vstack": _stacked(0, 2),
    "where": _where,
}
"""Functions whose arguments differ from ours, or that are composed here."""

SYNONYMS = {
    "amax": "max",
    "amin": "min",
    "concat": "concatenate",
    "copy": "tensor_copy",
    "permute_dims": "transpose",
}
"""NumPy's other names of functions."""

WRITES = {
    "copyto": "T.where(mask, values, x)",
    "fill_diagonal": "T.fill_diagonal(x, value)",
    "place": "T.set_subtensor(x[mask], values)",
    "put": "T.set_subtensor(x[places], values)",
    "put_along_axis": "T.put_along_axis(x, places, values, axis)",
    "putmask": "T.where(mask, values, x)",
}
"""Functions that write to their argument, and the alternative that does not."""

ELSEWHERE = {"fft": "T.fft.rfft and T.fft.irfft are offered, whose results are real"}
"""Submodules without functions here, and the alternative."""


# ---- values ----


def as_array(variable: Variable, *_: Any, **__: Any) -> Any:
    """Raise TypeError for ``__array__``: a variable has no value before the run.

    With Theano's protocols it is an element of an array of objects.
    """
    if config.protocols == "theano":
        found = np.empty((), object)
        found[()] = variable
        return found
    raise unknown(
        variable,
        "array",
        "compute it with x.eval() or a function; T.as_tensor_variable([x, y]) stacks "
        "variables",
    )


def unknown(variable: Any, asked: str, instead: str) -> GraphTypeError:
    """Return the error for reading the value of a variable."""
    return GraphTypeError(
        f"{asked}: {variable} is symbolic, its value is not known yet; {instead}"
    )
