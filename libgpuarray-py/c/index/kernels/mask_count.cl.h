/* Counts the nonzero elements of each work group's block. MK_TEST declares `is_set` for
 * element i. */
#include "mask_words.cl.h"

KERNEL void MK_NAME(MK_PARAMETERS) {
  KERNEL_BEGIN;
  MK_STARTS
  LOCAL_MEM ga_uint lane[MK_THREADS];
  const ga_uint lid = (ga_uint)LID_0;
  ga_ulong end = (GID_0 + 1) * block;
  if (end > n)
    end = n;
  ga_uint sum = 0;
#if MK_PACKED
  for (ga_ulong own = GID_0 * block + lid * 16; own < end; own += MK_TILE) {
    ga_uint w[4] = {0, 0, 0, 0}, bytes = 0;
    MK_READ_PACKED
    for (ga_uint k = 0; k < 4; k++)
      bytes += MK_ONES(w[k]);
    sum += bytes * 0x01010101u >> 24;
  }
#else
  for (ga_ulong i = GID_0 * block + lid; i < end; i += MK_THREADS) {
    MK_TEST
    sum += is_set;
  }
#endif
  lane[lid] = sum;
  for (ga_uint d = MK_HALF; d > 0; d /= 2) {
    local_barrier();
    if (lid < d)
      lane[lid] += lane[lid + d];
  }
  if (lid == 0)
    count[GID_0] = lane[0];
}
