"""Random numbers on a device, by NumPy's names: ``gpuarray.random.default_rng(1)``.

The generator is Philox4x32-10. Its numbers depend on its seed, stream and position, not
on the device or the layout of an array: bits, integers and uniform numbers are the same
on all devices, as are those of other distributions but normal, lognormal and
exponential ones, which differ by the rounding of a device's logarithm.

``Generator`` has the methods of NumPy's, most of them with ``dtype`` and ``out``; its
numbers are not those of NumPy's generators. Where these choose an algorithm
(``method=``), both names draw by the same one here.

>>> import gpuarray
>>> rng = gpuarray.random.default_rng(42, context="null")
>>> rng
Generator(seed=42, stream=0, position=0, context='null')
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuarray._core.context import Context
from gpuarray._core.opening import context as find_context
from gpuarray._interop import pickling
from gpuarray._native import ffi, lib
from gpuarray._random.choosing import Choosing
from gpuarray._random.continuous import Continuous
from gpuarray._random.discrete import Discrete
from gpuarray._random.multivariate import Multivariate
from gpuarray._random.parameters import Size
from gpuarray._random.seeding import WORD, Seed, children_key, key_of, word
from gpuarray.array import Array
from gpuarray.errors import BadType, BadValue, suggest_names

__all__ = ["BitGenerator", "Generator", "default_rng"]


def __dir__() -> list[str]:
    return __all__


_GENERATOR = "gpuarray.random.default_rng(seed)"
_RENAMED = {
    **{"rand": "random", "randn": "standard_normal", "randint": "integers"},
    **{"random_sample": "random", "ranf": "random", "sample": "random"},
}
_METHODS = {
    name: name
    for kind in (Choosing, Continuous, Discrete, Multivariate)
    for name in dir(kind)
    if not name.startswith("_")
}
suggest_names(
    __name__,
    {"seed": _GENERATOR, "RandomState": _GENERATOR}
    | {name: f"{_GENERATOR}.{own}" for name, own in (_METHODS | _RENAMED).items()},
)


class Generator(Choosing, Continuous, Discrete, Multivariate):
    """A stream of random numbers on a context.

    A seed has 2**64 streams that share nothing. One thread at a time may use it.

    >>> rng = gpuarray.random.default_rng(1)
    >>> a = rng.normal(size=(2, 3))
    >>> a.shape, a.dtype
    ((2, 3), dtype('float64'))
    """

    __slots__ = ()

    def __init__(
        self,
        seed: Seed = None,
        context: Context | str | None = None,
        stream: int = 0,
    ) -> None:
        """``seed``: see ``default_rng``."""
        key, own = key_of(seed)
        self._context = find_context(context)
        self._spawned = 0
        self._sequence = seed if isinstance(seed, np.random.SeedSequence) else None
        self._state = ffi.new("gpurandom *")
        lib.gpurandom_init(self._state, key, (own + word(stream, "stream")) % WORD)

    @property
    def context(self) -> Context:
        """The context of its arrays."""
        return self._context

    @property
    def state(self) -> tuple[int, int, int]:
        """Seed, stream and position; setting them continues from there."""
        state = self._state
        return int(state.seed), int(state.stream), int(state.position)

    @state.setter
    def state(self, value: tuple[int, int, int]) -> None:
        try:
            seed, stream, position = value
        except (TypeError, ValueError):
            raise BadValue(
                f"Generator: state is {value!r}, expected seed, stream and position"
            ) from None
        numbers = [word(number, "state") for number in (seed, stream, position)]
        lib.gpurandom_init(self._state, numbers[0], numbers[1])
        self._state.position = numbers[2]

    @property
    def bit_generator(self) -> BitGenerator:
        """The source of its bits, whose ``state`` is a dict, as in NumPy."""
        return BitGenerator(self)

    def __repr__(self) -> str:
        seed, stream, position = self.state
        return (
            f"Generator(seed={seed}, stream={stream}, position={position}, "
            f"context={self._context.name!r})"
        )

    def __reduce__(self) -> Any:
        return _restore, (self.state, self._spawned, self._context.name)

    def spawn(self, n_children: int) -> list[Generator]:
        """Return generators that are independent of this one and of each other.

        >>> first, second = gpuarray.random.default_rng(1).spawn(2)
        >>> bool((first.random(3) == second.random(3)).any())
        False
        """
        children = []
        for _ in range(_count(n_children, "spawn", "n_children")):
            seed, stream, _ = self.state
            key, own = children_key(seed, stream, self._spawned)
            children.append(Generator(key, self._context, own))
            self._spawned += 1
        return children

    def jumped(self, jumps: int = 1) -> Generator:
        """Return a generator ``jumps`` streams after this one, at the same position.

        Streams have 2**64 positions, and share nothing.

        >>> gpuarray.random.default_rng(1, "null").jumped(3).state
        (1, 3, 0)
        """
        seed, stream, position = self.state
        further = Generator(seed, self._context)
        number = (stream + _count(jumps, "jumped", "jumps")) % WORD
        further.state = (seed, number, position)
        return further


class BitGenerator:
    """The source of a generator's bits: Philox4x32-10.

    >>> source = gpuarray.random.default_rng(1, "null").bit_generator
    >>> source.state["state"]
    {'seed': 1, 'stream': 0, 'position': 0}
    """

    __slots__ = ("_generator",)

    def __init__(self, seed: Seed | Generator = None) -> None:
        """``seed``: see ``default_rng``; of a generator, its source."""
        self._generator = default_rng(seed)

    @property
    def seed_seq(self) -> np.random.SeedSequence:
        """The sequence of seeds whose children Dask gives its chunks."""
        generator = self._generator
        if generator._sequence is None:
            generator._sequence = np.random.SeedSequence(generator.state[:2])
        return generator._sequence

    _seed_seq = seed_seq  # the name that Dask looks for

    def __reduce__(self) -> Any:
        return BitGenerator, (self._generator,)

    @property
    def state(self) -> dict[str, Any]:
        """The state as a dict, which JSON can save; setting it continues from there."""
        names = ("seed", "stream", "position")
        return {
            "bit_generator": "Philox4x32",
            "state": dict(zip(names, self._generator.state, strict=True)),
            "spawned": self._generator._spawned,
        }

    @state.setter
    def state(self, value: dict[str, Any]) -> None:
        try:
            name, state = value["bit_generator"], value["state"]
            numbers = state["seed"], state["stream"], state["position"]
            spawned = value.get("spawned", 0)
        except (KeyError, TypeError, AttributeError):
            raise BadValue(
                f"BitGenerator: state is {value!r}, expected a dict that `state` gave"
            ) from None
        if name != "Philox4x32":
            raise BadValue(f"BitGenerator: state is of {name!r}, expected 'Philox4x32'")
        self._generator.state = numbers
        self._generator._spawned = _count(spawned, "BitGenerator", "spawned")

    def jumped(self, jumps: int = 1) -> BitGenerator:
        """Return the source of ``Generator.jumped``.

        >>> source = gpuarray.random.default_rng(1, "null").bit_generator
        >>> source.jumped(3).state["state"]
        {'seed': 1, 'stream': 3, 'position': 0}
        """
        return self._generator.jumped(jumps).bit_generator

    def advance(self, delta: int) -> BitGenerator:
        """Move the position by ``delta`` counts, each of 128 bits; return the source.

        >>> rng = gpuarray.random.default_rng(1, "null")
        >>> rng.bit_generator.advance(5)
        BitGenerator('Philox4x32')
        >>> rng.state
        (1, 0, 5)
        """
        seed, stream, position = self._generator.state
        self._generator.state = (seed, stream, (position + int(delta)) % WORD)
        return self

    def random_raw(self, size: Size = None) -> Array:
        """Return 64 random bits for each element.

        >>> gpuarray.random.default_rng(1).bit_generator.random_raw(3).dtype
        dtype('uint64')
        """
        return self._generator.bits(size, np.uint64)

    def __repr__(self) -> str:
        return "BitGenerator('Philox4x32')"


def _restore(state: tuple[int, int, int], spawned: int, name: str) -> Generator:
    """The generator of a pickle, on the context that an array's pickle goes to."""
    generator = Generator(0, pickling.place(name))
    generator.state, generator._spawned = state, spawned
    return generator


def _count(number: Any, operation: str, name: str) -> int:
    """Return an integer from 0 on."""
    if not isinstance(number, int | np.integer) or number < 0:
        raise (BadValue if isinstance(number, int | np.integer) else BadType)(
            f"{operation}: {name} is {number!r}, expected an integer from 0 on"
        )
    return int(number)


def default_rng(
    seed: Seed | Generator | BitGenerator = None,
    context: Context | str | None = None,
) -> Generator:
    """Return a generator; the same seed gives the same numbers on every device.

    ``seed`` is an integer from 0 on, a sequence of them or a
    ``numpy.random.SeedSequence`` (BadValue for others); None: one from the system. A
    generator is returned as it is, of a bit generator its own.

    >>> rng = gpuarray.random.default_rng(1)
    >>> print(rng.random(3))
    [0.89468472 0.71126808 0.87411194]
    """
    if isinstance(seed, Generator):
        return seed
    if isinstance(seed, BitGenerator):
        return seed._generator
    return Generator(seed, context)
