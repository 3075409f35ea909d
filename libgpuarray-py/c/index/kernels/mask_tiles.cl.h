/* Stream compaction, tile by tile: a tile's nonzero elements are numbered in local
 * memory, then written coalesced. MK_TEST declares `is_set` for element i, MK_WRITE
 * writes its output at `place`. */
#include "mask_sums.cl.h"
#include "mask_words.cl.h"

KERNEL void MK_NAME(MK_PARAMETERS) {
  KERNEL_BEGIN;
  MK_STARTS
  LOCAL_MEM ga_uint lane[MK_THREADS];
  LOCAL_MEM ga_ushort list[MK_TILE];
#if !MK_PACKED
  LOCAL_MEM ga_uint flags[MK_TILE_WORDS];
#endif
  const ga_uint lid = (ga_uint)LID_0;
  ga_ulong end = (GID_0 + 1) * block, base = count[GID_0];
  if (end > n)
    end = n;
  for (ga_ulong first = GID_0 * block; first < end; first += MK_TILE) {
    ga_uint w[4] = {0, 0, 0, 0}, bytes = 0;
#if MK_PACKED
    const ga_ulong own = first + lid * 16;
    MK_READ_PACKED
#else
    /* Flags through local memory, for coalesced reads. */
    for (ga_uint k = 0; k < MK_PER; k++) {
      const ga_ulong i = first + k * MK_THREADS + lid;
      ga_ubyte flag = 0;
      if (i < n) {
        MK_TEST
        flag = (ga_ubyte)is_set;
      }
      ((LOCAL_MEM_ARG ga_ubyte *)flags)[k * MK_THREADS + lid] = flag;
    }
    local_barrier();
    for (ga_uint k = 0; k < 4; k++)
      w[k] = flags[lid * 4 + k];
#endif
    for (ga_uint k = 0; k < 4; k++) {
      w[k] = MK_ONES(w[k]);
      bytes += w[k];
    }
    ga_uint sum = bytes * 0x01010101u >> 24;
    MK_SUMS_BEFORE(ga_uint)
    for (ga_uint k = 0; k < MK_PER; k++)
      if (w[k / 4] >> k % 4 * 8 & 1)
        list[sum++] = (ga_ushort)(lid * MK_PER + k);
    local_barrier();
    for (ga_uint r = lid; r < total; r += MK_THREADS) {
      const ga_ulong i = first + list[r], place = base + r;
      MK_WRITE
    }
    base += total;
    local_barrier();
  }
}
