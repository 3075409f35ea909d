"""The namespace of derivatives: grad, markers of gradients, checks.

>>> from gpuarray.compiler import gradient
>>> from gpuarray.compiler import tensor as T
>>> x = T.dvector("x")
>>> print(gradient.hessian((x ** 3).sum(), x).type)
TensorType(float64, matrix)
"""

from __future__ import annotations

from gpuarray.compiler.checking import GradientError, numeric_grad, verify_grad
from gpuarray.compiler.derivatives.forward import Rop
from gpuarray.compiler.derivatives.jacobians import hessian, jacobian
from gpuarray.compiler.derivatives.reverse import Lop, grad, subgraph_grad
from gpuarray.compiler.errors import (
    DisconnectedInputError,
    NoGradientError,
    NullTypeGradError,
)
from gpuarray.compiler.graph.disconnected import (
    DisconnectedType,
    NullType,
    disconnected_type,
    grad_not_implemented,
    grad_undefined,
    null_type,
)
from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.ops.control.gradient_markers import (
    DisconnectedGrad,
    GradClip,
    GradScale,
    UndefinedGrad,
    ZeroGrad,
    consider_constant,
    disconnected_grad,
    grad_clip,
    grad_scale,
    undefined_grad,
    zero_grad,
)

__all__ = [
    "DisconnectedGrad",
    "DisconnectedInputError",
    "DisconnectedType",
    "GradClip",
    "GradScale",
    "GradientError",
    "Lop",
    "NoGradientError",
    "NullType",
    "NullTypeGradError",
    "Rop",
    "UndefinedGrad",
    "ZeroGrad",
    "consider_constant",
    "disconnected_grad",
    "disconnected_type",
    "grad",
    "grad_clip",
    "grad_not_implemented",
    "grad_scale",
    "grad_undefined",
    "hessian",
    "jacobian",
    "null_type",
    "numeric_grad",
    "subgraph_grad",
    "undefined_grad",
    "verify_grad",
    "zero_grad",
]

suggest_names(__name__)
