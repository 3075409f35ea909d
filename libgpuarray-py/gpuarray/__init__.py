"""An n-d array on any CUDA or OpenCL device, with NumPy's interface.

>>> import gpuarray, numpy
>>> a = gpuarray.asarray(numpy.arange(4.0), context="null")
>>> a.context
<context 'null': null (host memory, runs no kernel)>
>>> a
array([0., 1., 2., 3.], dtype=float64, context='null')

Functions have NumPy's names, arguments and defaults, and return its values and dtypes;
their docstrings say what differs. Work is asynchronous: a function that waits says so.
A function of arrays runs on their context; one that creates an array takes
``context``, a name or a context, by default the default one.

Errors have one base class, ``GpuArrayError``, and are also the builtins that NumPy
raises: ``BadType`` (a ``TypeError``) for arguments that are no arrays and dtypes that
do not fit, ``BadValue`` (a ``ValueError``) for shapes and values, ``BadIndex`` (an
``IndexError``) for indices and axes. Docstrings name a function's particular ones.

Importing the package opens no device and loads no vendor's library. Elementwise
functions (``gpuarray.exp``, ``gpuarray.add`` and so on) are generated from the table in
``scalars``. The other functions are in modules that are imported lazily; ``_names.py``
lists them.
"""

import sys as _sys
from importlib import import_module as _import_module
from typing import Any as _Any

import numpy as _numpy

from gpuarray import _names, dtypes as _dtypes
from gpuarray._creation import conversion as _conversion
from gpuarray._import_hooks import find_under as _find_under
from gpuarray._interop import dask as _dask
from gpuarray._ufunc import dispatch as _dispatch
from gpuarray._ufunc.elementwise import FUNCTIONS as _FUNCTIONS
from gpuarray.errors import UnknownName as _UnknownName

__version__ = "0.1.0"
__array_api_version__ = "2025.12"

_CONSTANTS = {"bool": _numpy.bool_} | {
    name: getattr(_numpy, name) for name in _names.OF_NUMPY
}
globals().update(_CONSTANTS)

# A function with more options takes precedence over the table's of the same name.
globals().update({k: v for k, v in _FUNCTIONS.items() if k not in _names.PLACE_OF})
for _module, _public in _names.PLACES.items():
    if _loaded := _sys.modules.get(f"gpuarray.{_module}"):
        globals().update({_name: getattr(_loaded, _name) for _name in _public})
_find_under(
    {
        f"gpuarray.{_module}": tuple(f"gpuarray.{_place}" for _place in _places)
        for _module, _places in _names.MOVED.items()
    }
)

__all__ = sorted(
    {"__array_api_version__", "__version__", *_CONSTANTS, *_FUNCTIONS}
    | {*_names.MODULES, *_names.PLACE_OF}
)


def __getattr__(name: str) -> _Any:
    """Import lazily: a function with its module, a module, or ``bfloat16``."""
    if name in _names.PLACE_OF:
        module = _import_module(f"gpuarray.{_names.PLACE_OF[name]}")
        attribute = globals()[name] = getattr(module, name)
        return attribute
    if name in {*_names.MODULES, *_names.MOVED, *_names.PLACES}:
        return _import_module(f"gpuarray.{name}")
    if name == "bfloat16":
        return _dtypes.bfloat16()
    if name in _names.INSTEAD:
        instead = f"; use {_names.INSTEAD[name]}"
    elif name in dir(_numpy):
        instead = f"; numpy.{name} takes arrays of the host: x.get()"
    else:
        raise _UnknownName("module 'gpuarray'", name, _sys.modules[__name__])
    raise _UnknownName("module 'gpuarray'", name, instead=instead)


def __dir__() -> list[str]:
    return __all__


def _offered(name: str) -> _Any:
    """Return a public object by name, for NumPy's protocols; None if there is none."""
    return getattr(_sys.modules[__name__], name) if name in __all__ else None


# NumPy's own functions are dispatched to these when they are called with our arrays.
_dispatch.offer(_offered)

_dask.register(
    _conversion.Array, _offered, lambda: _import_module("gpuarray._dask.factors")
)
