"""Theano's ``sandbox.rng_mrg``: random streams by MRG31k3p, number for number.

>>> from gpuarray.compiler import function
>>> from gpuarray.compiler.sandbox.rng_mrg import MRG_RandomStreams
>>> streams = MRG_RandomStreams(234)
>>> draw = function([], streams.uniform((2, 2), dtype="float64"))
>>> print(draw())
[[0.44990408 0.30624682]
 [0.78983548 0.82554427]]

A draw has streams of its own, which its elements take in turn: element i is the next
number of stream ``i % nstreams``. The generator, its constants and their source:
P. L'Ecuyer and R. Touzin, "Fast combined multiple recursive generators with multipliers
of the form a = +-2^q +-2^r", WSC 2000.
"""

from __future__ import annotations

import math as _math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gpuarray._kernels.texts import kernel_text
from gpuarray.compiler.config import config
from gpuarray.compiler.errors import (
    GraphArgumentError,
    GraphTypeError,
    GraphValueError,
    NotOfferedError,
)
from gpuarray.compiler.gpukernels import kernel_op
from gpuarray.compiler.graph.core import Constant, Variable, constant
from gpuarray.compiler.graph.types import dtype_name
from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.ops.creation.joining import join
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.picking import nonzero
from gpuarray.compiler.ops.random.compound import marked
from gpuarray.compiler.ops.reduce.reduce import prod
from gpuarray.compiler.ops.shape.shape import as_shape, elements, reshape
from gpuarray.compiler.ops.variables.basic import as_tensor_variable
from gpuarray.compiler.shared import SharedVariable, shared
from gpuarray.dtypes import upcast

Array = np.ndarray[Any, Any]

M1 = 2**31 - 1
M2 = 2**31 - 21069
MOST_STREAMS = 60 * 256

_A1 = np.array([[0, 2**22, 2**7 + 1], [1, 0, 0], [0, 1, 0]], "uint64")
_A2 = np.array([[2**15, 0, 2**15 + 1], [1, 0, 0], [0, 1, 0]], "uint64")
_STREAM, _SUBSTREAM = 134, 72  # powers of two of numbers between their beginnings

_STEP_BITS = 40  # of the steps of a stream in a draw

# What a number from 1 to 2**31 - 1 is multiplied by, so that it is below 1 in its
# dtype; of float16 the lowest 15 bits are taken, plus 1.
_SCALES = {
    "float16": np.float32(3.0458e-05),
    "float32": np.float32(4.6566126e-10),
    "float64": np.float64(2.0**-31),
}
_TWO_SIGMA = 0.87962566103423978  # the deviation of a normal cut at -2 and 2


# ---- the generator ----


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


def _numbers(states: Array, count: int) -> tuple[Array, Array]:
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


def _jumps_by_bits() -> Array:
    """Return the matrices of 2**b steps, for each bit b of a number of them."""
    first, second, rows = _A1, _A2, []
    for _ in range(_STEP_BITS):
        rows.append(np.concatenate([first.ravel(), second.ravel()]))
        first, second = _modular(first, first, M1), _modular(second, second, M2)
    return np.array(rows).astype("int32")


def _reference(
    states: Array, jumps: Array, like: Array, scale: Array, n: Any
) -> tuple[Array, Array]:
    """Return the next states and ``n`` uniform numbers; ``scale`` tells the dtype."""
    after, drawn = _numbers(np.asarray(states), int(n))
    if scale == _SCALES["float16"]:
        drawn = (drawn & 0x7FFF) + 1
    return after, drawn.astype(scale.dtype) * scale


