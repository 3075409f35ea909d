"""NumPy's protocols, which dispatch its functions of our arrays to ours of that name.

``numpy.exp(x)``, ``numpy.add.reduce(x)``, ``numpy.sum(x)``, ``numpy.linalg.norm(x)``
stay on the device. A function that is missing here raises BadType: nothing is ever
copied to the host unasked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuarray._core.attributes import shares_memory
from gpuarray._core.base import BaseArray, may_share_memory
from gpuarray._kernels.apply import from_host, is_host_array
from gpuarray._ufunc.elementwise import BY_REFERENCE
from gpuarray.config import takes_host_arrays
from gpuarray.errors import BadType

Find = Callable[[str], Any]
_finders: list[Find] = []


def offer(find: Find) -> None:
    """Register the search for a function by NumPy's name; None: not found."""
    _finders[:] = [find]


def _ours(name: str) -> Any:
    return next((find(name) for find in _finders), None)


def _missing(name: str) -> BadType:
    return BadType(
        f"numpy.{name} is not offered for gpuarray arrays; copy to the host with "
        "numpy.asarray(x), or x.get()"
    )


# ---- ufuncs ----


def _is_known(operand: Any) -> bool:
    """Return True for operands that our functions take, or refuse with a reason."""
    numbers = bool, int, float, complex, np.generic, np.ndarray
    return isinstance(operand, (BaseArray, *numbers))


def array_ufunc(
    array: Any, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any
) -> Any:
    """``__array_ufunc__``: call the ufunc of the same name here."""
    outs: tuple[Any, ...] = options.get("out") or ()
    operands = inputs[:1] if method in ("at", "reduceat") else inputs
    if not all(_is_known(x) for x in (*operands, *outs) if x is not None):
        return NotImplemented
    if method == "__call__":
        if len(outs) == 1 and isinstance(outs[0], np.ndarray) and takes_host_arrays():
            return _into_host(array, ufunc, inputs, options)
        inputs = tuple(
            from_host(ufunc.__name__, array, x) if is_host_array(x) else x
            for x in inputs
        )
    ours = BY_REFERENCE.get(ufunc)
    if ours is not None:
        if method == "__call__":
            return ours(*inputs, **options)
        return getattr(ours, method)(*inputs, **options)
    composed = _ours(ufunc.__name__)
    if composed is None or method != "__call__":
        name = ufunc.__name__
        raise _missing(name if method == "__call__" else f"{name}.{method}")
    if len(outs) == 1:
        options["out"] = outs[0]
    return composed(*inputs, **options)


def _into_host(
    array: Any, ufunc: np.ufunc, inputs: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Store the ufunc of arrays on both sides into a NumPy array."""
    (out,) = options["out"]
    others = {name: value for name, value in options.items() if name != "out"}
    if others.get("where", True) is not True:
        raise BadType(
            f"{ufunc.__name__}: where and a NumPy array as out are not offered "
            "together; use x.get()"
        )
    like = next(x for x in inputs if isinstance(x, BaseArray))
    beside = [
        from_host(ufunc.__name__, like, x) if is_host_array(x) else x for x in inputs
    ]
    result = ufunc(*beside, **others)
    np.copyto(out, result.get(), casting="same_kind")
    return out


# ---- functions ----


def array_function(
    array: Any,
    function: Callable[..., Any],
    types: tuple[type, ...],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """``__array_function__``: call the function of the same name here."""
    if not all(issubclass(kind, BaseArray | np.ndarray) for kind in types):
        return NotImplemented
    ours = _PLAIN.get(function)
    if ours is None:
        path = [*function.__module__.split(".")[1:], function.__name__]
        if path[:2] == ["lib", "stride_tricks"]:
            del path[:2]
        ours = _found(path)
        if ours is None:
            raise _missing(".".join(path))
    return ours(*args, **kwargs)


def _found(path: list[str]) -> Any:
    """Return our function of a name, which may begin with a submodule's."""
    first, *rest = path
    function = _ours(first)
    for name in rest:
        listed = getattr(function, "__all__", None)
        if listed is not None and name not in listed:
            return None
        function = getattr(function, name, None)
    return function if callable(function) else None


# What takes arrays of the host, too.
_PLAIN: dict[Any, Callable[..., Any]] = {
    np.may_share_memory: lambda a, b, *_, **__: (
        _are_ours(a, b) and may_share_memory(a, b)
    ),
    np.shares_memory: lambda a, b, max_work=-1: (
        _are_ours(a, b) and shares_memory(a, b, max_work)
    ),
}


def _are_ours(*arrays: Any) -> bool:
    return all(isinstance(array, BaseArray) for array in arrays)
