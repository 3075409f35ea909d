"""MRG31k3p on the host: states, jumps ahead in a stream, and numbers by NumPy.

P. L'Ecuyer and R. Touzin, "Fast combined multiple recursive generators with multipliers
of the form a = +-2^q +-2^r", WSC 2000.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphTypeError, GraphValueError

Array = np.ndarray[Any, Any]

M1 = 2**31 - 1
M2 = 2**31 - 21069

_A1 = np.array([[0, 2**22, 2**7 + 1], [1, 0, 0], [0, 1, 0]], "uint64")
_A2 = np.array([[2**15, 0, 2**15 + 1], [1, 0, 0], [0, 1, 0]], "uint64")
_STREAM, _SUBSTREAM = 134, 72  # powers of two of numbers between their beginnings

_STEP_BITS = 40  # of the steps of a stream in a draw


def _modular(a: Array, b: Array, modulus: int) -> Array:
    """Return the product of matrices of residues; no sum exceeds 64 bits."""
    terms = a[..., :, :, None] * b[..., None, :, :] % modulus
    product: Array = terms.sum(-2) % modulus
    return product


def _power_of_two(a: Array, modulus: int, exponent: int) -> Array:
    """Return ``a`` to the power ``2**exponent``."""
    for _ in range(exponent):
        a = _modular(a, a, modulus)
    return a


class _Jump:
    """A jump by a power of two of numbers, of a matrix for each component."""

    def __init__(self, exponent: int) -> None:
        self.first = _power_of_two(_A1, M1, exponent)
        self.second = _power_of_two(_A2, M2, exponent)

    def states(self, state: Array, count: int) -> Array:
        """Return ``count`` states, the given one first, each a jump behind the last."""
        rows = np.asarray(state, "uint64")[None]
        first, second = self.first, self.second
        while len(rows) < count:  # twice as many each time
            ahead = [
                _modular(jump, rows[:, part, None], modulus)[..., 0]
                for jump, part, modulus in (
                    (first, slice(0, 3), M1),
                    (second, slice(3, 6), M2),
                )
            ]
            rows = np.concatenate([rows, np.concatenate(ahead, 1)])
            first, second = _modular(first, first, M1), _modular(second, second, M2)
        return rows[:count].astype("int32")


_jumps: dict[int, _Jump] = {}


def _jump(exponent: int) -> _Jump:
    if exponent not in _jumps:
        _jumps[exponent] = _Jump(exponent)
    return _jumps[exponent]


def ff_2p134(rstate: Array) -> Array:
    """Return the state of the next stream, 2**134 numbers on."""
    after: Array = _jump(_STREAM).states(rstate, 2)[1]
    return after


def ff_2p72(rstate: Array) -> Array:
    """Return the state of the next substream, 2**72 numbers on."""
    after: Array = _jump(_SUBSTREAM).states(rstate, 2)[1]
    return after


def substreams(state: Array, count: int) -> Array:
    """Return ``count`` states, 2**72 numbers apart, the given one first."""
    return _jump(_SUBSTREAM).states(state, count)


def numbers(states: Array, count: int) -> tuple[Array, Array]:
    """Return the next states and ``count`` numbers from 1 to 2**31 - 1, by NumPy."""
    rows = states.astype("int64").T.copy()
    n_streams, drawn = rows.shape[1], np.zeros(count, "int64")
    for start in range(0, count, n_streams):
        live = slice(0, min(n_streams, count - start))
        x1, x2, x3, y1, y2, y3 = rows[:, live]
        x = (2**22 * x2 + (2**7 + 1) * x3) % M1
        y = (2**15 * y1 + (2**15 + 1) * y3) % M2
        rows[:, live] = np.stack([x, x1, x2, y, y1, y2])
        drawn[start : start + n_streams] = np.where(x > y, x - y, x - y + M1)
    return rows.T.astype("int32"), drawn


def jumps_by_bits() -> Array:
    """Return the matrices of 2**b steps, for each bit b of a number of them."""
    first, second, rows = _A1, _A2, []
    for _ in range(_STEP_BITS):
        rows.append(np.concatenate([first.ravel(), second.ravel()]))
        first, second = _modular(first, first, M1), _modular(second, second, M2)
    return np.array(rows).astype("int32")


def is_integer(value: Any) -> bool:
    """Return whether ``value`` is an integer of Python or NumPy, and no truth value."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def state_of(seed: Any) -> Array:
    """Return the six integers of a seed."""
    if is_integer(seed):
        if not 0 < seed < M2:
            raise GraphValueError(
                f"MRG_RandomStreams: seed is {seed}, expected an integer from 1 to "
                f"{M2 - 1}, or six"
            )
        return np.full(6, seed, "int32")
    values = list(seed) if isinstance(seed, (Sequence, np.ndarray)) else []
    if len(values) != 6 or not all(is_integer(number) for number in values):
        raise GraphTypeError(
            f"MRG_RandomStreams: seed is {seed!r}, expected one integer or six"
        )
    for part, modulus in ((values[:3], M1), (values[3:], M2)):
        if not any(part) or not all(0 <= number < modulus for number in part):
            raise GraphValueError(
                f"MRG_RandomStreams: seed has {[int(n) for n in part]}, expected three "
                f"integers from 0 to {modulus - 1}, not all of them 0"
            )
    return np.array(values, "int32")
