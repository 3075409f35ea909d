"""Theano's ``sparse.sandbox.sp2``: random sparse matrices, drawn anew in each call.

As in Theano ``numpy.random.seed`` makes draws repeat; here it counts when the
expression is made. Former places of functions of matrices are here, too.

>>> from gpuarray.compiler import sparse
>>> from gpuarray.compiler.sparse.sandbox import sp2
>>> print(sp2.poisson(sparse.csr_matrix("rates", "float64")).type)
Sparse[float64, csr]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gpuarray.compiler.config import config
from gpuarray.compiler.errors import GraphTypeError
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.graph.types import dtype_name
from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.broadcast.broadcast import broadcast_to
from gpuarray.compiler.ops.creation.creation import arange
from gpuarray.compiler.ops.creation.joining import join
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import inc_subtensor, index
from gpuarray.compiler.ops.manipulation.repeating import repeat
from gpuarray.compiler.ops.shape.shape import shape_i
from gpuarray.compiler.ops.sorting.extra_ops import searchsorted
from gpuarray.compiler.ops.sorting.scanning import cumsum
from gpuarray.compiler.ops.sparse.dots import (
    SamplingDot as SamplingDot,
    sampling_dot as sampling_dot,
)
from gpuarray.compiler.ops.sparse.elementwise import (
    Cast as Cast,
    MulSV as MulSV,
    StructuredAddSV as StructuredAddSV,
    cast as cast,
    mul_s_v as mul_s_v,
    structured_add_s_v as structured_add_s_v,
)
from gpuarray.compiler.ops.sparse.items import (
    HStack as HStack,
    VStack as VStack,
    hstack as hstack,
    vstack as vstack,
)
from gpuarray.compiler.ops.sparse.matrix import as_sparse_variable, parts
from gpuarray.compiler.ops.sparse.structure import SparseFromDense, remove0
from gpuarray.compiler.ops.sparse.types import check_format
from gpuarray.compiler.ops.variables.basic import as_tensor_variable
from gpuarray.compiler.random import RandomStreams


def _streams() -> Any:
    """Return new streams, of a seed by NumPy's global generator."""
    return RandomStreams(int(np.random.randint(2**31)))  # noqa: NPY002


class Poisson:
    """``Poisson()(x)`` are Poisson numbers of the mean that a matrix has at each place.

    Zeros that are drawn are not stored.
    """

    def __call__(self, x: Any) -> Variable:
        """Return the numbers, in the format and dtype of the means."""
        own = parts(as_sparse_variable(x))
        kind = own.data.type
        means = own.data if kind.is_float else math.cast(own.data, config.floatX)
        drawn = _streams().poisson(means, size=(shape_i(means, 0),))
        return remove0(own.with_data(math.cast(drawn, kind.dtype)))


class Binomial:
    """``Binomial(format, dtype)(n, p, shape)`` has a binomial number at each place.

    Zeros are not stored; the matrix is dense while it is drawn.
    """

    def __init__(self, format: str, dtype: Any) -> None:
        self.format, self.dtype = check_format(format), dtype_name(dtype)

    def __call__(self, n: Any, p: Any, shape: Any) -> Variable:
        """Return how many of ``n`` tries, each with probability ``p``, succeed."""
        drawn = _streams().binomial(n, p, size=shape, ndim=2)
        found: Variable = SparseFromDense(self.format)(math.cast(drawn, self.dtype))
        return found


class Multinomial:
    """``Multinomial()(n, p)`` is how often each outcome comes in draws for each row.

    The outcomes of a row of the CSR matrix ``p`` are its stored values, their
    probabilities; what is missing from 1 is the last one's. ``n``, the number of draws,
    is a scalar or a vector with a number for each row.
    """

    def __call__(self, n: Any, p: Any) -> Variable:
        """Return the counts at the places of the probabilities, in their dtype."""
        own = parts(as_sparse_variable(p))
        tries = as_tensor_variable(n)
        if own.format != "csr" or not own.data.type.is_float:
            raise GraphTypeError(
                f"multinomial: given {p} of {p.type}, expected a matrix of floats in "
                "CSR, a row for each distribution"
            )
        if not tries.type.dtype.startswith(("int", "uint")) or tries.type.ndim > 1:
            raise GraphTypeError(
                f"multinomial: given {tries} of {tries.type} as n, expected a number "
                "of draws or a vector of them, integers"
            )
        sums = join(0, np.zeros(1), cumsum(math.cast(own.data, "float64")))
        rows = repeat(arange(own.rows), broadcast_to(tries, (own.rows,)))
        first, end = index(own.indptr, rows), index(own.indptr, rows + 1)
        units = _streams().random((shape_i(rows, 0),), dtype="float64")
        found = searchsorted(sums, index(sums, first) + units, side="right") - 1
        last = math.FUNCTIONS["minimum"](found, end - 1)
        places = math.FUNCTIONS["maximum"](last, first)
        counts = math.zeros_like(sums, own.data.type.dtype)  # one more than values
        one = math.cast(math.FUNCTIONS["lt"](first, end), own.data.type.dtype)
        return own.with_data(
            index(inc_subtensor(index(counts, places), one), slice(0, -1))
        )


poisson, multinomial = Poisson(), Multinomial()
csr_fbinomial, csc_fbinomial = Binomial("csr", "float32"), Binomial("csc", "float32")
csr_dbinomial, csc_dbinomial = Binomial("csr", "float64"), Binomial("csc", "float64")

_suggest_names(
    __name__, elsewhere={"AddSSData": "sparse.AddSS", "add_s_s_data": "sparse.add_s_s"}
)
