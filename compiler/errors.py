"""Errors of the compiler: each is also the builtin that a NumPy user would catch.

A message says: operation, what is wrong, what was given, what was expected, what to do;
then the user's line that made the node, where there is one.
"""

from __future__ import annotations


class CompilerError(Exception):
    """The base of every error that the compiler raises on purpose."""


class GraphTypeError(CompilerError, TypeError):
    """A value or a variable has another type than the place that it is put in."""


class GraphValueError(CompilerError, ValueError):
    """A value of the right type means nothing here: an axis, a name, a shape."""


class InconsistencyError(CompilerError, ValueError):
    """The graph cannot be ordered: a node would need its own result."""


class MissingInputError(CompilerError, ValueError):
    """A variable is needed, but it is no input and nothing computes it."""


class UnusedInputError(CompilerError, ValueError):
    """An input is given that no output needs."""


class DisconnectedInputError(CompilerError, ValueError):
    """A gradient is asked for a variable that the cost does not depend on."""


class NoGradientError(CompilerError, NotImplementedError):
    """An operation on the way from the cost to a variable has no gradient."""


class NotOfferedError(CompilerError, NotImplementedError):
    """The operation is not offered; the message says what to use instead."""


class ConfigError(CompilerError, ValueError):
    """A setting has an unknown name or a value that it cannot take."""


class ConfigFrozenError(CompilerError, AttributeError):
    """A setting was assigned to; ``with config.use(...)`` changes one for a block."""


def made_at(message: str, trace: object) -> str:
    """``message`` with the user's line that made the node, where it is known."""
    return message if trace is None else f"{message}\n  made at {trace}"
