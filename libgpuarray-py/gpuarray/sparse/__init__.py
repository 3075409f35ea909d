"""Sparse arrays on the device, used as ``scipy.sparse``'s arrays are.

``csr_array``, ``csc_array`` and ``coo_array`` are values and two index arrays, which
are ``gpuarray`` arrays. Functions run on the arrays' context. Nothing becomes dense
unless asked for. The same input, layout and device give the same bits.
``gpuarray.sparse.linalg`` has iterative methods.
"""

from gpuarray._sparse.arrays import (
    coo_array as coo_array,
    csc_array as csc_array,
    csr_array as csr_array,
    issparse as issparse,
    sparray as sparray,
)
from gpuarray._sparse.blocks import (
    block_array as block_array,
    block_diag as block_diag,
    hstack as hstack,
    kron as kron,
    kronsum as kronsum,
    vstack as vstack,
)
from gpuarray._sparse.building import (
    diags_array as diags_array,
    eye_array as eye_array,
    find as find,
    random_array as random_array,
)
from gpuarray._sparse.files import load_npz as load_npz, save_npz as save_npz
from gpuarray._sparse.products import sddmm as sddmm
from gpuarray._sparse.reductions import tril as tril, triu as triu
from gpuarray._sparse.shaping import (
    expand_dims as expand_dims,
    permute_dims as permute_dims,
    swapaxes as swapaxes,
)
from gpuarray.errors import suggest_names as _suggest_names
from gpuarray.sparse import linalg as linalg

_BLOCKS = "csr_array; A.get().tobsr() is scipy's"
_BUILD = "coo_array((data, (row, col)), shape) of all places at once"
_suggest_names(
    __name__,
    {
        "bmat": "block_array",
        "bsr_array": _BLOCKS,
        "bsr_matrix": _BLOCKS,
        "coo_matrix": "coo_array, whose * is elementwise; @ multiplies matrices",
        "csc_matrix": "csc_array, whose * is elementwise; @ multiplies matrices",
        "csgraph": "scipy.sparse.csgraph, with A.get()",
        "csr_matrix": "csr_array, whose * is elementwise; @ multiplies matrices",
        "dia_array": "diags_array, which is stored by rows",
        "diags": "diags_array",
        "dok_array": _BUILD,
        "eye": "eye_array",
        "identity": "eye_array",
        "isspmatrix": "issparse",
        "lil_array": _BUILD,
        "rand": "random_array",
        "random": "random_array",
        "spdiags": "diags_array",
    },
)
