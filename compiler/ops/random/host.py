"""Draws of NumPy's RandomState, on the host: its own numbers, one after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphTypeError, GraphValueError, NoGradientError
from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.graph.types import TensorType, dtype_name
from gpuarray.compiler.ops.shape.shape import as_shape
from gpuarray.compiler.ops.variables.basic import as_tensor_variable

Array = np.ndarray[Any, Any]

STATE = "uint32"
_KEY = 624
_LENGTH = _KEY + 4  # the key, the place in it, and a normal number that is left


def packed(generator: np.random.RandomState) -> Array:
    """Return the state of a generator of NumPy's, as integers.

    >>> words = packed(np.random.RandomState(1))
    >>> unpacked(words).uniform() == np.random.RandomState(1).uniform()
    True
    """
    _, key, place, has_normal, normal = generator.get_state(legacy=True)
    left = np.array([normal], "float64").view(STATE)
    return np.array([*key, place, has_normal, *left], STATE)


def unpacked(state: Array) -> np.random.RandomState:
    """Return a generator in a state."""
    words = np.ascontiguousarray(state, STATE)
    if words.shape != (_LENGTH,):
        raise GraphValueError(
            f"RandomFunction: the state has shape {words.shape}, expected "
            f"({_LENGTH},): that of a numpy.random.RandomState"
        )
    generator = np.random.RandomState()
    place, has_normal = (int(word) for word in words[_KEY : _KEY + 2])
    normal = float(words[_KEY + 2 :].view("float64")[0])
    generator.set_state(("MT19937", words[:_KEY], place, has_normal, normal))
    return generator


class StateType(TensorType):
    """The type of a state; a value may be a numpy.random.RandomState, too."""

    def filter(
        self, value: Any, strict: bool = False, allow_downcast: bool | None = None
    ) -> Array:
        """Return the state's integers."""
        if isinstance(value, np.random.RandomState):
            return packed(value)
        return super().filter(value, strict, allow_downcast)


def _choice(generator: np.random.RandomState, a: Any, replace: Any, *rest: Any) -> Any:
    *p, size = rest
    pool = int(a) if np.ndim(a) == 0 else a
    return generator.choice(pool, size, bool(replace), *p)


def _permutation(generator: np.random.RandomState, n: Any, size: Any) -> Any:
    count = int(np.prod(size, dtype=int))
    drawn = [generator.permutation(int(n)) for _ in range(count)]
    return np.reshape(drawn, (*size, int(n)))


def _multinomial(generator: np.random.RandomState, n: Any, p: Any, size: Any) -> Any:
    """Return counts for each of the parameters that broadcast to the size."""
    rows = np.broadcast_to(p, (*size, np.shape(p)[-1]))
    counts = np.broadcast_to(n, size)
    result = np.empty(rows.shape, "int64")
    for place in np.ndindex(*size):
        probabilities = np.asarray(rows[place], "float64")
        # Probabilities of float32 may add to more than NumPy accepts.
        total = probabilities[:-1].sum()
        wide = probabilities / total if total > 1 else probabilities
        result[place] = generator.multinomial(int(counts[place]), wide)
    return result


def _random_integers(
    generator: np.random.RandomState, low: Any, high: Any, size: Any
) -> Any:
    return generator.randint(low, np.asarray(high, "int64") + 1, size)


_OTHER: dict[str, Callable[..., Any]] = {
    "choice": _choice,
    "permutation": _permutation,
    "multinomial": _multinomial,
    "random_integers": _random_integers,
}


class RandomFunction(Op):
    """A draw of NumPy's RandomState: the state after it, and the numbers.

    ``fn`` is the name of its method, or of a draw that is made of some. The inputs are
    the state, a vector of uint32 (`packed`), the size, and the method's arguments.
    """

    __props__ = ("fn", "dtype", "ndim")

    def __init__(self, fn: str, dtype: Any, ndim: int) -> None:
        if fn not in _OTHER and not hasattr(np.random.RandomState, fn):
            raise GraphValueError(
                f"RandomFunction: numpy.random.RandomState has no method {fn!r}"
            )
        self.fn = fn
        self.dtype = dtype_name(dtype)
        self.ndim = ndim

    def make_node(self, state: Any, size: Any, *arguments: Any) -> Apply:
        """Return a node over a state, a size and the method's arguments."""
        before = as_tensor_variable(state)
        if before.type.dtype != STATE or before.type.ndim != 1:
            raise GraphTypeError(
                f"{self.fn}: the state is {before.type}, expected {_LENGTH} uint32, "
                "those of a numpy.random.RandomState"
            )
        inputs = [before, as_shape(self.fn, size), *map(as_tensor_variable, arguments)]
        drawn = TensorType(self.dtype, (False,) * self.ndim)
        return Apply(self, inputs, [before.type(), drawn()])

    def perform(self, node: Apply, inputs: Sequence[Any], outputs: Any) -> None:
        """Draw, on the host."""
        state, size, *arguments = inputs
        generator = unpacked(state)
        draw = _OTHER.get(self.fn)
        shape = tuple(int(length) for length in size)
        if draw is None:
            drawn = getattr(generator, self.fn)(*arguments, size=shape)
        else:
            drawn = draw(generator, *arguments, shape)
        outputs[0][0] = packed(generator)
        outputs[1][0] = np.asarray(drawn).astype(self.dtype)

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Raise NoGradientError."""
        raise NoGradientError(
            f"{self.fn}: a draw of NumPy's has no gradient; stop it with "
            "consider_constant, or draw by engine='philox', where draws that are "
            "smooth functions of their parameters have one"
        )

    def do_constant_folding(self, node: Apply) -> bool:
        """Return False: each function draws anew."""
        return False

    def __str__(self) -> str:
        return f"RandomFunction{{{self.fn}}}"


def is_host_state(state: Any) -> bool:
    """True for a state of NumPy's generator."""
    kind = state.type if isinstance(state, Variable) else None
    return getattr(kind, "dtype", None) == STATE
