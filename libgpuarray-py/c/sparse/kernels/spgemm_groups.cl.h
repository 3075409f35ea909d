/* Products of two matrices: a work group for each row of at most SP_ROOM terms, of
 * those in `list`, or with SP_IS_ALL of all; the other rows go to the list `next`. */
#define SP_JOIN local_barrier()
#define SP_SPAN SP_THREADS
#define SP_SUM ga_uint
#include "spgemm_words.cl.h"
#if SP_HASHES
#define SP_TAKE(at, t, first) SP_COUNT_TERM(keys, t)
#else
#define SP_TAKE(at, t, first) SP_TERM(at, t, first)
#endif

KERNEL void SP_NAME(SP_PARAMETERS) {
  KERNEL_BEGIN;
  SP_MEMORY(1);
  SP_STARTS;
  (void)bits;
  (void)sums;
  (void)words;
#if SP_IS_ALL
  const ga_ulong n = rows;
#else
  const ga_ulong n = ((GLOBAL_MEM const ga_uint *)list)[0];
#endif
  for (ga_ulong i = GID_0; i < n && i < rows; i += GDIM_0) {
    const SP_COUNT row = SP_IS_ALL ? (SP_COUNT)i : list[1 + i];
    SP_BOUNDS(row);
    ga_uint made = 0;
#if SP_HASHES
    ga_uint n_own = 0;
    SP_CLEAR_TABLE(keys)
#endif
    SP_COUNT k = begin;
    while (k < stop && made <= SP_ROOM) {
      SP_OPEN(k + lane, stop, (SP_COUNT)SP_ROOM + 1)
      const ga_uint more = ends[SP_SPAN - 1];
      if (more <= SP_ROOM - made)
        for (ga_uint t = lane; t < more; t += SP_SPAN)
          SP_TAKE(made + t, t, k)
      made += more;
      k = stop - k > SP_SPAN ? k + SP_SPAN : stop;
    }
    if (made > SP_ROOM) {
      if (lane == 0)
        SP_LIST(next, row)
      local_barrier();
      continue;
    }
#if SP_HASHES
    SP_PUT_COUNT(row, 1)
#else
    ga_uint power = 1;
    while (power < made)
      power *= 2;
    for (ga_uint t = made + lane; t < power; t += SP_SPAN)
      keys[t] = ~(SP_KEY)0;
    local_barrier();
    SP_SORT(power);
    SP_FINISH(row, made > 0 ? power : 0, 1)
#endif
  }
}
