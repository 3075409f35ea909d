"""The namespace of derivatives: grad, markers of gradients, checks.

>>> from gpuarray.compiler import gradient
>>> from gpuarray.compiler import tensor as T
>>> x = T.dvector("x")
>>> print(gradient.hessian((x ** 3).sum(), x).type)
TensorType(float64, matrix)
"""

from gpuarray.compiler.checking import (
    GradientError as GradientError,
    numeric_grad as numeric_grad,
    verify_grad as verify_grad,
)
from gpuarray.compiler.derivatives.forward import Rop as Rop
from gpuarray.compiler.derivatives.jacobians import (
    hessian as hessian,
    jacobian as jacobian,
)
from gpuarray.compiler.derivatives.reverse import (
    Lop as Lop,
    grad as grad,
    subgraph_grad as subgraph_grad,
)
from gpuarray.compiler.errors import (
    DisconnectedInputError as DisconnectedInputError,
    NoGradientError as NoGradientError,
    NullTypeGradError as NullTypeGradError,
)
from gpuarray.compiler.graph.disconnected import (
    DisconnectedType as DisconnectedType,
    NullType as NullType,
    disconnected_type as disconnected_type,
    grad_not_implemented as grad_not_implemented,
    grad_undefined as grad_undefined,
    null_type as null_type,
)
from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.control.gradient_markers import (
    DisconnectedGrad as DisconnectedGrad,
    GradClip as GradClip,
    GradScale as GradScale,
    UndefinedGrad as UndefinedGrad,
    ZeroGrad as ZeroGrad,
    consider_constant as consider_constant,
    disconnected_grad as disconnected_grad,
    grad_clip as grad_clip,
    grad_scale as grad_scale,
    undefined_grad as undefined_grad,
    zero_grad as zero_grad,
)

_suggest_names(__name__)
