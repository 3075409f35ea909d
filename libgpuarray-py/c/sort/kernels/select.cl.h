/* Top-k by radix select, results in input order.
 *
 * From the highest digit down: `wanted` keys are still to be found among those that
 * share the k-th key's known digits. Takes all keys below the k-th, and of the equal
 * ones the first. */
#include "keys.cl.h"

SO_KERNEL void SO_NAME(SO_ARRAYS, GLOBAL_MEM const ga_long *from, ga_size from_off,
                       ga_ulong rows, ga_ulong n, ga_ulong chunk, ga_ulong chunks,
                       ga_ulong k, ga_int mode) {
  KERNEL_BEGIN;
  LOCAL_MEM ga_uint counts[SO_RADIX];
  LOCAL_MEM ga_uint found[SO_PASSES];
  LOCAL_MEM ga_uint left[2];
  LOCAL_MEM ga_uint sums[4 * SO_THREADS];
  const int lane = (int)LID_0, lanes = (int)LDIM_0;
  SO_BEGIN;
  from = (GLOBAL_MEM const ga_long *)((GLOBAL_MEM const char *)from + from_off);
  for (ga_size id = GID_0; id < rows * chunks; id += GDIM_0) {
    const ga_size row = id / chunks, begin = (id - row * chunks) * chunk;
    const ga_size length = n - begin < chunk ? n - begin : chunk;
    GLOBAL_MEM const SO_KEY *keys = in + row * n + begin;
    ga_uint wanted = (ga_uint)k;
    for (int pass = SO_PASSES - 1; pass >= 0; pass--) {
      for (int d = lane; d < SO_RADIX; d += lanes)
        counts[d] = 0;
      local_barrier();
      for (ga_size i = lane; i < length; i += lanes) {
        const SO_KEY key = keys[i];
        int same = 1;
        for (int p = SO_PASSES - 1; p > pass; p--)
          if (SO_DIGIT(key, p, mode) != found[p])
            same = 0;
        if (same)
          SO_COUNT_LOCAL(counts[SO_DIGIT(key, pass, mode)]);
      }
      local_barrier();
      if (lane == 0) {
        int d = 0;
        for (; d < SO_RADIX - 1 && wanted > counts[d]; d++)
          wanted -= counts[d];
        found[pass] = d;
        left[0] = wanted;
      }
      local_barrier();
      wanted = left[0];
      local_barrier();
    }
    /* Output positions: a scan of the counts of smaller and equal keys. */
    ga_uint less = 0, equal = 0;
    for (ga_size i0 = 0; i0 < length; i0 += lanes) {
      const ga_size i = i0 + lane;
      int order = 1;
      SO_KEY key = keys[i < length ? i : 0];
      if (i < length) {
        order = 0;
        for (int p = SO_PASSES - 1; p >= 0 && order == 0; p--) {
          const ga_uint d = SO_DIGIT(key, p, mode);
          order = d < found[p] ? -1 : d > found[p] ? 1 : 0;
        }
      }
      int turn = 0;
      sums[lane] = order < 0;
      sums[2 * SO_THREADS + lane] = order == 0;
      local_barrier();
      for (int s = 1; s < lanes; s <<= 1) {
        ga_uint a = sums[turn + lane], b = sums[2 * SO_THREADS + turn + lane];
        if (lane >= s) {
          a += sums[turn + lane - s];
          b += sums[2 * SO_THREADS + turn + lane - s];
        }
        turn = SO_THREADS - turn;
        sums[turn + lane] = a;
        sums[2 * SO_THREADS + turn + lane] = b;
        local_barrier();
      }
      const ga_uint a = less + sums[turn + lane];
      const ga_uint b = equal + sums[2 * SO_THREADS + turn + lane];
      const ga_uint equal_before = order == 0 ? b - 1 : b;
      const ga_uint less_before = order < 0 ? a - 1 : a;
      const ga_uint at = less_before + (equal_before < wanted ? equal_before : wanted);
      if (order < 0 || (order == 0 && equal_before < wanted)) {
        out[id * k + at] = key;
        indices[id * k + at] =
            mode & 16 ? from[row * n + begin + i] : (ga_long)(begin + i);
      }
      less += sums[turn + lanes - 1];
      equal += sums[2 * SO_THREADS + turn + lanes - 1];
      local_barrier();
    }
  }
}
