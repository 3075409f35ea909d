/* Products of compressed rows on GPUs. SP_WIDTH adjacent items take adjacent columns of
 * x, SP_PER each; SP_LANES such teams take the values of a row in turn, and a work
 * group as many rows as it has room for. */
#include "row_words.cl.h"

#define SP_ROWS (SP_THREADS / (SP_LANES * SP_WIDTH))

/* The items of a row are in one warp. */
#ifdef GA_HAS_SHUFFLES
#define SP_JOIN ga_warp_barrier()
#else
#define SP_JOIN local_barrier()
#endif

KERNEL void SP_NAME(SP_PARAMETERS) {
  KERNEL_BEGIN;
#if SP_LANES > 1
  LOCAL_MEM SP_WORK sums[SP_THREADS];
#endif
  SP_STARTS;
  (void)parts;
  (void)shift;
  const ga_uint lid = (ga_uint)LID_0, lane = lid / SP_WIDTH % SP_LANES;
  const ga_ulong tiles = (width - 1) / (SP_WIDTH * SP_PER) + 1;
  const ga_ulong blocks = ((rows - 1) / SP_ROWS + 1) * tiles;
  for (ga_ulong block = GID_0; block < blocks; block += GDIM_0) {
    const ga_ulong row = block / tiles * SP_ROWS + lid / (SP_WIDTH * SP_LANES);
    const ga_ulong first = block % tiles * (SP_WIDTH * SP_PER) + lid % SP_WIDTH;
    ga_int is_here = row < rows;
    SP_WORK sum[SP_PER];
    for (ga_int p = 0; p < SP_PER; p++)
      sum[p] = SP_ZERO;
    if (is_here) {
      SP_BOUNDS(row);
      if (end - begin > limit) {
        if (lane == 0 && first == 0)
          SP_LIST_ROW(row);
        is_here = 0;
        end = begin;
      }
      _Pragma("unroll 4") for (ga_ulong k = begin + lane; k < end; k += SP_LANES) {
        const SP_WORK v = SP_LOAD(values[k]);
        const ga_ulong j = (ga_ulong)indices[k];
        if (j < columns) {
          for (ga_int p = 0; p < SP_PER; p++)
            if (SP_WIDTH * SP_PER == 1 || first + p * SP_WIDTH < width)
              sum[p] = SP_ADD(sum[p], SP_TERM(v, j, first + p * SP_WIDTH));
        }
      }
    }
#if SP_LANES > 1
    for (ga_int p = 0; p < SP_PER; p++) {
      SP_JOIN;
      sums[lid] = sum[p];
      for (ga_uint step = SP_LANES / 2; step > 0; step /= 2) {
        SP_JOIN;
        if (lane < step) {
          sum[p] = SP_ADD(sum[p], sums[lid + step * SP_WIDTH]);
          sums[lid] = sum[p];
        }
      }
    }
#endif
    if (is_here && lane == 0)
      for (ga_int p = 0; p < SP_PER; p++)
        if (first + p * SP_WIDTH < width)
          SP_PUT(row, first + p * SP_WIDTH, sum[p]);
  }
}
