"""Seeds: numbers, sequences of numbers and NumPy's SeedSequence as keys of Philox."""

from __future__ import annotations

import operator
import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuarray.errors import BadType, BadValue

__all__ = ["WORD", "Seed", "children_key", "key_of", "word"]

WORD = 2**64

Seed = int | Sequence[int] | np.random.SeedSequence | None


def word(number: Any, name: str) -> int:
    """Return a number of 64 bits; BadType or BadValue for another."""
    try:
        value = operator.index(number)
    except TypeError:
        raise BadType(
            f"Generator: {name} is {number!r}, expected an integer from 0 to 2**64 - 1"
        ) from None
    if not 0 <= value < WORD:
        raise BadValue(f"Generator: {name} {value} is not in 0 to 2**64 - 1")
    return value


def key_of(seed: Any) -> tuple[int, int]:
    """Return the seed and the stream of Philox that a seed of NumPy's kinds stands for.

    A number below 2**64 is the seed itself, with stream 0. None: one from the system.
    Of others, both are words of a SeedSequence.

    >>> key_of(5), key_of([1, 2]) == key_of(np.random.SeedSequence([1, 2]))
    ((5, 0), True)
    """
    if seed is None:
        return secrets.randbits(64), 0
    if isinstance(seed, np.random.SeedSequence):
        first, second = seed.generate_state(2, np.uint64)
        return int(first), int(second)
    if isinstance(seed, np.ndarray) and seed.ndim == 0:
        seed = seed[()]
    try:
        value = operator.index(seed)
    except TypeError:
        return key_of(np.random.SeedSequence(_numbers(seed)))
    if value < 0:
        raise BadValue(
            f"Generator: seed {value} is negative, expected an integer from 0 on"
        )
    return (value, 0) if value < WORD else key_of(np.random.SeedSequence(value))


def _numbers(seed: Any) -> list[int]:
    """Return a sequence of integers from 0 on."""
    try:
        numbers = [operator.index(number) for number in seed]
    except TypeError:
        raise BadType(
            f"Generator: seed is {seed!r}, expected an integer from 0 on, a sequence "
            "of them, a numpy.random.SeedSequence or None"
        ) from None
    for number in numbers:
        if number < 0:
            raise BadValue(f"Generator: seed has {number}, expected integers from 0 on")
    return numbers


def children_key(seed: int, stream: int, number: int) -> tuple[int, int]:
    """Return seed and stream of a generator's child of this number."""
    return key_of(np.random.SeedSequence([seed, stream, number]))
