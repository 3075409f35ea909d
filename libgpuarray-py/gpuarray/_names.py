"""The one list of the package's public names and their modules.

Modules are imported lazily, but for those that arrays themselves need. No module here
has the name of a public object in it that is loaded later, for the package's attribute
of that name would then be the module. ``__init__`` adds the functions of the scalar
table and NumPy's dtypes; ``tools/write_stub.py`` writes the stub for type checkers.
"""

from __future__ import annotations

_PLACES = {
    "_core.attributes": """
        iscomplexobj isfortran isrealobj ndim shape shares_memory size
    """,
    "_core.base": "asnumpy may_share_memory",
    "_core.context": "Context GpuContext",
    "_core.devices": "Device count_devices count_platforms",
    "_core.info": """
        __array_namespace_info__ astype can_cast common_type finfo iinfo isdtype
        min_scalar_type promote_types result_type
    """,
    "_core.memory": "CacheInfo HostMemoryInfo MemoryInfo",
    "_core.opening": "context devices get_default_context init set_default_context",
    "_core.profiling": "Profile profile",
    "_core.queues": "Event Queue",
    "_creation.conversion": """
        array asanyarray asarray ascontiguousarray asfortranarray copy from_dlpack
    """,
    "_creation.filled": """
        empty empty_like eye full full_like identity ones ones_like zeros zeros_like
    """,
    "_creation.host_data": """
        asarray_chkfinite frombuffer fromfile fromiter fromstring
    """,
    "_creation.index_tricks": "c_ mask_indices ndenumerate r_",
    "_creation.mesh": "fromfunction indices ix_ meshgrid mgrid ogrid",
    "_creation.ranges": "arange geomspace linspace logspace",
    "_creation.twodim_base": """
        diag diag_indices diag_indices_from diagflat tri tril tril_indices
        tril_indices_from triu triu_indices triu_indices_from vander
    """,
    "_creation.windows": "bartlett blackman hamming hanning kaiser",
    "_custom_kernels.elementwise_kernel": "ElementwiseKernel",
    "_custom_kernels.raw_kernel": "RawKernel",
    "_custom_kernels.reduction_kernel": "ReductionKernel",
    "_files.function_files": "LoadedFunction load_function",
    "_files.npyio": "load save savez savez_compressed",
    "_functional.apply_along_axis": "apply_along_axis apply_over_axes",
    "_functional.fusion": "fuse",
    "_kernels.kernel": "GpuKernel",
    "_linalg.polynomials": "polyfit polyval",
    "_manipulation.assignment": "copyto fill_diagonal place putmask",
    "_manipulation.insertion": "append delete insert trim_zeros",
    "_manipulation.joining": """
        block column_stack concat concatenate dstack hstack roll stack vstack
    """,
    "_manipulation.padding": "pad",
    "_manipulation.sets": """
        in1d intersect1d isin setdiff1d setxor1d union1d unique unique_all unique_counts
        unique_inverse unique_values
    """,
    "_manipulation.shaping": """
        atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_shapes broadcast_to
        diagonal expand_dims flip fliplr flipud matrix_transpose moveaxis permute_dims
        ravel reshape rollaxis rot90 sliding_window_view squeeze swapaxes trace
        transpose
    """,
    "_manipulation.splitting": "array_split dsplit hsplit split unstack vsplit",
    "_manipulation.take_put": """
        add_at argwhere compress count_nonzero extract flatnonzero nonzero put
        put_along_axis take take_along_axis where
    """,
    "_manipulation.tiling": "repeat resize tile",
    "_math.bits": "packbits unpackbits",
    "_math.function_base": """
        average convolve corrcoef correlate cov gradient interp trapezoid
    """,
    "_math.histograms": """
        bincount histogram histogram2d histogram_bin_edges histogramdd
    """,
    "_math.logic": """
        allclose argpartition array_equal array_equiv isclose isneginf isposinf lexsort
        partition spacing
    """,
    "_math.nan_functions": """
        nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmin
        nanprod nanstd nansum nanvar
    """,
    "_math.quantiles": "median nanmedian nanpercentile nanquantile percentile quantile",
    "_math.selection": "choose piecewise select",
    "_math.statistics": """
        around clip cumulative_prod cumulative_sum diff ediff1d fix round std var
    """,
    "_math.trigonometric": "angle sinc unwrap",
    "_math.type_check": "iscomplex isreal real_if_close sort_complex",
    "_products.contractions": "cross inner kron matvec outer vecmat",
    "_products.einsum": "einsum einsum_path",
    "_products.matmul": "dot matmul tensordot vdot vecdot",
    "_sorting.searching": "digitize ravel_multi_index searchsorted unravel_index",
    "_sorting.sorting": "argsort sort sort_pairs topk",
    "_ufunc.reduction": "all amax amin any argmax argmin max mean min prod ptp sum",
    "_ufunc.scanning": "cummax cummin cumprod cumsum",
    "array": """
        Array GpuArray array2string array_repr array_str ndarray ndgpuarray
    """,
    "blas": "allow_tf32 gemm gemmBatch_3d gemm_bias gemv ger",
    "config": "implicit_conversion set_implicit_conversion",
    "dtypes": "INPUT OFFSET SIZE SSIZE dtype_to_ctype dtype_to_typecode",
    "errors": """
        BackendError BadArgument BadExchange BadIndex BadType BadValue ContextClosed
        ContextLost DeviceLimit DeviceNotFound DistributedError DivisionByZero
        FailedAssertion ForkedContext
        GpuArrayError GpuArrayException HostNotice KernelError KernelFailure
        LibraryMissing NeedsCopy NotConstructible NotInPlace NotPicklable OutOfMemory
        ReadOnly SystemRefusal
        TooLarge UnknownName Unshared Unsupported UnsupportedException
    """,
    "gpuarray": "get_include register_dtype",
}

