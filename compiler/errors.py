"""Errors of the compiler: each is also the builtin that a NumPy user would catch.

A message says: operation, what is wrong, what was given, what was expected, what to do;
then the user's line that made the node, where there is one.
"""

from __future__ import annotations

import numpy as np
from gpuarray.errors import FailedAssertion, UnknownName


class CompilerError(Exception):
    """The base of every error that the compiler raises on purpose."""


class GraphTypeError(CompilerError, TypeError):
    """A value or a variable has a type that does not fit."""


class GraphValueError(CompilerError, ValueError):
    """A value of the right type does not fit: an axis, a name, a shape."""


class GraphIndexError(GraphValueError, IndexError):
    """An index is out of bounds, or there are more indices than axes."""


class GraphArgumentError(GraphTypeError, GraphValueError):
    """An argument has a kind, or a number of axes, that is not supported."""


class GraphIndexKindError(GraphArgumentError, GraphIndexError):
    """An index has an entry of a type that cannot index."""


class GraphMatrixError(GraphArgumentError, np.linalg.LinAlgError):
    """A matrix, or a square one, is required."""


class GraphStepError(GraphValueError, ZeroDivisionError):
    """A step is zero."""


class SpecifiedShapeError(GraphValueError, AssertionError):
    """An array has a shape other than ``specify_shape`` requires."""


class GraphKeyError(CompilerError, KeyError):
    """No entry has this name."""

    def __str__(self) -> str:
        return str(self.args[0])


class NotScalarConstantError(CompilerError, ValueError):
    """A variable is not a constant number."""


class InconsistencyError(CompilerError, ValueError):
    """The graph has a cycle: a node would need its own result."""


class MissingInputError(CompilerError, ValueError):
    """A variable is needed, but it is no input and nothing computes it."""


class UnusedInputError(CompilerError, ValueError):
    """An input is given that no output needs."""


class DisconnectedInputError(CompilerError, ValueError):
    """A gradient is asked for a variable that the cost does not depend on."""


class NullTypeGradError(CompilerError, TypeError):
    """A gradient is asked for that an operation in between leaves undefined."""


class NoGradientError(CompilerError, NotImplementedError):
    """An operation between the cost and a variable has no gradient."""


class ContextNotDefined(CompilerError, ValueError):
    """A context's name is neither registered nor a device's."""


class NotOfferedError(CompilerError, NotImplementedError):
    """The operation is not supported; the message names an alternative."""


class CFileError(CompilerError, ValueError):
    """A file with the C code of an op is malformed."""


class CCodeError(CompilerError, RuntimeError):
    """The C code of an op does not compile or load."""


class NoCompilerError(NotOfferedError, RuntimeError):
    """The machine has no C compiler for the C code of an op."""


class HostOpError(CompilerError, AssertionError):
    """An operation would run on the host, which ``assert_no_cpu_op`` does not allow."""


class ConfigError(CompilerError, ValueError):
    """A setting has an unknown name or a value that it cannot take."""


class UnknownSettingError(ConfigError, AttributeError):
    """No setting has this name."""


class DebugModeError(CompilerError):
    """DebugMode found a wrong operation or rewrite."""


class BadOptimization(DebugModeError):
    """A rewrite changed a value."""


class BadThunkOutput(DebugModeError):
    """A device's result differs from the operation's NumPy reference."""


class BadDestroyMap(DebugModeError):
    """An operation wrote to an input that its destroy_map does not name."""


class BadViewMap(DebugModeError):
    """A result shares memory with an input that the op's view_map does not name."""


class InvalidValueError(DebugModeError, TypeError):
    """An operation's result has another type than its node declares."""


class NanGuardError(CompilerError, AssertionError):
    """NanGuardMode found nan, an infinity or a very large number."""


class AssertError(CompilerError, FailedAssertion):
    """A condition that the program asserts does not hold."""


class MissingModuleError(CompilerError, ModuleNotFoundError):
    """Theano has a module that the compiler has not."""


class MissingProgramError(CompilerError, RuntimeError):
    """A program that draws pictures is not installed."""


class UntrustedFileError(CompilerError, ValueError):
    """A file has a pickle, which is code, and was loaded without ``trusted=True``."""


class TestValueError(CompilerError, AttributeError):
    """A test value is missing where compute_test_value asks for it."""

    __test__ = False  # not one of pytest's tests


class UnknownNameError(CompilerError, UnknownName):
    """A name is unknown."""


def made_at(message: str, trace: object) -> str:
    """Return ``message`` with the user's line that made the node, if it is known."""
    return message if trace is None else f"{message}\n  made at {trace}"
