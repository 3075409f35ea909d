"""The public names; written by tools/write_stub.py --refresh."""

# ruff: noqa
from typing import Any

import numpy as np

from gpuarray._ufunc.elementwise import (
    BinaryUfunc,
    PairUfunc,
    UnaryUfunc,
    Ufunc,
)
from gpuarray import (
    basic as basic,
    collectives as collectives,
    distributed as distributed,
    dtypes as dtypes,
    elemwise as elemwise,
    fft as fft,
    gpuarray as gpuarray,
    linalg as linalg,
    nn as nn,
    operations as operations,
    random as random,
    reduction as reduction,
    sparse as sparse,
    tools as tools,
)
from gpuarray._core.attributes import (
    iscomplexobj as iscomplexobj,
    isfortran as isfortran,
    isrealobj as isrealobj,
    ndim as ndim,
    shape as shape,
    shares_memory as shares_memory,
    size as size,
)
from gpuarray._core.base import (
    asnumpy as asnumpy,
    may_share_memory as may_share_memory,
)
from gpuarray._core.context import (
    Context as Context,
    GpuContext as GpuContext,
)
from gpuarray._core.devices import (
    Device as Device,
    count_devices as count_devices,
    count_platforms as count_platforms,
)
from gpuarray._core.info import (
    __array_namespace_info__ as __array_namespace_info__,
    astype as astype,
    can_cast as can_cast,
    common_type as common_type,
    finfo as finfo,
    iinfo as iinfo,
    isdtype as isdtype,
    min_scalar_type as min_scalar_type,
    promote_types as promote_types,
    result_type as result_type,
)
from gpuarray._core.memory import (
    CacheInfo as CacheInfo,
    HostMemoryInfo as HostMemoryInfo,
    MemoryInfo as MemoryInfo,
)
from gpuarray._core.opening import (
    context as context,
    devices as devices,
    get_default_context as get_default_context,
    init as init,
    set_default_context as set_default_context,
)
from gpuarray._core.profiling import (
    Profile as Profile,
    profile as profile,
)
from gpuarray._core.queues import (
    Event as Event,
    Queue as Queue,
)
from gpuarray._creation.conversion import (
    array as array,
    asanyarray as asanyarray,
    asarray as asarray,
    ascontiguousarray as ascontiguousarray,
    asfortranarray as asfortranarray,
    copy as copy,
    from_dlpack as from_dlpack,
)
from gpuarray._creation.filled import (
    empty as empty,
    empty_like as empty_like,
    eye as eye,
    full as full,
    full_like as full_like,
    identity as identity,
    ones as ones,
    ones_like as ones_like,
    zeros as zeros,
    zeros_like as zeros_like,
)
from gpuarray._creation.host_data import (
    asarray_chkfinite as asarray_chkfinite,
    frombuffer as frombuffer,
    fromfile as fromfile,
    fromiter as fromiter,
    fromstring as fromstring,
)
from gpuarray._creation.index_tricks import (
    c_ as c_,
    mask_indices as mask_indices,
    ndenumerate as ndenumerate,
    r_ as r_,
)
from gpuarray._creation.mesh import (
    fromfunction as fromfunction,
    indices as indices,
    ix_ as ix_,
    meshgrid as meshgrid,
    mgrid as mgrid,
    ogrid as ogrid,
)
from gpuarray._creation.ranges import (
    arange as arange,
    geomspace as geomspace,
    linspace as linspace,
    logspace as logspace,
)
from gpuarray._creation.twodim_base import (
    diag as diag,
    diag_indices as diag_indices,
    diag_indices_from as diag_indices_from,
    diagflat as diagflat,
    tri as tri,
    tril as tril,
    tril_indices as tril_indices,
    tril_indices_from as tril_indices_from,
    triu as triu,
    triu_indices as triu_indices,
    triu_indices_from as triu_indices_from,
    vander as vander,
)
from gpuarray._creation.windows import (
    bartlett as bartlett,
    blackman as blackman,
    hamming as hamming,
    hanning as hanning,
    kaiser as kaiser,
)
from gpuarray._custom_kernels.elementwise_kernel import (
    ElementwiseKernel as ElementwiseKernel,
)
from gpuarray._custom_kernels.raw_kernel import (
    RawKernel as RawKernel,
)
from gpuarray._custom_kernels.reduction_kernel import (
    ReductionKernel as ReductionKernel,
)
from gpuarray._files.function_files import (
    LoadedFunction as LoadedFunction,
    load_function as load_function,
)
from gpuarray._files.npyio import (
    load as load,
    save as save,
    savez as savez,
    savez_compressed as savez_compressed,
)
from gpuarray._functional.apply_along_axis import (
    apply_along_axis as apply_along_axis,
    apply_over_axes as apply_over_axes,
)
from gpuarray._functional.fusion import (
    fuse as fuse,
)
from gpuarray._kernels.kernel import (
    GpuKernel as GpuKernel,
)
from gpuarray._linalg.polynomials import (
    polyfit as polyfit,
    polyval as polyval,
)
from gpuarray._manipulation.assignment import (
    copyto as copyto,
    fill_diagonal as fill_diagonal,
    place as place,
    putmask as putmask,
)
from gpuarray._manipulation.insertion import (
    append as append,
    delete as delete,
    insert as insert,
    trim_zeros as trim_zeros,
)
from gpuarray._manipulation.joining import (
    block as block,
    column_stack as column_stack,
    concat as concat,
    concatenate as concatenate,
    dstack as dstack,
    hstack as hstack,
    roll as roll,
    stack as stack,
    vstack as vstack,
)
from gpuarray._manipulation.padding import (
    pad as pad,
)
from gpuarray._manipulation.sets import (
    in1d as in1d,
    intersect1d as intersect1d,
    isin as isin,
    setdiff1d as setdiff1d,
    setxor1d as setxor1d,
    union1d as union1d,
    unique as unique,
    unique_all as unique_all,
    unique_counts as unique_counts,
    unique_inverse as unique_inverse,
    unique_values as unique_values,
)
from gpuarray._manipulation.shaping import (
    atleast_1d as atleast_1d,
    atleast_2d as atleast_2d,
    atleast_3d as atleast_3d,
    broadcast_arrays as broadcast_arrays,
    broadcast_shapes as broadcast_shapes,
    broadcast_to as broadcast_to,
    diagonal as diagonal,
    expand_dims as expand_dims,
    flip as flip,
    fliplr as fliplr,
    flipud as flipud,
    matrix_transpose as matrix_transpose,
    moveaxis as moveaxis,
    permute_dims as permute_dims,
    ravel as ravel,
    reshape as reshape,
    rollaxis as rollaxis,
    rot90 as rot90,
    sliding_window_view as sliding_window_view,
    squeeze as squeeze,
    swapaxes as swapaxes,
    trace as trace,
    transpose as transpose,
)
from gpuarray._manipulation.splitting import (
    array_split as array_split,
    dsplit as dsplit,
    hsplit as hsplit,
    split as split,
    unstack as unstack,
    vsplit as vsplit,
)
from gpuarray._manipulation.take_put import (
    add_at as add_at,
    argwhere as argwhere,
    compress as compress,
    count_nonzero as count_nonzero,
    extract as extract,
    flatnonzero as flatnonzero,
    nonzero as nonzero,
    put as put,
    put_along_axis as put_along_axis,
    take as take,
    take_along_axis as take_along_axis,
    where as where,
)
from gpuarray._manipulation.tiling import (
    repeat as repeat,
    resize as resize,
    tile as tile,
)
from gpuarray._math.bits import (
    packbits as packbits,
    unpackbits as unpackbits,
)
from gpuarray._math.function_base import (
    average as average,
    convolve as convolve,
    corrcoef as corrcoef,
    correlate as correlate,
    cov as cov,
    gradient as gradient,
    interp as interp,
    trapezoid as trapezoid,
)
from gpuarray._math.histograms import (
    bincount as bincount,
    histogram as histogram,
    histogram2d as histogram2d,
    histogram_bin_edges as histogram_bin_edges,
    histogramdd as histogramdd,
)
from gpuarray._math.logic import (
    allclose as allclose,
    argpartition as argpartition,
    array_equal as array_equal,
    array_equiv as array_equiv,
    isclose as isclose,
    isneginf as isneginf,
    isposinf as isposinf,
    lexsort as lexsort,
    partition as partition,
    spacing as spacing,
)
from gpuarray._math.nan_functions import (
    nan_to_num as nan_to_num,
    nanargmax as nanargmax,
    nanargmin as nanargmin,
    nancumprod as nancumprod,
    nancumsum as nancumsum,
    nanmax as nanmax,
    nanmean as nanmean,
    nanmin as nanmin,
    nanprod as nanprod,
    nanstd as nanstd,
    nansum as nansum,
    nanvar as nanvar,
)
from gpuarray._math.quantiles import (
    median as median,
    nanmedian as nanmedian,
    nanpercentile as nanpercentile,
    nanquantile as nanquantile,
    percentile as percentile,
    quantile as quantile,
)
from gpuarray._math.selection import (
    choose as choose,
    piecewise as piecewise,
    select as select,
)
from gpuarray._math.statistics import (
    around as around,
    clip as clip,
    cumulative_prod as cumulative_prod,
    cumulative_sum as cumulative_sum,
    diff as diff,
    ediff1d as ediff1d,
    fix as fix,
    round as round,
    std as std,
    var as var,
)
from gpuarray._math.trigonometric import (
    angle as angle,
    sinc as sinc,
    unwrap as unwrap,
)
from gpuarray._math.type_check import (
    iscomplex as iscomplex,
    isreal as isreal,
    real_if_close as real_if_close,
    sort_complex as sort_complex,
)
from gpuarray._products.contractions import (
    cross as cross,
    inner as inner,
    kron as kron,
    matvec as matvec,
    outer as outer,
    vecmat as vecmat,
)
from gpuarray._products.einsum import (
    einsum as einsum,
    einsum_path as einsum_path,
)
from gpuarray._products.matmul import (
    dot as dot,
    matmul as matmul,
    tensordot as tensordot,
    vdot as vdot,
    vecdot as vecdot,
)
from gpuarray._sorting.searching import (
    digitize as digitize,
    ravel_multi_index as ravel_multi_index,
    searchsorted as searchsorted,
    unravel_index as unravel_index,
)
from gpuarray._sorting.sorting import (
    argsort as argsort,
    sort as sort,
    sort_pairs as sort_pairs,
    topk as topk,
)
from gpuarray._ufunc.reduction import (
    all as all,
    amax as amax,
    amin as amin,
    any as any,
    argmax as argmax,
    argmin as argmin,
    max as max,
    mean as mean,
    min as min,
    prod as prod,
    ptp as ptp,
    sum as sum,
)
from gpuarray._ufunc.scanning import (
    cummax as cummax,
    cummin as cummin,
    cumprod as cumprod,
    cumsum as cumsum,
)
from gpuarray.array import (
    Array as Array,
    GpuArray as GpuArray,
    array2string as array2string,
    array_repr as array_repr,
    array_str as array_str,
    ndarray as ndarray,
    ndgpuarray as ndgpuarray,
)
from gpuarray.blas import (
    allow_tf32 as allow_tf32,
    gemm as gemm,
    gemmBatch_3d as gemmBatch_3d,
    gemm_bias as gemm_bias,
    gemv as gemv,
    ger as ger,
)
from gpuarray.config import (
    implicit_conversion as implicit_conversion,
    set_implicit_conversion as set_implicit_conversion,
)
from gpuarray.dtypes import (
    INPUT as INPUT,
    OFFSET as OFFSET,
    SIZE as SIZE,
    SSIZE as SSIZE,
    dtype_to_ctype as dtype_to_ctype,
    dtype_to_typecode as dtype_to_typecode,
)
from gpuarray.errors import (
    BackendError as BackendError,
    BadArgument as BadArgument,
    BadExchange as BadExchange,
    BadIndex as BadIndex,
    BadType as BadType,
    BadValue as BadValue,
    ContextClosed as ContextClosed,
    ContextLost as ContextLost,
    DeviceLimit as DeviceLimit,
    DeviceNotFound as DeviceNotFound,
    DistributedError as DistributedError,
    DivisionByZero as DivisionByZero,
    FailedAssertion as FailedAssertion,
    ForkedContext as ForkedContext,
    GpuArrayError as GpuArrayError,
    GpuArrayException as GpuArrayException,
    HostNotice as HostNotice,
    KernelError as KernelError,
    KernelFailure as KernelFailure,
    LibraryMissing as LibraryMissing,
    NeedsCopy as NeedsCopy,
    NotConstructible as NotConstructible,
    NotInPlace as NotInPlace,
    NotPicklable as NotPicklable,
    OutOfMemory as OutOfMemory,
    ReadOnly as ReadOnly,
    SystemRefusal as SystemRefusal,
    TooLarge as TooLarge,
    UnknownName as UnknownName,
    Unshared as Unshared,
    Unsupported as Unsupported,
    UnsupportedException as UnsupportedException,
)
from gpuarray.gpuarray import (
    get_include as get_include,
    register_dtype as register_dtype,
)

