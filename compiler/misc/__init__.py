"""Theano's ``misc``: `pkl_utils`, pickles whose arrays are files of NumPy."""

from gpuarray.compiler.misc import pkl_utils as pkl_utils
from gpuarray.compiler.names import suggest_names as _suggest_names

_suggest_names(__name__, "pkl_utils")
