/* Onesweep: histograms of all digits in one pass. */
#include "keys.cl.h"

SO_KERNEL void SO_NAME(SO_ARRAYS, GLOBAL_MEM SO_COUNT *bins, ga_size bins_off,
                       ga_ulong rows, ga_ulong n, ga_ulong blocks, ga_int mode) {
  KERNEL_BEGIN;
  LOCAL_MEM ga_uint counts[SO_PASSES * SO_RADIX];
  const int lane = (int)LID_0;
  SO_BEGIN;
  bins = (GLOBAL_MEM SO_COUNT *)((GLOBAL_MEM char *)bins + bins_off);
  const ga_size row = (ga_size)GID_0 / blocks, part = (ga_size)GID_0 % blocks;
  for (int i = lane; i < SO_PASSES * SO_RADIX; i += SO_THREADS)
    counts[i] = 0;
  local_barrier();
#define SO_COUNT_ALL(key)                                                              \
  for (int pass = 0; pass < SO_PASSES; pass++)                                         \
    atom_add_Il(&counts[pass * SO_RADIX + SO_DIGIT(key, pass, mode)], 1u);
  in += row * n;
  const ga_size step = blocks * (SO_THREADS * 8);
  ga_size i = part * (SO_THREADS * 8) + lane;
  for (; i + 7 * SO_THREADS < n; i += step) {
    SO_KEY keys[8];
    for (int v = 0; v < 8; v++)
      keys[v] = in[i + v * SO_THREADS];
    for (int v = 0; v < 8; v++)
      SO_COUNT_ALL(keys[v])
  }
  for (int v = 0; v < 8; v++)
    if (i + v * SO_THREADS < n)
      SO_COUNT_ALL(in[i + v * SO_THREADS])
  local_barrier();
  bins += row * (SO_PASSES * SO_RADIX);
  for (int i = lane; i < SO_PASSES * SO_RADIX; i += SO_THREADS)
    if (counts[i] > 0)
      SO_ADD(&bins[i], counts[i]);
}