bfloat16: Any
__array_api_version__: str
__version__: str
abs: UnaryUfunc
absolute: UnaryUfunc
acos: UnaryUfunc
acosh: UnaryUfunc
add: BinaryUfunc
arccos: UnaryUfunc
arccosh: UnaryUfunc
arcsin: UnaryUfunc
arcsinh: UnaryUfunc
arctan: UnaryUfunc
arctan2: BinaryUfunc
arctanh: UnaryUfunc
asin: UnaryUfunc
asinh: UnaryUfunc
atan: UnaryUfunc
atan2: BinaryUfunc
atanh: UnaryUfunc
bitwise_and: BinaryUfunc
bitwise_count: UnaryUfunc
bitwise_invert: UnaryUfunc
bitwise_left_shift: BinaryUfunc
bitwise_not: UnaryUfunc
bitwise_or: BinaryUfunc
bitwise_right_shift: BinaryUfunc
bitwise_xor: BinaryUfunc
bool = np.bool_
bool_ = np.bool_
byte = np.byte
cbrt: UnaryUfunc
cdouble = np.cdouble
ceil: UnaryUfunc
complex128 = np.complex128
complex64 = np.complex64
complexfloating = np.complexfloating
conj: UnaryUfunc
conjugate: UnaryUfunc
copysign: BinaryUfunc
cos: UnaryUfunc
cosh: UnaryUfunc
csingle = np.csingle
deg2rad: UnaryUfunc
degrees: UnaryUfunc
divide: BinaryUfunc
divmod: PairUfunc
double = np.double
dtype = np.dtype
e: float
eq: BinaryUfunc
equal: BinaryUfunc
erf: UnaryUfunc
erfc: UnaryUfunc
erfcinv: UnaryUfunc
erfcx: UnaryUfunc
erfinv: UnaryUfunc
errstate = np.errstate
euler_gamma: float
exp: UnaryUfunc
exp2: UnaryUfunc
expm1: UnaryUfunc
exponent: UnaryUfunc
fabs: UnaryUfunc
float16 = np.float16
float32 = np.float32
float64 = np.float64
float_power: BinaryUfunc
floating = np.floating
floor: UnaryUfunc
floor_divide: BinaryUfunc
fmax: BinaryUfunc
fmin: BinaryUfunc
fmod: BinaryUfunc
fractional_part: UnaryUfunc
frexp: PairUfunc
gamma: UnaryUfunc
gammainc: BinaryUfunc
gammaincc: BinaryUfunc
gammaln: UnaryUfunc
gcd: BinaryUfunc
ge: BinaryUfunc
generic = np.generic
get_printoptions = np.get_printoptions
greater: BinaryUfunc
greater_equal: BinaryUfunc
gt: BinaryUfunc
half = np.half
heaviside: BinaryUfunc
hypot: BinaryUfunc
i0: UnaryUfunc
i1: UnaryUfunc
imag: UnaryUfunc
index_exp = np.index_exp
inexact = np.inexact
inf: float
int16 = np.int16
int32 = np.int32
int64 = np.int64
int8 = np.int8
int_ = np.int_
intc = np.intc
integer = np.integer
integral_part: UnaryUfunc
intp = np.intp
invert: UnaryUfunc
isfinite: UnaryUfunc
isinf: UnaryUfunc
isnan: UnaryUfunc
isscalar = np.isscalar
issubdtype = np.issubdtype
iterable = np.iterable
iv: BinaryUfunc
j0: UnaryUfunc
j1: UnaryUfunc
jv: BinaryUfunc
lcm: BinaryUfunc
ldexp: BinaryUfunc
le: BinaryUfunc
left_shift: BinaryUfunc
less: BinaryUfunc
less_equal: BinaryUfunc
log: UnaryUfunc
log10: UnaryUfunc
log1p: UnaryUfunc
log2: UnaryUfunc
logaddexp: BinaryUfunc
logaddexp2: BinaryUfunc
logical_and: BinaryUfunc
logical_not: UnaryUfunc
logical_or: BinaryUfunc
logical_xor: BinaryUfunc
long = np.long
longlong = np.longlong
lt: BinaryUfunc
mantissa: UnaryUfunc
maximum: BinaryUfunc
minimum: BinaryUfunc
mod: BinaryUfunc
modf: PairUfunc
mul: BinaryUfunc
multiply: BinaryUfunc
nan: float
ndindex = np.ndindex
ne: BinaryUfunc
neg: UnaryUfunc
negative: UnaryUfunc
newaxis: None
nextafter: BinaryUfunc
not_equal: BinaryUfunc
number = np.number
pi: float
polygamma: BinaryUfunc
positive: UnaryUfunc
pow: BinaryUfunc
power: BinaryUfunc
printoptions = np.printoptions
psi: UnaryUfunc
rad2deg: UnaryUfunc
radians: UnaryUfunc
real: UnaryUfunc
reciprocal: UnaryUfunc
relu: UnaryUfunc
remainder: BinaryUfunc
right_shift: BinaryUfunc
rint: UnaryUfunc
round_half_away_from_zero: UnaryUfunc
s_ = np.s_
second: BinaryUfunc
set_printoptions = np.set_printoptions
short = np.short
sigmoid: UnaryUfunc
sign: UnaryUfunc
signbit: UnaryUfunc
signedinteger = np.signedinteger
sin: UnaryUfunc
single = np.single
sinh: UnaryUfunc
softplus: UnaryUfunc
sqrt: UnaryUfunc
square: UnaryUfunc
sub: BinaryUfunc
subtract: BinaryUfunc
tan: UnaryUfunc
tanh: UnaryUfunc
tri_gamma: UnaryUfunc
true_div: BinaryUfunc
true_divide: BinaryUfunc
trunc: UnaryUfunc
ubyte = np.ubyte
uint = np.uint
uint16 = np.uint16
uint32 = np.uint32
uint64 = np.uint64
uint8 = np.uint8
uintc = np.uintc
uintp = np.uintp
ulong = np.ulong
ulonglong = np.ulonglong
unsignedinteger = np.unsignedinteger
ushort = np.ushort
xlogx: UnaryUfunc
xlogy0: BinaryUfunc
__all__: list[str]
