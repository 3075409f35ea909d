/* Radix sort pass by chunks, an item each: counts the digits (SO_SCATTERS 0), or
 * scatters the keys (1). */
#include "keys.cl.h"

SO_KERNEL void SO_NAME(SO_ARRAYS, GLOBAL_MEM ga_uint *counts, ga_size counts_off,
                       ga_ulong rows, ga_ulong n, ga_ulong chunk, ga_ulong chunks,
                       ga_int pass, ga_int mode) {
  KERNEL_BEGIN;
  SO_BEGIN;
  counts = (GLOBAL_MEM ga_uint *)((GLOBAL_MEM char *)counts + counts_off);
  const ga_size step = (ga_size)GDIM_0 * LDIM_0;
  for (ga_size id = (ga_size)GID_0 * LDIM_0 + LID_0; id < rows * chunks; id += step) {
    const ga_size row = id / chunks, part = id % chunks;
    const ga_size from = row * n + part * chunk;
    const ga_size end = row * n + n, to = end - from < chunk ? end : from + chunk;
    GLOBAL_MEM ga_uint *count = counts + row * SO_RADIX * chunks + part;
    ga_uint own[SO_RADIX];
#if SO_SCATTERS
    for (int d = 0; d < SO_RADIX; d++)
      own[d] = count[d * chunks];
    for (ga_size i = from; i < to; i++) {
      const SO_KEY key = in[i];
      const ga_size at = row * n + own[SO_DIGIT(key, pass, mode)]++;
      if (mode & 1)
        out[at] = key;
#if SO_HAS_VALUES
      const SO_VALUE value = mode & 2 ? SO_INDEX(i - row * n) : vin[i];
      if (mode & 4)
        indices[at] = (ga_long)SO_NUMBER(value);
      else
        vout[at] = value;
#endif
    }
#else
    for (int d = 0; d < SO_RADIX; d++)
      own[d] = 0;
    for (ga_size i = from; i < to; i++)
      own[SO_DIGIT(in[i], pass, mode)]++;
    for (int d = 0; d < SO_RADIX; d++)
      count[d * chunks] = own[d];
#endif
  }
}
