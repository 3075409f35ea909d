"""Ops of the short way, for the tests: each at most ten lines."""

import numpy as np
from gpuarray.compiler import kernel_op

SCAN = """
  LOCAL_MEM T_work part[256];
  T_work carry = 0;
  for (ga_ssize start = 0; start < m; start += 256) {
    const ga_ssize j = start + LID_0;
    part[LID_0] = j < m ? LOAD(x, GID_0 * m + j) : 0;
    local_barrier();
    for (ga_size step = 1; step < 256; step *= 2) {
      const T_work other = LID_0 >= step ? part[LID_0 - step] : 0;
      local_barrier();
      part[LID_0] += other;
      local_barrier();
    }
    if (j < m) STORE(y, GID_0 * m + j, carry + part[LID_0]);
    carry += part[255];
    local_barrier();
  }"""

SINCOS = """
  for (ga_size i = GID_0 * LDIM_0 + LID_0; i < size; i += GDIM_0 * LDIM_0) {
    const T_work v = LOAD(x, i);
    STORE(s, i, sin(v));
    STORE(c, i, cos(v));
  }"""

WINDOWS = """
  for (ga_size i = GID_0 * LDIM_0 + LID_0; i < (n - k + 1) * k; i += GDIM_0 * LDIM_0)
    STORE(y, i, LOAD(x, i / k + i % k) * LOAD(w, i % k));"""


@kernel_op(
    "T x[n, m] -> T y[n, m]",
    SCAN,
    blocks="n",
    threads=256,
    reference=lambda x: np.cumsum(x, axis=1),
)
def scan_rows(m, g, y, x):
    """The running sums of each row."""
    return g.sum(axis=1, keepdims=True) - scan_rows(g) + g


@kernel_op(
    "T x[...] -> T s[...], T c[...]",
    SINCOS,
    n="size",
    reference=lambda x: (np.sin(x), np.cos(x)),
)
def sine_and_cosine(m, g, y, x):
    """The sine and the cosine."""
    return g[0] * y[1] - g[1] * y[0]


def windows_with_numpy(x, w, k):
    """Each stretch of ``k`` elements, times weights."""
    return np.lib.stride_tricks.sliding_window_view(x, int(k)) * w


@kernel_op(
    "T x[n], T w[k0], int64 k -> T y[n - k + 1, k]",
    WINDOWS,
    n="max(n - k + 1, 0) * k",
    reference=windows_with_numpy,
)
def windows(m, g, y, x, w, k):
    """Each stretch of ``k`` elements, times weights; nothing flows to these."""
    return None, None
