"""The namespace ``T.nnet.ctc``: connectionist temporal classification."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.nnet.ctc import (
    ConnectionistTemporalClassification as ConnectionistTemporalClassification,
    ctc as ctc,
    ctc_available as ctc_available,
)

_suggest_names(__name__)
