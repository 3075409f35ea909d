"""Normalisation over a batch, and over neighbouring channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuarray._core.arguments import as_integer, as_list
from gpuarray._core.base import BaseArray, require_all
from gpuarray._kernels.apply import call_elemwise, fail, new_elemwise
from gpuarray._native import check, ffi, lib, sized
from gpuarray.dtypes import dtype_to_typecode, kind_of, work_dtype
from gpuarray.errors import BadType, BadValue


def batch_norm(
    x: Any,
    gamma: Any,
    beta: Any,
    mean: Any = None,
    var: Any = None,
    *,
    axes: Sequence[int] | None = None,
    epsilon: float = 1e-4,
) -> Any:
    """Return ``(x - mean) / sqrt(var + epsilon) * gamma + beta``.

    Without ``mean`` and ``var`` these are of ``x`` over ``axes``, by default all but
    axis 1, and the result is a tuple: the array, the mean, the variance. They and the
    parameters have the other axes, or all axes with length 1 along ``axes``.

    Types are float16, bfloat16, float32 or float64; 16-bit ones are computed in
    float32, which the statistics then are.

    >>> x = gpuarray.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> gamma, beta = gpuarray.ones(2), gpuarray.zeros(2)
    >>> normal, mean, variance = gpuarray.nn.batch_norm(x, gamma, beta, epsilon=0)
    >>> print(normal[0], mean, variance)
    [-1. -1.] [2. 3.] [1. 1.]
    """
    name = "batch_norm"
    _require_floats(name, x)
    require_all(name, gamma, beta)
    places = _axes_of(name, axes, x.ndim)
    given = mean is not None
    if given != (var is not None):
        raise BadValue(f"{name}: got one of mean and var, expected both, or none")
    if not given:
        work = work_dtype(x.dtype)
        mean = x.mean(axis=places, dtype=work, keepdims=True)
        var = x.var(axis=places, dtype=work, keepdims=True)
    require_all(name, mean, var)
    out = x.allocate(x.shape, x.dtype, x.context, operation=name)
    arrays = [each.struct for each in (out, x, gamma, beta, mean, var)]
    check(lib.GpuArray_batch_norm(*arrays, _description(places, epsilon)), name)
    if given:
        return out
    if gamma.ndim < x.ndim:
        shape = [n for axis, n in enumerate(x.shape) if axis not in places]
        mean, var = (each.reshape(shape) for each in (mean, var))
    return out, mean, var


def batch_norm_train(
    x: Any,
    gamma: Any,
    beta: Any,
    running_mean: Any = None,
    running_var: Any = None,
    *,
    axes: Sequence[int] | None = None,
    epsilon: float = 1e-4,
    factor: float = 0.1,
) -> tuple[Any, Any, Any]:
    """Return `batch_norm` of a batch, its mean, and ``1 / sqrt(variance + epsilon)``.

    The last two are what `batch_norm_grad` takes. ``running_mean`` and ``running_var``
    are moved in place towards the mean and the unbiased variance: ``old * (1 - factor)
    + new * factor``.

    >>> x = gpuarray.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> gamma, beta = gpuarray.ones(2), gpuarray.zeros(2)
    >>> means, variances = gpuarray.zeros(2), gpuarray.ones(2)
    >>> normal, mean, deviation = gpuarray.nn.batch_norm_train(
    ...     x, gamma, beta, means, variances, factor=0.5
    ... )
    >>> print(mean, means, variances)
    [2. 3.] [1.  1.5] [1.5 1.5]
    """
    name = "batch_norm_train"
    _require_floats(name, x)
    averages = [each for each in (running_mean, running_var) if each is not None]
    require_all(name, gamma, beta, *averages)
    places = _axes_of(name, axes, x.ndim)
    out = x.allocate(x.shape, x.dtype, x.context, operation=name)
    shape = [1 if axis in places else n for axis, n in enumerate(x.shape)]
    if gamma.ndim < x.ndim:
        shape = [n for axis, n in enumerate(x.shape) if axis not in places]
    mean, deviation = (
        x.allocate(tuple(shape), work_dtype(x.dtype), x.context, operation=name)
        for _ in range(2)
    )
    arrays = (out, mean, deviation, running_mean, running_var, x, gamma, beta)
    structs = [ffi.NULL if each is None else each.struct for each in arrays]
    struct = _description(places, epsilon, factor)
    check(lib.GpuArray_batch_norm_train(*structs, struct), name)
    return out, mean, deviation


def batch_norm_grad(
    grad: Any,
    x: Any,
    gamma: Any,
    mean: Any,
    deviation: Any,
    *,
    axes: Sequence[int] | None = None,
) -> tuple[Any, Any, Any]:
    """Return the gradients of `batch_norm_train` by ``x``, ``gamma`` and ``beta``.

    ``grad`` is the gradient by its first result; ``mean`` and ``deviation`` are the
    other two.

    >>> x = gpuarray.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> gamma, beta = gpuarray.ones(2), gpuarray.zeros(2)
    >>> normal, *statistics = gpuarray.nn.batch_norm_train(x, gamma, beta)
    >>> grad = gpuarray.ones((2, 2))
    >>> print(*gpuarray.nn.batch_norm_grad(grad, x, gamma, *statistics))
    [[0. 0.]
     [0. 0.]] [0. 0.] [2. 2.]
    """
    name = "batch_norm_grad"
    _require_floats(name, x)
    require_all(name, grad, gamma, mean, deviation)
    places = _axes_of(name, axes, x.ndim)
    outs = [
        like.allocate(like.shape, like.dtype, like.context, operation=name)
        for like in (x, gamma, gamma)
    ]
    arrays = [each.struct for each in (*outs, grad, x, gamma, mean, deviation)]
    check(lib.GpuArray_batch_norm_grad(*arrays, _description(places)), name)
    return outs[0], outs[1], outs[2]


def local_response_norm(
    x: Any, n: int = 5, *, k: float = 2.0, alpha: float = 1e-4, beta: float = 0.75
) -> Any:
    """Return ``x / (k + alpha / n * squares) ** beta``.

    ``squares`` are the sum of the squares of ``n`` channels, axis 1, around each; zeros
    are beyond the first and the last. Where ``n`` is even there is one more before it.

    >>> x = gpuarray.ones((1, 3))
    >>> print(gpuarray.nn.local_response_norm(x, n=3, k=1, alpha=3, beta=1))
    [[0.33333333 0.25       0.33333333]]
    """
    name = "local_response_norm"
    _require_floats(name, x)
    count = as_integer(n, "n", name)
    if x.ndim < 2 or not 1 <= count <= _MOST_CHANNELS:
        raise BadValue(
            f"{name}: got an array of shape {x.shape} and n {n}, expected at least 2 "
            f"axes, and 1 to {_MOST_CHANNELS} channels"
        )
    channels, before = x.shape[1], count // 2
    shape = (x.shape[0], channels + count - 1, *x.shape[2:])
    whole = x.allocate(shape, x.dtype, x.context, operation=name)
    whole[:, :before] = 0
    whole[:, before + channels :] = 0
    whole[:, before : before + channels] = x
    views = [whole[:, first : first + channels] for first in range(count)]
    squares = " + ".join(f"a{i} * a{i}" for i in range(1, count + 1))
    out = x.allocate(x.shape, x.dtype, x.context, operation=name)
    text = f"r = a0 * pow(n0 + n1 * ({squares}), n2)"
    _run(name, text, out, [x, *views], [k, alpha / count, -beta])
    return out


_MOST_CHANNELS = 64


def _require_floats(name: str, x: Any) -> None:
    require_all(name, x)
    if kind_of(x.dtype) != "f":
        raise BadType(f"{name}: got {x.dtype}, expected floats")


def _axes_of(name: str, axes: Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Return the axes in order. Raises BadValue for none, or unknown ones."""
    given = [i for i in range(ndim) if i != 1] if axes is None else axes
    places = tuple(
        sorted(
            {as_integer(axis, "an axis", name) for axis in as_list(given, "axes", name)}
        )
    )
    if not places or places[0] < 0 or places[-1] >= ndim:
        raise BadValue(
            f"{name}: axes are {axes!r}, expected numbers of axes from 0 to {ndim - 1}"
        )
    return places