@kernel_op(
    "int32 states[s, w], int32 jumps[b, m], T like[], W scale[], int64 n -> "
    "int32 next[s, w], T u[n]",
    """const ga_ssize steps = (n + s - 1) / s, wanted = n / (s * 512);
  const ga_ssize pieces = wanted < 1 ? 1 : wanted < 64 ? wanted : 64;
  const ga_ssize length = (steps + pieces - 1) / pieces;
  for (ga_ssize item = GID_0 * LDIM_0 + LID_0; item < s * pieces;
       item += GDIM_0 * LDIM_0) {
    const ga_ssize k = item % s, from = item / s * length;
    const ga_ssize all = n > k ? (n - k - 1) / s + 1 : 0;
    const ga_ssize to = all < from + length ? all : from + length;
    ga_uint state[6];
    for (int i = 0; i < 6; i++)
      state[i] = (ga_uint)states[6 * k + i];
    if (from < to)
      ga_mrg_jump(state, (ga_ulong)from, jumps);
    ga_uint x1 = state[0], x2 = state[1], x3 = state[2];
    ga_uint y1 = state[3], y2 = state[4], y3 = state[5];
#define NEXT(x1, x2, x3, y1, y2, y3) \
    { \
      x3 = ga_mrg_first(x2, x3); \
      y3 = ga_mrg_second(y1, y3); \
      const ga_int v = ga_mrg_number(x3, y3); \
      STORE(u, at, (W_work)(sizeof(T) == 2 ? (v & 0x7fff) + 1 : v) * factor); \
      at += s; \
    }
    const W_work factor = LOAD(scale, 0);
    ga_ssize todo = to - from, at = k + from * s;
    for (; todo >= 3; todo -= 3) {
      NEXT(x1, x2, x3, y1, y2, y3)
      NEXT(x3, x1, x2, y3, y1, y2)
      NEXT(x2, x3, x1, y2, y3, y1)
    }
    for (; todo > 0; todo--) {
      NEXT(x1, x2, x3, y1, y2, y3)
      const ga_uint x = x3, y = y3;
      x3 = x2, x2 = x1, x1 = x;
      y3 = y2, y2 = y1, y1 = y;
    }
#undef NEXT
    if (to == all && (from < all || from == 0)) {
      const ga_uint last[6] = {x1, x2, x3, y1, y2, y3};
      for (int i = 0; i < 6; i++)
        next[6 * k + i] = (ga_int)last[i];
    }
  }""",
    n="s + n // 512",
    support=kernel_text(__package__, "mrg", {}),
    reference=_reference,
)
def mrg_uniform(m: Any, g: Any, y: Any, *inputs: Any) -> list[None]:
    """The states after a draw, and a vector of uniform numbers: no gradient.

    An item computes a piece of a stream: it jumps there by ``jumps``, matrices of
    powers of two of steps.
    """
    return [None, None, None, None]


def _counts_reference(p: Array, u: Array, n: Any) -> Array:
    """Return how often each outcome was drawn: the last one where sums fall short."""
    sums = np.cumsum(p, 1)
    draws = np.asarray(u).reshape(int(n), len(p))
    place = (sums[None] <= draws[..., None]).sum(-1)
    outcomes = np.arange(p.shape[1])
    counts: Array = (place[..., None] == outcomes).sum(0)
    return counts


_OUTCOME = """
    T_work sum = 0;
    ga_ssize m = 0;
    for (; m < outcomes; m++) {
      sum += LOAD(%s, r * outcomes + m);
      if (sum > LOAD(u, k * rows + r))
        break;
    }"""


@kernel_op(
    "T p[rows, outcomes], U u[count], int64 draws -> int64 out[rows, outcomes]",
    """for (ga_ssize r = GID_0 * LDIM_0 + LID_0; r < rows; r += GDIM_0 * LDIM_0)
    for (ga_ssize k = 0; k < draws; k++) {"""
    + _OUTCOME % "p"
    + """
      if (m < outcomes)
        out[r * outcomes + m]++;
    }""",
    n="rows",
    zeroed=["out"],
    reference=_counts_reference,
)
def multinomial_counts(m: Any, g: Any, y: Any, *inputs: Any) -> list[None]:
    """How often each outcome was drawn, of rows of probabilities."""
    return [None, None]


def _choice_reference(p: Array, u: Array, n: Any) -> tuple[Array, Array]:
    """Return the outcomes, -1 for none, and the probabilities that are left."""
    left, draws = np.array(p), np.asarray(u).reshape(int(n), len(p))
    out = np.full((len(p), int(n)), -1)
    for k, row in enumerate(draws):
        place = (np.cumsum(left, 1) <= row[:, None]).sum(1)
        for r, at in enumerate(place):
            if at < p.shape[1]:
                out[r, k], left[r, at] = at, 0
                with np.errstate(all="ignore"):
                    left[r] /= left[r].sum()
    return out, left


