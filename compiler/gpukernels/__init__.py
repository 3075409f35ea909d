"""Lowerings of ops to device steps: one file per family registers its own."""

from gpuarray.compiler.gpukernels import (
    argmax as argmax,
    basic_ops as basic_ops,
    batching as batching,
    collective as collective,
    control as control,
    creation as creation,
    custom as custom,
    elemwise as elemwise,
    fft as fft,
    fp16_help as fp16_help,
    joining as joining,
    layers as layers,
    linalg as linalg,
    multi_tensor as multi_tensor,
    nnet as nnet,
    python as python,
    random as random,
    reduce as reduce,
    rows as rows,
    scan as scan,
    shape as shape,
    sorting as sorting,
    sparse as sparse,
    subtensor as subtensor,
    type as type,
)
from gpuarray.compiler.gpukernels.basic_ops import (
    as_gpuarray_variable as as_gpuarray_variable,
    gpu_contiguous as gpu_contiguous,
    gpu_from_host as gpu_from_host,
    host_from_gpu as host_from_gpu,
    infer_context_name as infer_context_name,
)
from gpuarray.compiler.gpukernels.calls import (
    NEEDS_OF as NEEDS_OF,
    STEP_FUNCTIONS as STEP_FUNCTIONS,
    Needs as Needs,
    needs_of as needs_of,
    step_function as step_function,
)
from gpuarray.compiler.gpukernels.custom.kernel_base import (
    GpuKernelBase as GpuKernelBase,
    Kernel as Kernel,
    Launch as Launch,
)
from gpuarray.compiler.gpukernels.custom.kernel_op import (
    KernelOp as KernelOp,
    kernel_op as kernel_op,
)
from gpuarray.compiler.gpukernels.elemwise import (
    INTEGERS as INTEGERS,
    is_integer_arithmetic as is_integer_arithmetic,
)
from gpuarray.compiler.gpukernels.registry import (
    LOWERINGS as LOWERINGS,
    Lowerer as Lowerer,
    array_value as array_value,
    lower_node as lower_node,
    lowering_of as lowering_of,
    lowers as lowers,
)