def _description(
    axes: Sequence[int], epsilon: float = 1e-4, factor: float = 0.1
) -> Any:
    """Return the library's ``gpubatchnorm *``."""
    struct = sized("gpubatchnorm")
    struct.axes = sum(1 << axis for axis in axes)
    struct.epsilon, struct.factor = epsilon, factor
    return struct


def _run(
    name: str,
    text: str,
    out: BaseArray,
    arrays: Sequence[BaseArray],
    numbers: Sequence[float],
) -> None:
    """Run an expression of arrays ``a0``, ... and numbers ``n0``, ... into ``out``."""
    context, work = out.context, work_dtype(out.dtype)
    key = text, out.dtype, *(array.dtype for array in arrays)
    handle = context._kernels.get(key)
    if handle is None:
        arguments = [("r", dtype_to_typecode(out.dtype), lib.GE_WRITE)]
        arguments += [
            (f"a{i}", dtype_to_typecode(array.dtype), lib.GE_READ)
            for i, array in enumerate(arrays)
        ]
        arguments += [
            (f"n{i}", dtype_to_typecode(work), lib.GE_SCALAR)
            for i in range(len(numbers))
        ]
        handle = new_elemwise(context, "", text, arguments, name)
        context._kernels[key] = handle
    ctype = "double *" if work.itemsize == 8 else "float *"
    values = [ffi.new(ctype, float(number)) for number in numbers]
    status = call_elemwise(
        handle, [out.struct, *(array.struct for array in arrays), *values]
    )
    if status:
        fail(status, name, context, arrays)