@kernel_op(
    "T p[rows, outcomes], U u[count], int64 draws -> "
    "int64 out[rows, draws], T left[rows, outcomes]",
    """for (ga_ssize r = GID_0 * LDIM_0 + LID_0; r < rows; r += GDIM_0 * LDIM_0) {
    for (ga_ssize j = 0; j < outcomes; j++)
      left[r * outcomes + j] = p[r * outcomes + j];
    for (ga_ssize k = 0; k < draws; k++) {"""
    + _OUTCOME % "left"
    + """
      out[r * draws + k] = m < outcomes ? m : -1;
      if (m < outcomes) {
        STORE(left, r * outcomes + m, 0);
        T_work total = 0;
        for (ga_ssize j = 0; j < outcomes; j++)
          total += LOAD(left, r * outcomes + j);
        for (ga_ssize j = 0; j < outcomes; j++)
          STORE(left, r * outcomes + j, LOAD(left, r * outcomes + j) / total);
      }
    }
  }""",
    n="rows",
    reference=_choice_reference,
)
def choice_places(m: Any, g: Any, y: Any, *inputs: Any) -> list[None]:
    """Outcomes without replacement, of rows of probabilities."""
    return [None, None]


# ---- sizes ----


def guess_n_streams(size: Any, warn: bool = False) -> int:
    """Return the number of streams of a draw: it decides the numbers.

    A sixth of the elements, or all up to 6, but 15360 at most: the same where the
    lengths are not integers of Python.

    >>> guess_n_streams((2, 3)), guess_n_streams((100, 60)), guess_n_streams((10**6,))
    (6, 1000, 15360)
    """
    if not (isinstance(size, (tuple, list)) and all(_is_integer(n) for n in size)):
        return MOST_STREAMS
    count = _math.prod(int(n) for n in size)
    return max(1, min(count // 6 if count > 6 else count, MOST_STREAMS))


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _checked_size(name: str, size: Any) -> Any:
    """Return a tuple of lengths, integers or scalars, or a vector of integers."""
    if isinstance(size, Variable) and size.type.ndim == 1:
        return as_shape(name, size)
    lengths = size if isinstance(size, (tuple, list)) else (size,)
    for length in lengths:
        if isinstance(length, Variable):
            is_fit = length.type.ndim == 0 and length.type.dtype[0] in "iu"
            if not is_fit:
                raise GraphTypeError(
                    f"{name}: size has {length} of {length.type}, expected integers"
                )
        elif not _is_integer(length):
            raise GraphTypeError(
                f"{name}: size is {size!r}, expected a tuple of integers or integer "
                "scalars, or a vector of integers"
            )
        elif length <= 0:
            raise GraphValueError(
                f"{name}: size is {size!r}, expected lengths of 1 or more"
            )
    return tuple(lengths)


def _count(size: Any) -> Any:
    """Return the number of elements: an integer where all lengths are."""
    if isinstance(size, tuple) and all(_is_integer(n) for n in size):
        return _math.prod(int(n) for n in size)
    if isinstance(size, Constant):
        return int(size.data.prod())
    known = elements(as_shape("size", size))
    if known is None:
        return prod(size, dtype="int64")
    total: Any = constant(1, "int64")
    for length in known:
        total = total * math.cast(length, "int64")
    return total


# ---- streams ----


class MRG_RandomStreams:
    """Draws of MRG31k3p, as Theano's: the same numbers by the same seed.

    ``seed`` is an integer from 1 to 2**31 - 21070, or six integers: three below 2**31 -
    1, not all 0, and three below 2**31 - 21069, not all 0.

    Each call gives a draw with a state of its own, the shared variable ``draw.rstate``,
    that functions update by default: each call of a function draws new numbers.
    """

    def __init__(self, seed: Any = 12345) -> None:
        self.state_updates: list[tuple[Any, ...]] = []
        self.default_instance_seed = seed
        self.set_rstate(seed)

    def updates(self) -> list[tuple[Any, ...]]:
        """Return the draws' states, next states, sizes and numbers of streams."""
        return list(self.state_updates)

    def set_rstate(self, seed: Any) -> None:
        """Set the state that the next draw starts from.

        Raises ValueError for a seed out of range, TypeError for no integers.
        """
        self.rstate = _state_of(seed)

    def seed(self, seed: Any = None) -> None:
        """Start all draws anew, by another seed or the stream's own."""
        self.set_rstate(self.default_instance_seed if seed is None else seed)
        for state, _, size, nstreams in self.state_updates:
            count = self.n_streams(size) if nstreams is None else nstreams
            state.set_value(self.get_substream_rstates(count), borrow=True)

    def inc_rstate(self) -> None:
        """Move on to the next stream, 2**134 numbers ahead."""
        self.rstate = ff_2p134(self.rstate)

    def get_substream_rstates(
        self, n_streams: int, dtype: Any = None, inc_rstate: bool = True
    ) -> Array:
        """Return a matrix of states, 2**72 numbers apart, and move to the next stream.

        ``dtype`` is Theano's and changes nothing.
        """
        states = _jump(_SUBSTREAM).states(self.rstate, n_streams)
        if inc_rstate:
            self.inc_rstate()
        return states

    def n_streams(self, size: Any) -> int:
        """Return the number of streams for a size."""
        return guess_n_streams(size)

    def pretty_return(
        self,
        node_rstate: SharedVariable,
        new_rstate: Variable,
        sample: Any,
        size: Any,
        nstreams: int | None,
    ) -> Any:
        """Register a draw's state and update; return the draw."""
        sample.rstate = node_rstate
        sample.update = (node_rstate, new_rstate)
        self.state_updates.append((node_rstate, new_rstate, size, nstreams))
        node_rstate.default_update = new_rstate
        return sample

    def _unit(
        self, name: str, size: Any, ndim: Any, dtype: str, nstreams: Any, target: Any
    ) -> Variable:
        """Return uniform numbers above 0 and below 1."""
        lengths = _checked_size(name, size)
        count = self.n_streams(size) if nstreams is None else operator.index(nstreams)
        if count < 1:
            raise GraphValueError(f"{name}: nstreams is {nstreams}, expected 1 or more")
        if dtype not in _SCALES:
            raise GraphTypeError(
                f"{name}: dtype is {dtype}, expected {', '.join(_SCALES)}"
            )
        states = shared(self.get_substream_rstates(count), target=target)
        states.tag.is_rng = True
        like, scale = constant(0, dtype), constant(_SCALES[dtype])
        jumps = constant(_jumps_by_bits())
        after, numbers = mrg_uniform(states, jumps, like, scale, _count(lengths))
        shape = as_shape(name, lengths)
        sample = reshape(numbers, shape, ndim=ndim)
        unit: Variable = self.pretty_return(states, after, sample, size, nstreams)
        return unit

    def uniform(
        self,
        size: Any,
        low: Any = 0.0,
        high: Any = 1.0,
        ndim: int | None = None,
        dtype: Any = None,
        nstreams: int | None = None,
        *,
        target: str | None = None,
    ) -> Any:
        """Return uniform numbers above ``low`` and below ``high``.

        ``size`` is a tuple of integers or integer scalars, or a vector of ``ndim``
        integers. ``dtype`` is by default that of the bounds and floatX together.
        ``nstreams`` is the number of streams; ``target`` the context of their states.
        """
        kind, (first, last) = _parameters("uniform", dtype, low=low, high=high)
        unit = self._unit("uniform", size, ndim, kind, nstreams, target)
        result = _same_pattern("uniform", unit, unit * (last - first) + first)
        return _tagged(result, unit)

    def binomial(
        self,
        size: Any = None,
        n: int = 1,
        p: Any = 0.5,
        ndim: int | None = None,
        dtype: Any = "int64",
        nstreams: int | None = None,
        *,
        target: str | None = None,
    ) -> Any:
        """Return ones with probability ``p``, else zeros; ``n`` is 1."""
        if n != 1:
            raise NotOfferedError(
                f"binomial: n is {n}, and MRG_RandomStreams has n=1 only, as Theano's; "
                "compiler.random.RandomStreams has any n"
            )
        probability = as_tensor_variable(p)
        unit = self.uniform(size, ndim=ndim, nstreams=nstreams, target=target)
        drawn = math.cast(math.lt(unit, probability), dtype)
        return _tagged(marked("binomial", drawn, probability), unit)

    def multinomial(
        self,
        size: Any = None,
        n: Any = 1,
        pvals: Any = None,
        ndim: int | None = None,
        dtype: Any = "int64",
        nstreams: int | None = None,
        *,
        target: str | None = None,
    ) -> Any:
        """Return how often each outcome comes in ``n`` draws.

        A row of the matrix ``pvals`` are the probabilities of a row of the result;
        they are not checked. ``size`` and ``ndim`` are None.
        """
        _no_size("multinomial", size, ndim)
        p = _probabilities("multinomial", "pvals", pvals)
        unit = self._row_units("multinomial", p, n, nstreams, target)
        counts = multinomial_counts(p, unit, as_tensor_variable(n))
        result = math.cast(counts, p.type.dtype if dtype == "auto" else dtype)
        return _tagged(marked("multinomial", result, p), unit)

    def choice(
        self,
        size: Any = 1,
        a: Any = None,
        replace: bool = True,
        p: Any = None,
        ndim: int | None = None,
        dtype: Any = "int64",
        nstreams: int | None = None,
        *,
        target: str | None = None,
    ) -> Any:
        """Return ``size`` outcomes for each row of ``p``, none of them twice.

        ``replace`` is False and ``a`` and ``ndim`` None, as in Theano. The
        probabilities are not checked.
        """
        if replace:
            raise NotOfferedError(
                "choice: MRG_RandomStreams draws without replacement only, as Theano's;"
                " pass replace=False, or take compiler.random.RandomStreams"
            )
        if a is not None:
            raise GraphTypeError(
                f"choice: a is {a!r}, expected None: the outcomes are the columns of p"
            )
        _no_size("choice", None, ndim)
        weights = _probabilities("choice", "p", p)
        unit = self._row_units("choice", weights, size, nstreams, target)
        places, _ = choice_places(weights, unit, as_tensor_variable(size))
        result = math.cast(places, "int64" if dtype == "auto" else dtype)
        return _tagged(marked("choice", result, weights), unit)

    def multinomial_wo_replacement(
        self,
        size: Any = None,
        n: Any = 1,
        pvals: Any = None,
        ndim: int | None = None,
        dtype: Any = "int64",
        nstreams: int | None = None,
        *,
        target: str | None = None,
    ) -> Any:
        """Return ``choice(n, replace=False, p=pvals)``: Theano's former name."""
        _no_size("multinomial_wo_replacement", size, None)
        return self.choice(n, None, False, pvals, ndim, dtype, nstreams, target=target)

    def _row_units(
        self, name: str, p: Variable, draws: Any, nstreams: Any, target: Any
    ) -> Variable:
        """Return a uniform number for each row and draw."""
        if isinstance(draws, (int, np.integer)) and draws < 1:
            raise GraphValueError(f"{name}: {draws} draws, expected 1 or more")
        count = math.cast(p.shape[0], "int64") * draws
        size = as_shape(name, (count,))
        unit: Variable = self.uniform(size, ndim=1, nstreams=nstreams, target=target)
        return unit

    def normal(
        self,
        size: Any,
        avg: Any = 0.0,
        std: Any = 1.0,
        ndim: int | None = None,
        dtype: Any = None,
        nstreams: int | None = None,
        truncate: bool = False,
        *,
        target: str | None = None,
    ) -> Any:
        """Return normal numbers of mean ``avg`` and deviation ``std``.

        ``truncate`` draws those anew that are more than two deviations from the mean,
        which makes the deviation of the result smaller. The other arguments as in
        `uniform`.
        """
        kind, (mean, deviation) = _parameters("normal", dtype, avg=avg, std=std)
        lengths = _checked_size("normal", size)
        count = _count(lengths)
        options: dict[str, Any] = {
            "ndim": 1,
            "dtype": kind,
            "nstreams": nstreams,
            "target": target,
        }
        even = count + count % 2
        unit = self.uniform((even,), **options)
        radius = _radius(unit[: even // 2])
        angle = constant(2 * np.pi, kind) * unit[even // 2 :]
        turns = [math.cos(angle), math.sin(angle)]
        halves = [radius * turn for turn in turns]
        if truncate:
            halves = self._truncated(halves, turns, kind, options)
        samples = reshape(join(0, *halves)[:count], as_shape("normal", lengths), ndim)
        return _tagged(samples * deviation + mean, unit)

    def _truncated(
        self,
        halves: Sequence[Variable],
        turns: Sequence[Variable],
        dtype: str,
        options: dict[str, Any],
    ) -> list[Variable]:
        """Return the numbers up to 2, and behind each half what replaces the others."""
        is_far = [math.gt(math.abs(half), constant(2, dtype)) for half in halves]
        far = [nonzero(mask)[0] for mask in is_far]
        near = [
            half[nonzero(math.invert(mask))[0]]
            for half, mask in zip(halves, is_far, strict=True)
        ]
        counts = [places.shape[0] for places in far]
        low = constant(np.exp(-2.0), dtype)
        radius = _radius(self.uniform((counts[0] + counts[1],), low, 1.0, **options))
        parts = [radius[: counts[0]], radius[counts[0] :]]
        again = [
            part * turn[places]
            for part, turn, places in zip(parts, turns, far, strict=True)
        ]
        return [near[0], again[0], near[1], again[1]]

    def truncated_normal(
        self,
        size: Any,
        avg: Any = 0.0,
        std: Any = 1.0,
        ndim: int | None = None,
        dtype: Any = None,
        nstreams: int | None = None,
        *,
        target: str | None = None,
    ) -> Any:
        """Return normal numbers cut at two deviations, of the deviation ``std``."""
        kind, (mean, deviation) = _parameters(
            "truncated_normal", dtype, avg=avg, std=std
        )
        wider = deviation / constant(_TWO_SIGMA, kind)
        return self.normal(size, mean, wider, ndim, kind, nstreams, True, target=target)


def _state_of(seed: Any) -> Array:
    """Return the six integers of a seed."""
    if _is_integer(seed):
        if not 0 < seed < M2:
            raise GraphValueError(
                f"MRG_RandomStreams: seed is {seed}, expected an integer from 1 to "
                f"{M2 - 1}, or six"
            )
        return np.full(6, seed, "int32")
    numbers = list(seed) if isinstance(seed, (Sequence, np.ndarray)) else []
    if len(numbers) != 6 or not all(_is_integer(number) for number in numbers):
        raise GraphTypeError(
            f"MRG_RandomStreams: seed is {seed!r}, expected one integer or six"
        )
    for part, modulus in ((numbers[:3], M1), (numbers[3:], M2)):
        if not any(part) or not all(0 <= number < modulus for number in part):
            raise GraphValueError(
                f"MRG_RandomStreams: seed has {[int(n) for n in part]}, expected three "
                f"integers from 0 to {modulus - 1}, not all of them 0"
            )
    return np.array(numbers, "int32")


def _parameters(name: str, dtype: Any, **given: Any) -> tuple[str, list[Variable]]:
    """Return the dtype of a draw, and its parameters in it."""
    values = {word: as_tensor_variable(value) for word, value in given.items()}
    for word, value in values.items():
        if value.type.dtype.startswith("complex"):
            raise GraphTypeError(f"{name}: {word} is {value.type}, expected a real one")
    std = values.get("std")
    if isinstance(std, Constant) and (std.data < 0).any():
        raise GraphValueError(f"{name}: std is {std.data}, expected 0 or more")
    if dtype is None:
        kinds = [value.type.dtype for value in values.values()]
        dtype = upcast(config.floatX, *kinds)
    kind = dtype_name(dtype)
    return kind, [math.cast(value, kind) for value in values.values()]


def _radius(unit: Variable) -> Variable:
    radius: Variable = math.sqrt(constant(-2.0, unit.type.dtype) * math.log(unit))
    return radius


def _same_pattern(name: str, unit: Variable, result: Variable) -> Variable:
    if unit.type.broadcastable != result.type.broadcastable:
        raise NotOfferedError(
            f"{name}: the parameters broadcast to {result.type}, and size says "
            f"{unit.type}; make the size that of the parameters"
        )
    return result


def _tagged(result: Any, unit: Any) -> Any:
    """Return the draw with the state and update of its uniform numbers."""
    result.rstate, result.update = unit.rstate, unit.update
    return result


def _probabilities(name: str, word: str, given: Any) -> Variable:
    if given is None:
        raise GraphTypeError(f"{name}: {word} is missing")
    p: Variable = as_tensor_variable(given)
    if p.type.ndim != 2 or p.type.dtype not in _SCALES:
        raise NotOfferedError(
            f"{name}: {word} is {p.type}, expected a matrix of float16, float32 or "
            "float64: a distribution in each row"
        )
    return p


def _no_size(name: str, size: Any, ndim: Any) -> None:
    for word, value in (("size", size), ("ndim", ndim)):
        if value is not None:
            raise GraphArgumentError(
                f"{name}: {word} is {value!r}, expected None: it follows from the "
                "probabilities"
            )


def _names() -> Iterable[str]:
    return ("M1", "M2", "MRG_RandomStreams", "ff_2p134", "ff_2p72", "guess_n_streams")


__all__ = [*_names(), "mrg_uniform"]

suggest_names(__name__)
