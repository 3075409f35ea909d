"""The namespace ``T.sharedvar``: shared variables of arrays."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.shared import SharedVariable as SharedVariable, shared as shared
from gpuarray.compiler.tensor.var import TensorSharedVariable as TensorSharedVariable

_suggest_names(__name__)
