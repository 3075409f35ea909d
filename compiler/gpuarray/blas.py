"""The namespace of Theano's ``gpuarray.blas``: correlations under their names there."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.nnet.corr import (
    Corr3dMM as GpuCorr3dMM,
    Corr3dMM_gradInputs as GpuCorr3dMM_gradInputs,
    Corr3dMM_gradWeights as GpuCorr3dMM_gradWeights,
    CorrMM as GpuCorrMM,
    CorrMM_gradInputs as GpuCorrMM_gradInputs,
    CorrMM_gradWeights as GpuCorrMM_gradWeights,
)

__all__ = [
    "GpuCorr3dMM",
    "GpuCorr3dMM_gradInputs",
    "GpuCorr3dMM_gradWeights",
    "GpuCorrMM",
    "GpuCorrMM_gradInputs",
    "GpuCorrMM_gradWeights",
]

_suggest_names(__name__)
