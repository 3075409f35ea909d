"""The namespace ``T.nnet.corr``: ops of correlation over two axes."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.nnet.corr import (
    CorrMM as CorrMM,
    CorrMM_gradInputs as CorrMM_gradInputs,
    CorrMM_gradWeights as CorrMM_gradWeights,
)

_suggest_names(__name__)
