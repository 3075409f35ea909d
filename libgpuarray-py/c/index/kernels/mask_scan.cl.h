/* Exclusive scan of the block counts, in place, the total behind them; one work group,
 * MK_PER adjacent counts per item. */
#include "mask_sums.cl.h"

KERNEL void MK_NAME(GLOBAL_MEM ga_ulong *count, ga_size count_off, ga_ulong n) {
  KERNEL_BEGIN;
  LOCAL_MEM ga_ulong lane[MK_THREADS];
  const ga_uint lid = (ga_uint)LID_0;
  count = (GLOBAL_MEM ga_ulong *)((GLOBAL_MEM char *)count + count_off);
  ga_ulong before = 0;
  for (ga_ulong start = 0; start < n; start += MK_TILE) {
    const ga_ulong first = start + lid * MK_PER;
    ga_ulong own[MK_PER], sum = 0;
    for (ga_uint k = 0; k < MK_PER; k++) {
      own[k] = first + k < n ? count[first + k] : 0;
      sum += own[k];
    }
    MK_SUMS_BEFORE(ga_ulong)
    sum += before;
    for (ga_uint k = 0; k < MK_PER; k++) {
      if (first + k < n)
        count[first + k] = sum;
      sum += own[k];
    }
    before += total;
    local_barrier();
  }
  if (lid == 0)
    count[n] = before;
}
