/* Sums of the pieces of long rows, one column: SP_LANES items for each row. */
#include "row_words.cl.h"

#define SP_AHEAD 4
#define SP_TEAMS (SP_THREADS / SP_LANES)

KERNEL void SP_NAME(SP_PARAMETERS) {
  KERNEL_BEGIN;
  LOCAL_MEM SP_WORK sums[SP_THREADS];
  SP_STARTS;
  (void)shift;
  (void)limit;
  const ga_uint lid = (ga_uint)LID_0, lane = lid % SP_LANES;
  const ga_ulong given = ((GLOBAL_MEM const ga_uint *)list)[1];
  const ga_ulong n_rows = given < room ? given : room;
  for (ga_ulong first = GID_0 * SP_TEAMS; first < n_rows; first += GDIM_0 * SP_TEAMS) {
    const ga_ulong own = first + lid / SP_LANES;
    const ga_ulong entry = own < n_rows ? list[2 + 2 * room + own] : room;
    const ga_ulong row = entry < room ? list[2 + 2 * entry] : rows;
    SP_WORK sum = SP_ZERO;
    if (row < rows) {
      SP_BOUNDS(row);
      const ga_ulong pieces = end > begin ? (end - begin - 1) / piece_size + 1 : 0;
      const ga_ulong left = room - entry, n_own = pieces < left ? pieces : left;
      for (ga_ulong k = lane; k < n_own; k += SP_AHEAD * SP_LANES) {
        SP_WORK part[SP_AHEAD];
#pragma unroll
        for (ga_uint u = 0; u < SP_AHEAD; u++)
          part[u] =
              k + u * SP_LANES < n_own ? parts[entry + k + u * SP_LANES] : SP_ZERO;
#pragma unroll
        for (ga_uint u = 0; u < SP_AHEAD; u++)
          sum = SP_ADD(sum, part[u]);
      }
    }
    sums[lid] = sum;
    for (ga_uint step = SP_LANES / 2; step > 0; step /= 2) {
      local_barrier();
      if (lane < step) {
        sum = SP_ADD(sum, sums[lid + step]);
        sums[lid] = sum;
      }
    }
    if (row < rows && lane == 0)
      SP_PUT(row, 0, sum);
    local_barrier();
  }
}
