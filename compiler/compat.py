"""Theano's ``compat``: names that Python 2 and 3 have in different places.

>>> from gpuarray.compiler import compat
>>> list(compat.izip([1, 2], "ab"))
[(1, 'a'), (2, 'b')]

Where the package ``six`` is installed, it is ``compat.six``.
"""

import operator as _operator
from collections import OrderedDict as OrderedDict
from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec
from typing import Any as _Any

from gpuarray.compiler.names import unknown_name as _unknown_name

PY3 = True
imap, izip, ifilter = map, zip, filter
operator_div = _operator.truediv


def exc_message(error: BaseException) -> _Any:
    """Return what an exception says, its first argument."""
    return error.args[0]


def get_unbound_function(method: _Any) -> _Any:
    """Return the function of a method of an object or a class."""
    return getattr(method, "__func__", method)


def cmp(a: _Any, b: _Any) -> int:
    """Return -1, 0 or 1 as ``a`` is less than, equal to or greater than ``b``."""
    return int(a > b) - int(a < b)


def decode(text: bytes) -> str:
    """Return bytes as text."""
    return text.decode()


def __getattr__(name: str) -> _Any:
    if name == "six" and _find_spec("six") is not None:
        return _import_module("six")
    raise _unknown_name(__name__, name)
