/* Products of two matrices: a team of SP_LANES items for each row, where it has at most
 * as many values and SP_ROOM terms, which are sorted; or, where indices have 32 bits,
 * at most SP_ROOM columns, in a table, to which the terms are added in order, SP_LANES
 * at a time. The other rows go to the list `next`. Items that are no warp are a group.
 */
#ifdef GA_HAS_SHUFFLES
#define SP_JOIN ga_warp_barrier()
#define SP_VOTE(yes, own) yes = ga_ballot(own) != 0
#else
#define SP_JOIN local_barrier()
#define SP_VOTE(yes, own)                                                              \
  {                                                                                    \
    local_barrier();                                                                   \
    if (lane == 0)                                                                     \
      used[team] = 0;                                                                  \
    local_barrier();                                                                   \
    if (own)                                                                           \
      used[team] = 1;                                                                  \
    local_barrier();                                                                   \
    yes = used[team] != 0;                                                             \
  }
#endif
#define SP_SPAN SP_LANES
#define SP_SUM ga_uint
#include "spgemm_words.cl.h"
#define SP_TEAMS (SP_THREADS / SP_LANES)
#define SP_HAS_TABLE (SP_INDEX_BITS == 32)
#define SP_MANY                                                                        \
  (1u << 26) /* terms, so that sums of them are no larger than 32 bits                 \
              */

/* Puts the columns of a row into the table, until there are too many: a full table
 * takes no more. What was counted before is looked at once, behind all terms. */
#define SP_AHEAD 4
#define SP_FILL_TABLE(table)                                                           \
  SP_CLEAR_TABLE(table)                                                                \
  if (lane == 0)                                                                       \
    used[team] = 0;                                                                    \
  for (SP_COUNT k = begin; k < stop && !is_long; k += SP_LANES) {                      \
    SP_OPEN(k + lane, stop, SP_MANY)                                                   \
    const ga_uint made = ends[SP_SPAN - 1];                                            \
    is_long = made >= SP_MANY;                                                         \
    for (ga_uint done = 0; done < made && !is_long; done += SP_AHEAD * SP_LANES) {     \
      ga_uint column[SP_AHEAD];                                                        \
      for (ga_uint u = 0; u < SP_AHEAD; u++) {                                         \
        const ga_uint t = done + u * SP_LANES + lane;                                  \
        column[u] = ~0u;                                                               \
        if (t < made) {                                                                \
          SP_COLUMN_OF_TERM(found, from, t);                                           \
          column[u] = found;                                                           \
        }                                                                              \
      }                                                                                \
      for (ga_uint u = 0; u < SP_AHEAD && !is_long; u += 2) {                          \
        SP_COUNT_COLUMN(table, column[u])                                              \
        SP_COUNT_COLUMN(table, column[u + 1])                                          \
        if (!SP_FILLS) {                                                               \
          SP_SEE_USED                                                                  \
        }                                                                              \
      }                                                                                \
    }                                                                                  \
  }                                                                                    \
  if (SP_FILLS) {                                                                      \
    SP_SEE_USED                                                                        \
  }                                                                                    \
  SP_JOIN
#define SP_SEE_USED                                                                    \
  if (n_own > 0)                                                                       \
    atom_add_Il(&used[team], n_own);                                                   \
  n_own = 0;                                                                           \
  SP_JOIN;                                                                             \
  is_long |= used[team] > SP_ROOM;                                                     \
  SP_JOIN;

/* The columns of the table, sorted, to `keys`, and to `ranks` where each is. */
#define SP_RANK_COLUMNS                                                                \
  {                                                                                    \
    const ga_uint part = 2 * SP_ROOM / SP_LANES;                                       \
    ga_uint some = 0;                                                                  \
    for (ga_uint at = lane * part; at < (lane + 1) * part; at++)                       \
      some += table[at] != ~0u;                                                        \
    ends[lane] = some;                                                                 \
    SP_SCAN;                                                                           \
    some = ends[lane] - some;                                                          \
    for (ga_uint at = lane * part; at < (lane + 1) * part; at++)                       \
      if (table[at] != ~0u)                                                            \
        keys[some++] = table[at];                                                      \
    ga_uint power = SP_LANES;                                                          \
    while (power < n_columns)                                                          \
      power *= 2;                                                                      \
    for (ga_uint at = n_columns + lane; at < power; at += SP_LANES)                    \
      keys[at] = ~(SP_KEY)0;                                                           \
    SP_SORT(power);                                                                    \
    for (ga_uint rank = lane; rank < n_columns; rank += SP_LANES) {                    \
      ga_uint at = SP_SLOT((ga_uint)keys[rank]);                                       \
      while (table[at] != (ga_uint)keys[rank])                                         \
        at = SP_NEXT_SLOT(at);                                                         \
      ranks[at] = (ga_ubyte)rank;                                                      \
      terms[rank] = SP_ZERO;                                                           \
      tags[rank] = ~0u;                                                                \
    }                                                                                  \
  }                                                                                    \
  SP_JOIN

/* Adds the terms of a row to its columns. Of those at hand that meet in a column, the
 * first is added in the first round, and so on: tags are below all earlier ones. */
