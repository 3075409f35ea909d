"""The namespace ``T.nnet.blocksparse``: products of chosen blocks."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.nnet.blocksparse import (
    SparseBlockGemv as SparseBlockGemv,
    SparseBlockOuter as SparseBlockOuter,
    sparse_block_dot as sparse_block_dot,
    sparse_block_gemv as sparse_block_gemv,
    sparse_block_gemv_inplace as sparse_block_gemv_inplace,
    sparse_block_outer as sparse_block_outer,
    sparse_block_outer_inplace as sparse_block_outer_inplace,
)

_suggest_names(__name__)
