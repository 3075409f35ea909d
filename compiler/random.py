"""Random streams of compiled functions, by Philox: the same numbers on every device.

>>> from gpuarray.compiler import function
>>> from gpuarray.compiler.random import RandomStreams
>>> streams = RandomStreams(seed=42)
>>> draw = function([], streams.normal(size=3, dtype="float64"))
>>> first, second = draw(), draw()

A draw is a function of a seed, the draw's own stream, a position that each call moves
on, and the number of an element. So the draws of a function are independent of each
other, and draw k is that of ``gpuarray.random.Generator(42, stream=k)``:

>>> generator = gpuarray.random.default_rng(42)
>>> for drawn in (first, second):
...     print((drawn == generator.normal(size=3).get()).all())
True
True
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from typing import Any

import numpy as np
from gpuarray._random.table import DISTRIBUTIONS, Distribution
from gpuarray.compiler.config import config
from gpuarray.compiler.errors import (
    GraphKeyError,
    GraphTypeError,
    GraphValueError,
)
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.ops.random import compound, vectors
from gpuarray.compiler.ops.random.draws import STATE, draw, draw_integers
from gpuarray.compiler.shared import Container, SharedVariable
from gpuarray.errors import BadType, BadValue
from gpuarray.random import Generator

__all__ = ["RandomStreams", "StateArray", "StateVariable"]

_WORD = 2**64


# ---- states ----


class StateArray(np.ndarray[Any, Any]):
    """Seed, stream and position of a draw, with the methods that Theano's states have.

    >>> state = first_state(3)
    >>> state.seed(4)
    >>> state.tolist()
    [4, 0, 0]
    """

    def seed(self, seed: Any = None) -> None:
        """Become the first state of a seed, of the same stream."""
        self[:] = first_state(seed, int(self[1]))

    def get_state(self) -> tuple[int, int, int]:
        """Return seed, stream and position."""
        seed, stream, position = (int(word) for word in self)
        return seed, stream, position

    def set_state(self, state: Any) -> None:
        """Become another state: three integers, or a generator's."""
        self[:] = as_state(state)


def first_state(seed: Any, stream: int = 0) -> StateArray:
    """Return the first state of a seed, in one of its streams.

    Seeds are those of `gpuarray.random.default_rng`; a generator's state goes on.
    Raises ValueError for one out of range, TypeError for one that is no integer.
    """
    if isinstance(seed, Generator):
        return as_state(seed)
    try:
        key, first, position = Generator(seed, "null").state
    except BadValue as error:
        raise GraphValueError(_of_streams(error)) from None
    except BadType as error:
        raise GraphTypeError(_of_streams(error)) from None
    return as_state((key, (first + stream) % _WORD, position))


def as_state(value: Any) -> StateArray:
    """Return a state: three integers, or a generator's.

    Raises ValueError for integers out of range, TypeError for other values.
    """
    if isinstance(value, Generator):
        value = value.state
    if not isinstance(value, (tuple, list, np.ndarray)) or len(value) != 3:
        raise GraphTypeError(
            f"RandomStreams: the state is {value!r}, expected three integers: seed, "
            "stream, position; or a generator"
        )
    try:
        words = [operator.index(word) for word in value]
    except TypeError:
        raise GraphTypeError(
            f"RandomStreams: the state is {value!r}, expected integers"
        ) from None
    if not all(0 <= word < _WORD for word in words):
        raise GraphValueError(
            f"RandomStreams: the state is {tuple(words)}, expected three integers from "
            "0 to 2**64 - 1: seed, stream, position"
        )
    return np.array(words, STATE).view(StateArray)


def _of_streams(error: Exception) -> str:
    return str(error).replace("Generator:", "RandomStreams:", 1)


class StateVariable(SharedVariable):
    """The state of a draw: a vector of seed, stream and position, three uint64.

    It may be set to a generator of `gpuarray.random`, whose numbers go on.
    """

    def get_value(
        self, borrow: bool = False, return_internal_type: bool = False
    ) -> Any:
        """Return the state, a `StateArray` unless an array of a device is asked for."""
        value = super().get_value(borrow, return_internal_type)
        return value.view(StateArray) if isinstance(value, np.ndarray) else value

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        """Set the state: three integers, or a generator."""
        if isinstance(new_value, (tuple, list, np.ndarray, Generator)):
            new_value = np.asarray(as_state(new_value))
        super().set_value(new_value, borrow)


