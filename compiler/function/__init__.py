"""``function``: compiles expressions to a callable; all passes start from here."""

from gpuarray.compiler.function.call import Function
from gpuarray.compiler.function.compiling import Maker
from gpuarray.compiler.function.evaluating import evaluate
from gpuarray.compiler.function.givens import clone
from gpuarray.compiler.function.interface import In, Out, Param
from gpuarray.compiler.function.make import function, function_dump
from gpuarray.compiler.function.modes import (
    get_default_mode,
    get_mode,
    mode_of,
    register_mode,
)
from gpuarray.compiler.function.saving import SavedFunction, load
from gpuarray.compiler.function.updates import OrderedUpdates

__all__ = [
    "Function",
    "In",
    "Maker",
    "OrderedUpdates",
    "Out",
    "Param",
    "SavedFunction",
    "clone",
    "evaluate",
    "function",
    "function_dump",
    "get_default_mode",
    "get_mode",
    "load",
    "mode_of",
    "register_mode",
]
