"""Theano's ``sandbox.rng_mrg``: random streams by MRG31k3p, number for number.

>>> from gpuarray.compiler import function
>>> from gpuarray.compiler.sandbox.rng_mrg import MRG_RandomStreams
>>> streams = MRG_RandomStreams(234)
>>> draw = function([], streams.uniform((2, 2), dtype="float64"))
>>> print(draw())
[[0.44990408 0.30624682]
 [0.78983548 0.82554427]]

A draw has streams of its own, which its elements take in turn: element i is the next
number of stream ``i % nstreams``. `mrg_generator` has the generator and its source.
"""

from __future__ import annotations

import math as _math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphTypeError, GraphValueError, NotOfferedError
from gpuarray.compiler.graph.core import Variable, constant
from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.ops.creation.joining import join
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.picking import nonzero
from gpuarray.compiler.ops.random.compound import marked
from gpuarray.compiler.ops.shape.shape import as_shape, reshape
from gpuarray.compiler.ops.variables.basic import as_tensor_variable, is_constant
from gpuarray.compiler.sandbox.mrg_arguments import (
    checked_size,
    no_size,
    number_of,
    parameters,
    probabilities,
)
from gpuarray.compiler.sandbox.mrg_generator import (
    M1 as M1,
    M2 as M2,
    Array,
    ff_2p72 as ff_2p72,
    ff_2p134 as ff_2p134,
    is_integer,
    jumps_by_bits,
    state_of,
    substreams,
)
from gpuarray.compiler.sandbox.mrg_kernels import (
    SCALES,
    choice_places,
    mrg_uniform as mrg_uniform,
    multinomial_counts,
)
from gpuarray.compiler.shared import SharedVariable, shared

MOST_STREAMS = 60 * 256
_TWO_SIGMA = 0.87962566103423978  # the deviation of a normal cut at -2 and 2


def guess_n_streams(size: Any, warn: bool = False) -> int:
    """Return the number of streams of a draw: it decides the numbers.

    A sixth of the elements, or all up to 6, but 15360 at most: the same where the
    lengths are not integers of Python.

    >>> guess_n_streams((2, 3)), guess_n_streams((100, 60)), guess_n_streams((10**6,))
    (6, 1000, 15360)
    """
    if not (isinstance(size, (tuple, list)) and all(is_integer(n) for n in size)):
        return MOST_STREAMS
    count = _math.prod(int(n) for n in size)
    return max(1, min(count // 6 if count > 6 else count, MOST_STREAMS))


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
        self.rstate = state_of(seed)

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
        states = substreams(self.rstate, n_streams)
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
        lengths = checked_size(name, size)
        count = self.n_streams(size) if nstreams is None else operator.index(nstreams)
        if count < 1:
            raise GraphValueError(f"{name}: nstreams is {nstreams}, expected 1 or more")
        if dtype not in SCALES:
            raise GraphTypeError(
                f"{name}: dtype is {dtype}, expected {', '.join(SCALES)}"
            )
        states = shared(self.get_substream_rstates(count), target=target)
        states.tag.is_rng = True
        like, scale = constant(0, dtype), constant(SCALES[dtype])
        jumps = constant(jumps_by_bits())
        after, numbers = mrg_uniform(states, jumps, like, scale, number_of(lengths))
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
        kind, (first, last) = parameters("uniform", dtype, low=low, high=high)
        unit = self._unit("uniform", size, ndim, kind, nstreams, target)
        result = _same_pattern("uniform", unit, _shifted(unit * (last - first), first))
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
        no_size("multinomial", size, ndim)
        p = probabilities("multinomial", "pvals", pvals)
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
        no_size("choice", None, ndim)
        weights = probabilities("choice", "p", p)
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
        no_size("multinomial_wo_replacement", size, None)
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
        kind, (mean, deviation) = parameters("normal", dtype, avg=avg, std=std)
        lengths = checked_size("normal", size)
        count = number_of(lengths)
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
        return _tagged(_shifted(samples * deviation, mean), unit)

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
        kind, (mean, deviation) = parameters(
            "truncated_normal", dtype, avg=avg, std=std
        )
        wider = deviation / constant(_TWO_SIGMA, kind)
        return self.normal(size, mean, wider, ndim, kind, nstreams, True, target=target)


def _radius(unit: Variable) -> Variable:
    radius: Variable = math.sqrt(constant(-2.0, unit.type.dtype) * math.log(unit))
    return radius


def _shifted(x: Variable, shift: Variable) -> Variable:
    """Return ``x + shift``, and ``x`` for 0: rewrites keep that, for x may be -0."""
    if shift.type.ndim == 0 and is_constant(shift, 0):
        return x
    moved: Variable = x + shift
    return moved


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


def _names() -> Iterable[str]:
    return ("M1", "M2", "MRG_RandomStreams", "ff_2p134", "ff_2p72", "guess_n_streams")


__all__ = [*_names(), "mrg_uniform"]

suggest_names(__name__)