PLACES = {module: tuple(names.split()) for module, names in _PLACES.items()}
"""The public names of each module."""

OF_NUMPY = (
    *("e", "euler_gamma", "inf", "nan", "newaxis", "pi"),
    *("bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"),
    *("uint64", "float16", "float32", "float64", "complex64", "complex128"),
    *("byte", "short", "intc", "int_", "intp", "long", "longlong"),
    *("ubyte", "ushort", "uintc", "uint", "uintp", "ulong", "ulonglong"),
    *("half", "single", "double", "csingle", "cdouble"),
    *("generic", "number", "integer", "signedinteger", "unsignedinteger"),
    *("inexact", "floating", "complexfloating", "dtype", "issubdtype", "isscalar"),
    *("index_exp", "iterable", "ndindex", "s_", "errstate"),
    *("get_printoptions", "printoptions", "set_printoptions"),
)
"""Names that are NumPy's own objects: what takes no array is the same on a device.

An array's dtype is equal to NumPy's types, and it prints by NumPy's options."""

MODULES = (
    *("basic", "collectives", "distributed", "dtypes", "elemwise", "fft", "gpuarray"),
    *("linalg", "nn", "operations", "random", "reduction", "sparse", "tools"),
)
"""The modules that are public themselves."""

SUBMODULES = ("sparse.linalg",)
"""The modules in those that are public, too."""

INSTEAD = {
    "frompyfunc": "gpuarray.fuse, or gpuarray.ElementwiseKernel",
    "vectorize": "gpuarray.fuse, or gpuarray.ElementwiseKernel",
    "get_array_module": "x.__array_namespace__()",
    "RawModule": "gpuarray.RawKernel",
}
"""What to use in place of names that NumPy or CuPy has."""

_MOVED = {
    "applying": "_functional.apply_along_axis",
    "base": "_core.base _core.flags",
    "comparing": "_math.logic",
    "context": """
        _core.context _core.opening _core.devices _core.memory _core.adoption
    """,
    "contractions": "_products.contractions",
    "creation": "_creation.conversion _creation.filled",
    "decompositions": "_linalg.decompositions",
    "elementwise": "_ufunc.elementwise",
    "files": "_files.npyio",
    "fusing": "_functional.fusion",
    "grids": "_creation.mesh _creation.twodim_base",
    "histograms": "_math.histograms",
    "info": "_core.info",
    "joining": """
        _manipulation.joining _manipulation.splitting _manipulation.tiling
        _manipulation.insertion
    """,
    "kernel": "_kernels.kernel",
    "kernels": "_custom_kernels.elementwise_kernel",
    "missing": "_math.nan_functions",
    "norms": "_linalg.norms",
    "numeric": "_math.function_base",
    "operators": "_ufunc.operators",
    "padding": "_manipulation.padding",
    "picking": "_manipulation.take_put",
    "pickling": "_interop.pickling",
    "polynomials": "_linalg.polynomials",
    "products": "_products.matmul",
    "profiling": "_core.profiling",
    "quantiles": "_math.quantiles",
    "queues": "_core.queues",
    "ranges": "_creation.ranges",
    "raw": "_custom_kernels.raw_kernel",
    "reducing": "_custom_kernels.reduction_kernel",
    "saved": "_files.function_files",
    "scanning": "_ufunc.scanning",
    "searching": "_sorting.searching",
    "sets": "_manipulation.sets",
    "shaping": "_manipulation.shaping",
    "sorting": "_sorting.sorting",
    "statistics": "_math.statistics",
    "summation": "_products.einsum",
}

MOVED = {name: tuple(places.split()) for name, places in _MOVED.items()}
"""The new modules of each former module of the package.

Pickles and programs have the former names."""

PLACE_OF = {name: module for module, names in PLACES.items() for name in names}
"""The module of each public name."""
