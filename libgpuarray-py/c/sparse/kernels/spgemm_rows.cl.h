/* Products of two matrices: a team of SP_LANES items for each row of at most as many
 * values and SP_ROOM terms; the other rows go to the list `next`. */
#ifdef GA_HAS_SHUFFLES
#define SP_JOIN ga_warp_barrier()
#else
#define SP_JOIN local_barrier()
#endif
#define SP_SPAN SP_LANES
#define SP_SUM ga_uint
#include "spgemm_words.cl.h"
#define SP_TEAMS (SP_THREADS / SP_LANES)

KERNEL void SP_NAME(SP_PARAMETERS) {
  KERNEL_BEGIN;
  SP_MEMORY(SP_TEAMS);
  SP_STARTS;
  (void)list;
  (void)bits;
  (void)sums;
  (void)words;
  const SP_COUNT blocks = ((SP_COUNT)rows - 1) / SP_TEAMS + 1;
  for (SP_COUNT block = (SP_COUNT)GID_0; block < blocks; block += (SP_COUNT)GDIM_0) {
    const SP_COUNT given = block * SP_TEAMS + (ga_uint)LID_0 / SP_LANES;
    const SP_COUNT row = given < (SP_COUNT)rows ? given : 0;
    SP_BOUNDS(row);
    const ga_int is_short = stop - begin <= SP_LANES;
    SP_OPEN(begin + lane, is_short ? stop : begin, (SP_COUNT)SP_ROOM + 1)
    const ga_uint made = ends[SP_SPAN - 1];
    const ga_int is_here = given < (SP_COUNT)rows && is_short && made <= SP_ROOM;
    if (given < (SP_COUNT)rows && !is_here && lane == 0)
      SP_LIST(next, row)
#if SP_HASHES
    ga_uint n_own = 0;
    SP_CLEAR_TABLE
    SP_JOIN;
    for (ga_uint t = lane; t < made && is_here; t += SP_SPAN)
      SP_COUNT_TERM(t)
    SP_PUT_COUNT(row, is_here)
#else
    /* Where items are no warp, all teams do as much as the one with the most terms. */
    ga_uint power = SP_ROOM;
#ifdef GA_HAS_SHUFFLES
    power = SP_LANES;
    while (power < made && power < SP_ROOM)
      power *= 2;
#endif
    for (ga_uint t = lane; t < power; t += SP_SPAN) {
      if (is_here && t < made)
        SP_TERM(t, t, begin)
      else
        keys[t] = ~(SP_KEY)0;
    }
    SP_SORT(power);
    SP_FINISH(row, power, is_here)
#endif
  }
}
