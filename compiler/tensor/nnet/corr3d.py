"""The namespace ``T.nnet.corr3d``: ops of correlation over three axes."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.nnet.corr import (
    Corr3dMM as Corr3dMM,
    Corr3dMM_gradInputs as Corr3dMM_gradInputs,
    Corr3dMM_gradWeights as Corr3dMM_gradWeights,
)

_suggest_names(__name__)