def state_variable(state: Any) -> StateVariable:
    """Return a variable with a state."""
    kind = TensorType(STATE, (False,))
    variable = StateVariable(kind, None, Container(None))
    variable.set_value(state)
    return variable


# ---- streams ----


class Streams:
    """The base of random streams: draws, their states, and the states' updates.

    ``state_updates`` has the state of each draw with its next value, which functions
    that read the draw use unless ``no_default_updates``.
    """

    def __init__(self, seed: Any = None) -> None:
        self.default_instance_seed = seed
        self.state_updates: list[tuple[Any, Variable]] = []
        self._first = self._root(seed)

    def _root(self, seed: Any) -> Any:
        """Return what the states of a seed are derived from."""
        return first_state(seed)

    def _state(self, number: int) -> Any:
        """Return the first value of draw ``number``'s state."""
        seed, stream, position = self._first.get_state()
        return as_state((seed, (stream + number) % _WORD, position))

    def _variable(self, state: Any) -> SharedVariable:
        return state_variable(state)

    def seed(self, seed: Any = None) -> None:
        """Start all draws anew, by another seed or the stream's own."""
        self._first = self._root(self.default_instance_seed if seed is None else seed)
        for number, (state, _) in enumerate(self.state_updates):
            state.set_value(self._state(number))

    def updates(self) -> list[tuple[Any, Variable]]:
        """Return the state of each draw with its next value."""
        return list(self.state_updates)

    def gen(self, op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return a new draw by ``op``, a function of a state and of these arguments.

        It returns the next state and the draw, as those of ``T.raw_random``.
        """
        state = self._variable(self._state(len(self.state_updates)))
        after, drawn = op(state, *args, **kwargs)
        drawn.rng, drawn.update = state, (state, after)
        state.default_update = after
        state.tag.is_rng = True
        self.state_updates.append(drawn.update)
        return drawn

    def __getitem__(self, item: Any) -> Any:
        """Return the value of the state of a draw, by that state or its update."""
        return self._found(item).get_value(borrow=True)

    def __setitem__(self, item: Any, value: Any) -> None:
        """Set the state of a draw."""
        self._found(item).set_value(value)

    def _found(self, item: Any) -> Any:
        for state, after in self.state_updates:
            if item is state or item is after:
                return state
        raise GraphKeyError(
            f"RandomStreams: {item} is no state of a draw of this stream; a draw has "
            "it as draw.rng"
        )


class RandomStreams(Streams):
    """Draws by the names and arguments of NumPy's generators.

    ``seed`` is as for `gpuarray.random.default_rng`: None is one from the system.
    Arguments that are arrays or variables broadcast; ``size`` is the shape of the whole
    result, with variables among the lengths where wanted, or one vector of ``ndim``
    lengths. Floats have ``dtype`` floatX, integers int64, unless it says otherwise.
    """

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: Any = "int64",
        endpoint: bool = False,
        ndim: int | None = None,
    ) -> Any:
        """Return integers from ``low`` up to ``high``, or from 0 up to ``low``.

        ``high`` is excluded unless ``endpoint``.
        """
        first, end = (0, low) if high is None else (low, high)
        last = end + 1 if endpoint else end
        return self.gen(draw_integers, first, last, size, ndim, dtype)

    def random(
        self, size: Any = None, dtype: Any = None, ndim: int | None = None
    ) -> Any:
        """Return uniform numbers in [0, 1)."""
        options = {"size": size, "ndim": ndim, "dtype": dtype or config.floatX}
        return self.gen(_drawn_by("uniform"), (0.0, 1.0), name="random", **options)

    def choice(
        self,
        a: Any,
        size: Any = (),
        replace: bool = True,
        p: Any = None,
        ndim: int | None = None,
    ) -> Any:
        """Return choices of the integers below ``a``, or of the elements of a vector.

        ``p`` are their probabilities. Without ``replace`` none comes twice.
        """
        return self.gen(compound.choice, a, size, replace, p, ndim)

    def permutation(self, x: Any) -> Any:
        """Return the integers below ``x``, or parts of an array, in random order."""
        is_array = getattr(getattr(x, "type", None), "ndim", np.ndim(x)) > 0
        return self.gen(compound.shuffle if is_array else compound.permutation, x)

    def permuted(self, x: Any) -> Any:
        """Return ``x`` with the elements of each row in a random order of its own."""
        return self.gen(compound.shuffle_row_elements, x)

    def multinomial(
        self, n: Any, pvals: Any, size: Any = None, ndim: int | None = None
    ) -> Any:
        """Return how often each outcome, along the last axis, comes in ``n`` draws."""
        return self.gen(compound.multinomial, n, pvals, size, ndim)

    def dirichlet(
        self, alpha: Any, size: Any = None, dtype: Any = None, ndim: int | None = None
    ) -> Any:
        """Return vectors of shares, along the last axis, that add to one.

        ``alpha`` are numbers above 0; ``size`` is the shape without their axis.
        """
        return self.gen(vectors.dirichlet, alpha, size, ndim, dtype or config.floatX)

    def multivariate_normal(
        self,
        mean: Any,
        cov: Any,
        size: Any = None,
        dtype: Any = None,
        ndim: int | None = None,
        method: str | None = None,
    ) -> Any:
        """Return normal vectors of a mean and a covariance matrix.

        A constant matrix is factored by ``method``: "svd" (the default), "eigh" or
        "cholesky"; a variable by "cholesky", which has a gradient.
        """
        kind = dtype or config.floatX
        return self.gen(
            vectors.multivariate_normal, mean, cov, size, ndim, kind, method
        )


_DEFAULTS: dict[str, tuple[float, ...]] = {
    "uniform": (0.0, 1.0),
    "normal": (0.0, 1.0),
    "lognormal": (0.0, 1.0),
    "laplace": (0.0, 1.0),
    "logistic": (0.0, 1.0),
    "gumbel": (0.0, 1.0),
    "cauchy": (0.0, 1.0),
    "exponential": (1.0,),
    "rayleigh": (1.0,),
    "gamma": (1.0,),
    "truncated_normal": (0.0, 1.0, -2.0, 2.0),
}
"""The defaults of parameters, the last ones of each distribution."""

DTYPES = {"i": "int64", "b": "bool"}
"""The dtypes of draws of integers and truth values, unless another is asked for."""


def _drawn_by(distribution: str) -> Callable[..., Any]:
    """Return the draw of a distribution as a function of a state."""

    def drawn(state: Any, parameters: Sequence[Any], **options: Any) -> Any:
        return draw(distribution, state, parameters, **options)

    return drawn


def signature_of(row: Distribution) -> Signature:
    """Return the signature of a distribution's method."""
    defaults = _DEFAULTS.get(row.name, ())
    missing = len(row.parameters) - len(defaults)
    kind = Parameter.POSITIONAL_OR_KEYWORD
    listed = [Parameter("self", kind)]
    for number, parameter in enumerate(row.parameters):
        default = Parameter.empty if number < missing else defaults[number - missing]
        listed.append(Parameter(parameter.name, kind, default=default))
    options = ("size", "dtype", "ndim")
    return Signature(
        [*listed, *(Parameter(name, kind, default=None) for name in options)]
    )


def method_of(row: Distribution) -> Callable[..., Any]:
    """Return the method that draws from a distribution of the library's table."""
    signature, function = signature_of(row), _drawn_by(row.name)
    names = [parameter.name for parameter in row.parameters]

    def method(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise GraphTypeError(f"{row.name}: {error}") from None
        bound.apply_defaults()
        given = bound.arguments
        options = {
            "size": given["size"],
            "ndim": given["ndim"],
            "dtype": given["dtype"] or DTYPES.get(row.kind, config.floatX),
        }
        return given["self"].gen(function, [given[name] for name in names], **options)

    method.__name__ = row.name
    method.__qualname__ = f"RandomStreams.{row.name}"
    method.__signature__ = signature  # type: ignore[attr-defined]
    method.__doc__ = (
        f"Return numbers of the distribution {row.name}, as NumPy's of that name.\n\n"
        "        "
        + "; ".join(f"``{p.name}``: {p.range}" for p in row.parameters)
        + ".\n        "
    )
    return method


for _distribution in DISTRIBUTIONS.values():
    setattr(RandomStreams, _distribution.name, method_of(_distribution))
del _distribution

suggest_names(__name__)
