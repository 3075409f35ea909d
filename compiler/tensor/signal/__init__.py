"""The namespace ``T.signal``: pooling."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.tensor.signal import pool as pool

_suggest_names(__name__, "pool")
