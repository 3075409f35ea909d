"""The namespace ``T.nnet.bn``: batch normalisation."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.nnet.normalisation import (
    batch_normalization as batch_normalization,
    batch_normalization_test as batch_normalization_test,
    batch_normalization_train as batch_normalization_train,
)

_suggest_names(__name__)
