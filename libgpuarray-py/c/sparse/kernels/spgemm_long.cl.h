/* Products of two matrices: a work group for each of the rows in `list`, of any number
 * of terms. The columns of a row are bits in memory of the group's own, `words` words,
 * with as many that count the bits before each; so a column knows its place. SP_ROOM
 * terms at a time are sorted, and added to what is in the row. `sums` are the values of
 * the product in the type in which they are summed. */
#define SP_JOIN local_barrier()
#define SP_SPAN SP_THREADS
#define SP_SUM ga_ulong
#include "spgemm_words.cl.h"

/* For each term t of a row, SP_ROOM at a time: opens them, `body` has `some` of them
 * from `done` on, opened at value k of `a`. */
#define SP_EACH_PART(body)                                                             \
  for (SP_COUNT k = begin; k < stop;) {                                                \
    SP_OPEN(k + lane, stop, ~(SP_COUNT)0)                                              \
    const ga_ulong made = ends[SP_SPAN - 1];                                           \
    for (ga_ulong done = 0; done < made; done += SP_ROOM) {                            \
      const ga_uint some = made - done < SP_ROOM ? (ga_uint)(made - done) : SP_ROOM;   \
      body                                                                             \
    }                                                                                  \
    k = stop - k > SP_SPAN ? k + SP_SPAN : stop;                                       \
  }

#define SP_MARK                                                                        \
  for (ga_uint t = lane; t < some; t += SP_SPAN) {                                     \
    SP_OWNER(owner, done + t)                                                          \
    const SP_COUNT from = starts[owner] + (SP_COUNT)(done + t);                        \
    const SP_COUNT column =                                                            \
        from < (SP_COUNT)bn ? (SP_COUNT)b_indices[from] : (SP_COUNT)columns;           \
    if (column < (SP_COUNT)columns)                                                    \
      atom_or_Ig(bits + column / 32, 1u << column % 32);                               \
  }

#define SP_SUM_UP                                                                      \
  for (ga_uint t = lane; t < some; t += SP_SPAN) {                                     \
    SP_TERM(t, done + t, k)                                                            \
  }                                                                                    \
  ga_uint power = 1;                                                                   \
  while (power < some)                                                                 \
    power *= 2;                                                                        \
  for (ga_uint t = some + lane; t < power; t += SP_SPAN)                               \
    keys[t] = ~(SP_KEY)0;                                                              \
  SP_SORT(power);                                                                      \
  for (ga_uint at = lane; at < power; at += SP_SPAN)                                   \
    if (SP_IS_FIRST(at)) {                                                             \
      const SP_COUNT column = (SP_COUNT)SP_COLUMN(at);                                 \
      const ga_uint word = bits[column / 32], below = (1u << column % 32) - 1;         \
      const ga_ulong place = first + before[column / 32] + ga_popcount(word & below);  \
      if (place < room) {                                                              \
        SP_WORK sum = sums[place];                                                     \
        SP_ADD_TERM(sum, at);                                                          \
        for (ga_uint more = at + 1; more < power && SP_COLUMN(more) == (SP_KEY)column; \
             more++)                                                                   \
          SP_ADD_TERM(sum, more);                                                      \
        sums[place] = sum;                                                             \
      }                                                                                \
    }                                                                                  \
  SP_GROUP_BARRIER;

KERNEL void SP_NAME(SP_PARAMETERS) {
  KERNEL_BEGIN;
  SP_MEMORY(1);
  SP_STARTS;
  (void)next;
  bits += GID_0 * 2 * words;
  GLOBAL_MEM ga_uint *before = bits + words;
  const ga_ulong n = ((GLOBAL_MEM const ga_uint *)list)[0];
  for (ga_ulong i = GID_0; i < n && i < rows; i += GDIM_0) {
    const SP_COUNT row = list[1 + i];
    SP_BOUNDS(row);
    SP_EACH_PART(SP_MARK)
    SP_GROUP_BARRIER;
    ga_ulong count = 0;
#if SP_FILLS
    const ga_ulong first = (ga_ulong)counts[row];
#endif
    for (ga_ulong word = 0; word < words; word += SP_SPAN) {
      const ga_uint own = word + lane < words ? bits[word + lane] : 0;
      ends[lane] = (ga_ulong)ga_popcount(own);
      SP_SCAN;
#if SP_FILLS
      const ga_ulong ahead = count + ends[lane] - (ga_ulong)ga_popcount(own);
      if (word + lane < words)
        before[word + lane] = (ga_uint)ahead;
      ga_ulong place = first + ahead;
      for (ga_uint left = own; left != 0 && place < room; left &= left - 1, place++) {
        const ga_uint lowest = left & (0u - left);
        out_indices[place] =
            (SP_INDEX)((word + lane) * 32 + (ga_ulong)ga_popcount(lowest - 1));
        sums[place] = SP_ZERO;
      }
#endif
      count += ends[SP_SPAN - 1];
      local_barrier();
    }
    SP_GROUP_BARRIER;
#if SP_FILLS
    SP_EACH_PART(SP_SUM_UP)
#if SP_IS_NARROW
    for (ga_ulong at = first + lane; at < first + count && at < room; at += SP_SPAN)
      out[at] = SP_STORE(sums[at]);
#endif
#else
    if (lane == 0)
      counts[row] = (ga_long)count;
#endif
    for (ga_ulong word = lane; word < words; word += SP_SPAN)
      bits[word] = 0;
    SP_GROUP_BARRIER;
  }
}