#define SP_ADD_TERMS                                                                   \
  {                                                                                    \
    ga_uint epoch = 0xffffffe0u;                                                       \
    for (SP_COUNT k = begin; k < stop; k += SP_LANES) {                                \
      SP_OPEN(k + lane, stop, SP_MANY)                                                 \
      const ga_uint made = ends[SP_SPAN - 1];                                          \
      for (ga_uint done = 0; done < made; done += SP_LANES) {                          \
        ga_uint rank = 0;                                                              \
        ga_int is_open = done + lane < made;                                           \
        SP_WORK term = SP_ZERO;                                                        \
        if (is_open) {                                                                 \
          SP_COLUMN_OF_TERM(column, from, done + lane);                                \
          is_open = column < (ga_uint)columns;                                         \
          if (is_open) {                                                               \
            ga_uint at = SP_SLOT(column);                                              \
            while (table[at] != column)                                                \
              at = SP_NEXT_SLOT(at);                                                   \
            rank = ranks[at];                                                          \
            term = SP_MUL(SP_LOAD(a[k + owner]), SP_LOAD(b[from]));                    \
          }                                                                            \
        }                                                                              \
        for (ga_int some = 1; some; epoch -= 32) {                                     \
          if (is_open)                                                                 \
            atom_min_Il(&tags[rank], epoch | lane);                                    \
          SP_JOIN;                                                                     \
          if (is_open && tags[rank] == (epoch | lane)) {                               \
            terms[rank] = SP_ADD(terms[rank], term);                                   \
            is_open = 0;                                                               \
          }                                                                            \
          SP_VOTE(some, is_open);                                                      \
        }                                                                              \
      }                                                                                \
    }                                                                                  \
  }                                                                                    \
  SP_JOIN

KERNEL void SP_NAME(SP_PARAMETERS) {
  KERNEL_BEGIN;
  SP_MEMORY(SP_TEAMS);
#if SP_HAS_TABLE
  LOCAL_MEM ga_uint used[SP_TEAMS];
#if SP_FILLS
  LOCAL_MEM ga_uint all_tables[SP_TEAMS * 2 * SP_ROOM];
  LOCAL_MEM ga_ubyte all_ranks[SP_TEAMS * 2 * SP_ROOM];
  LOCAL_MEM ga_uint all_tags[SP_TEAMS * SP_ROOM];
  LOCAL_MEM_ARG ga_uint *table = all_tables + team * 2 * SP_ROOM;
  LOCAL_MEM_ARG ga_ubyte *ranks = all_ranks + team * 2 * SP_ROOM;
  LOCAL_MEM_ARG ga_uint *tags = all_tags + team * SP_ROOM;
#endif
#endif
  SP_STARTS;
  (void)list;
  (void)bits;
  (void)sums;
  (void)words;
  const SP_COUNT blocks = ((SP_COUNT)rows - 1) / SP_TEAMS + 1;
  for (SP_COUNT block = (SP_COUNT)GID_0; block < blocks; block += (SP_COUNT)GDIM_0) {
    const SP_COUNT given = block * SP_TEAMS + team, last = (SP_COUNT)rows - 1;
    const SP_COUNT row = given <= last ? given : last;
    SP_BOUNDS(row);
    stop = given <= last ? stop : begin;
#if SP_HAS_TABLE && !SP_FILLS
    ga_uint n_own = 0;
    ga_int is_long = 0;
    SP_JOIN;
    SP_FILL_TABLE(keys);
    if (lane == 0 && given <= last) {
      if (is_long)
        SP_LIST(next, row)
      else
        counts[row] = (ga_long)used[team];
    }
#else
    const ga_int is_short = stop - begin <= SP_LANES;
    SP_OPEN(begin + lane, is_short ? stop : begin, (SP_COUNT)SP_ROOM + 1)
    const ga_uint made = ends[SP_SPAN - 1];
    const ga_int is_here = is_short && made <= SP_ROOM;
#if SP_HAS_TABLE
    if (!is_here) {
      ga_uint n_own = 0;
      ga_int is_long = counts[row + 1] - counts[row] > SP_ROOM;
      SP_FILL_TABLE(table);
      const ga_uint n_columns = used[team];
      SP_JOIN;
      if (is_long) {
        if (lane == 0)
          SP_LIST(next, row)
        continue;
      }
      SP_RANK_COLUMNS;
      SP_ADD_TERMS;
      for (ga_uint rank = lane; rank < n_columns; rank += SP_LANES) {
        const ga_ulong place = (ga_ulong)counts[row] + rank;
        if (place < room) {
          out[place] = SP_STORE(terms[rank]);
          out_indices[place] = (SP_INDEX)keys[rank];
        }
      }
      continue;
    }
#else
    if (!is_here && lane == 0)
      SP_LIST(next, row)
#endif
    /* Where items are no warp, all teams do as much as the one with the most terms. */
    ga_uint power = SP_ROOM;
#if defined(GA_HAS_SHUFFLES) || SP_HAS_TABLE
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
    SP_FINISH(row, power, is_here && given <= last)
#endif
  }
}
