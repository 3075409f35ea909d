"""Theano's ``sparse.sandbox.sp``: convolution and pooling of images in flat rows.

They are those of `tensor.nnet`, faster than products with sparse matrices. Former
places of functions of matrices are here, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.graph.types import promoted
from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.elemwise.math import cast
from gpuarray.compiler.ops.nnet.conv_functions import conv2d
from gpuarray.compiler.ops.nnet.pooling import pool_2d
from gpuarray.compiler.ops.shape.shape import dimshuffle, reshape
from gpuarray.compiler.ops.sparse.elementwise import (
    col_scale as col_scale,
    row_scale as row_scale,
)
from gpuarray.compiler.ops.sparse.structure import (
    EnsureSortedIndices as EnsureSortedIndices,
    Remove0 as Remove0,
    SpSum as SpSum,
    SquareDiagonal as SquareDiagonal,
    clean as clean,
    diag as diag,
    ensure_sorted_indices as ensure_sorted_indices,
    remove0 as remove0,
    sp_sum as sp_sum,
    square_diagonal as square_diagonal,
)
from gpuarray.compiler.ops.variables.basic import as_tensor_variable

EliminateZeros = Remove0

Lengths = np.ndarray[Any, Any]


def convolve(
    kerns: Any,
    kshp: Sequence[int],
    nkern: int,
    images: Any,
    imgshp: Sequence[int],
    step: Sequence[int] = (1, 1),
    bias: Any = None,
    mode: str = "valid",
    flatten: bool = True,
) -> tuple[Variable, Lengths]:
    """Return the correlation of images with filters, and the shape of its images.

    An image is a row of ``images``, a filter one of ``kerns``: of all its features one
    behind the other, of the features' rows. ``imgshp`` is (rows, columns) or (features,
    rows, columns), ``kshp`` (rows, columns), ``step`` the stride, ``mode`` "valid" or
    "full"; ``bias`` has a number for each filter. The result has a row for each image,
    with all filters' results in it; unless ``flatten``, an axis of its own for these.
    The shape is (filters, rows, columns).
    """
    if mode not in ("valid", "full"):
        raise GraphValueError(f"convolve: mode is {mode!r}, expected 'valid' or 'full'")
    features, *lengths = _image_shape("convolve", imgshp)
    filters, rows = _of_one_dtype("convolve", kerns, images)
    size = tuple(map(int, kshp))
    found = conv2d(
        reshape(rows, (-1, features, *lengths)),
        reshape(filters, (nkern, features, *size)),
        (None, features, *lengths),
        (nkern, features, *size),
        border_mode=mode,
        subsample=tuple(step),
        filter_flip=False,
    )
    if bias is not None:
        found = found + dimshuffle(as_tensor_variable(bias), "x", 0, "x", "x")
    more = 1 if mode == "full" else -1
    covered = np.array(lengths) + more * (np.array(size) - 1)
    shape = -(-covered // np.array(step))
    inner = (-1,) if flatten else (nkern, -1)
    return reshape(found, (rows.shape[0], *inner)), np.hstack((nkern, shape))


def max_pool(
    images: Any, imgshp: Sequence[int], maxpoolshp: Sequence[int]
) -> tuple[Variable, Lengths]:
    """Return the maxima of windows of images, and the shape of one feature's result.

    An image is a row of ``images``, ``imgshp`` as for `convolve`; ``maxpoolshp`` is the
    window, (rows, columns). What is left beside whole windows does not count.
    """
    features, *lengths = _image_shape("max_pool", imgshp)
    window = tuple(map(int, maxpoolshp))
    rows = as_tensor_variable(images)
    found = pool_2d(reshape(rows, (-1, features, *lengths)), window, ignore_border=True)
    shape = np.array(lengths) // np.array(window)
    return reshape(found, (rows.shape[0], -1)), shape


def _image_shape(name: str, shape: Sequence[int]) -> list[int]:
    lengths = [int(length) for length in shape]
    if len(lengths) not in (2, 3):
        raise GraphValueError(
            f"{name}: imgshp is {tuple(shape)}, expected (rows, columns) or (features, "
            "rows, columns)"
        )
    return [1, *lengths][-3:]


def _of_one_dtype(name: str, *given: Any) -> list[Variable]:
    arrays = [as_tensor_variable(value) for value in given]
    for array in arrays:
        if array.type.ndim != 2:
            raise GraphTypeError(
                f"{name}: given {array} of {array.type}, expected a matrix with a row "
                "for each filter or image"
            )
    dtype = promoted(*(array.type.dtype for array in arrays))
    return [cast(array, dtype) for array in arrays]


_suggest_names(
    __name__,
    elsewhere={
        "ColScaleCSC": "col_scale(x, s)",
        "ConvolutionIndices": "convolve(...), or tensor.nnet.conv2d",
        "RowScaleCSC": "row_scale(x, s)",
        "applySparseFilter": "sparse.structured_dot(filters, images.T).T",
        "convolution_indices": "convolve(...), or tensor.nnet.conv2d",
    },
)
