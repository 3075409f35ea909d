"""``function``: compiles expressions to a callable; all passes start from here."""

from gpuarray.compiler.function.call import Function as Function
from gpuarray.compiler.function.compiling import Maker as Maker
from gpuarray.compiler.function.evaluating import evaluate as evaluate
from gpuarray.compiler.function.givens import clone as clone
from gpuarray.compiler.function.interface import In as In, Out as Out, Param as Param
from gpuarray.compiler.function.loading import (
    SavedFunction as SavedFunction,
    load as load,
)
from gpuarray.compiler.function.make import (
    function as function,
    function_dump as function_dump,
)
from gpuarray.compiler.function.modes import (
    get_default_mode as get_default_mode,
    get_mode as get_mode,
    mode_of as mode_of,
    register_mode as register_mode,
)
from gpuarray.compiler.function.updates import OrderedUpdates as OrderedUpdates
