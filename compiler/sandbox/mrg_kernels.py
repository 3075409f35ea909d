"""Kernels of MRG31k3p: uniform numbers, and outcomes of rows of probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from gpuarray._kernels.texts import kernel_text
from gpuarray.compiler.gpukernels import kernel_op
from gpuarray.compiler.sandbox.mrg_generator import Array, numbers

# What a number from 1 to 2**31 - 1 is multiplied by, so that it is below 1 in its
# dtype; of float16 the lowest 15 bits are taken, plus 1.
SCALES = {
    "float16": np.float32(3.0458e-05),
    "float32": np.float32(4.6566126e-10),
    "float64": np.float64(2.0**-31),
}


def _reference(
    states: Array, jumps: Array, like: Array, scale: Array, n: Any
) -> tuple[Array, Array]:
    """Return the next states and ``n`` uniform numbers; ``scale`` tells the dtype."""
    after, drawn = numbers(np.asarray(states), int(n))
    if scale == SCALES["float16"]:
        drawn = (drawn & 0x7FFF) + 1
    return after, drawn.astype(scale.dtype) * scale


@kernel_op(
    "int32 states[s, w], int32 jumps[b, m], T like[], W scale[], int64 n -> "
    "int32 next[s, w], T u[n]",
    """const ga_ssize steps = (n + s - 1) / s, length = 512;
  const ga_ssize pieces = steps > length ? (steps + length - 1) / length : 1;
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
#define NEXT(place, x1, x2, x3, y1, y2, y3) \
    { \
      x3 = ga_mrg_first(x2, x3); \
      y3 = ga_mrg_second(y1, y3); \
      const ga_int v = ga_mrg_number(x3, y3); \
      STORE(u, place, (W_work)(sizeof(T) == 2 ? (v & 0x7fff) + 1 : v) * factor); \
    }
    const W_work factor = LOAD(scale, 0);
    ga_ssize at = k + from * s;
    ga_int todo = (ga_int)(to - from);
    for (; todo >= 3; todo -= 3, at += 3 * s) {
      NEXT(at, x1, x2, x3, y1, y2, y3)
      NEXT(at + s, x3, x1, x2, y3, y1, y2)
      NEXT(at + 2 * s, x2, x3, x1, y2, y3, y1)
    }
    for (; todo > 0; todo--, at += s) {
      NEXT(at, x1, x2, x3, y1, y2, y3)
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

    An item computes a piece of a stream, 512 numbers: it jumps there by ``jumps``,
    matrices of powers of two of steps.
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
