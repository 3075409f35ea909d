/* Products of two matrices: work groups for each of the rows in `list`, of any number
 * of terms. Each takes a part of the columns: a row has one for every SP_PART of its
 * values, up to SP_PARTS. The columns of a row are bits in memory
 * of the group's own, `words` words, with as many that count the bits before each; so a
 * column knows its place. The terms of the part, in order, SP_ROOM at a time, are
 * sorted and added to what is in the row. `sums` are the values of the product in the
 * type in which they are summed. */
#define SP_JOIN local_barrier()
#define SP_SPAN SP_THREADS
#define SP_SUM ga_ulong
#include "spgemm_words.cl.h"

#define SP_PARTS (SP_IS_CPU || !SP_FILLS ? 1 : 32)
#define SP_PART 256
#define SP_AHEAD (SP_ROOM < 4 * SP_SPAN ? SP_ROOM / SP_SPAN : 4)
#define SP_CHUNK (SP_AHEAD * SP_SPAN) /* terms, no more than SP_ROOM */

/* For the terms of a row, as many as are opened at once: `made` of them, opened at
 * value k of `a`. */
#define SP_EACH_OPENED(body)                                                           \
  for (SP_COUNT k = begin; k < stop;) {                                                \
    SP_OPEN(k + lane, stop, ~(SP_COUNT)0)                                              \
    const ga_ulong made = ends[SP_SPAN - 1];                                           \
    body k = stop - k > SP_SPAN ? k + SP_SPAN : stop;                                  \
  }

/* The columns of `ahead` terms, `t` and every `apart`-th from it on; `columns` for
 * none. */
#define SP_LOOK_AHEAD(ahead, t, apart)                                                 \
  SP_COUNT column[ahead], from[ahead];                                                 \
  ga_uint owners[ahead];                                                               \
  for (ga_uint u = 0; u < ahead; u++) {                                                \
    const ga_ulong term = (t) + u * (apart);                                           \
    SP_OWNER(owner, term)                                                              \
    owners[u] = owner;                                                                 \
    from[u] = starts[owner] + (SP_COUNT)term;                                          \
    column[u] = term < made && from[u] < (SP_COUNT)bn ? (SP_COUNT)b_indices[from[u]]   \
                                                      : (SP_COUNT)columns;             \
  }

/* Marks the columns below the end of the part. */
#define SP_MARK                                                                        \
  for (ga_ulong t = lane; t < made; t += 4 * SP_SPAN) {                                \
    SP_LOOK_AHEAD(4, t, SP_SPAN)                                                       \
    (void)owners;                                                                      \
    for (ga_uint u = 0; u < 4; u++)                                                    \
      if (column[u] < (SP_COUNT)columns && column[u] / 32 < last_word)                 \
        atom_or_Ig(bits + column[u] / 32, 1u << column[u] % 32);                       \
  }

/* Puts the terms of the part behind the `held` ones, each item those of SP_AHEAD
 * adjacent ones. */
#define SP_COLLECT                                                                     \
  for (ga_ulong done = 0; done < made; done += SP_CHUNK) {                             \
    SP_LOOK_AHEAD(SP_AHEAD, done + lane * SP_AHEAD, 1)                                 \
    ga_uint n_own = 0;                                                                 \
    for (ga_uint u = 0; u < SP_AHEAD; u++) {                                           \
      const ga_int is_own = column[u] < (SP_COUNT)columns &&                           \
                            column[u] / 32 >= first_word &&                            \
                            column[u] / 32 < last_word;                                \
      column[u] = is_own ? column[u] : (SP_COUNT)columns;                              \
      n_own += (ga_uint)is_own;                                                        \
    }                                                                                  \
    fresh[lane] = n_own;                                                               \
    SP_SCAN_OF(fresh, ga_uint);                                                        \
    const ga_uint n_fresh = fresh[SP_SPAN - 1];                                        \
    if (held + n_fresh > SP_ROOM) {                                                    \
      SP_SUM_UP                                                                        \
      held = 0;                                                                        \
    }                                                                                  \
    ga_uint at = held + fresh[lane] - n_own;                                           \
    for (ga_uint u = 0; u < SP_AHEAD; u++)                                             \
      if (column[u] < (SP_COUNT)columns) {                                             \
        keys[at] = (SP_KEY)column[u] << SP_TERM_BITS | (SP_KEY)at;                     \
        terms[at++] = SP_MUL(SP_LOAD(a[k + owners[u]]), SP_LOAD(b[from[u]]));          \
      }                                                                                \
    held += n_fresh;                                                                   \
    local_barrier();                                                                   \
  }

/* Adds the `held` terms to the row. */
#define SP_SUM_UP                                                                      \
  {                                                                                    \
    ga_uint power = 1;                                                                 \
    while (power < held)                                                               \
      power *= 2;                                                                      \
    for (ga_uint t = held + lane; t < power; t += SP_SPAN)                             \
      keys[t] = ~(SP_KEY)0;                                                            \
    SP_SORT(power);                                                                    \
    for (ga_uint at = lane; at < power; at += SP_SPAN)                                 \
      if (SP_IS_FIRST(at)) {                                                           \
        const SP_COUNT column = (SP_COUNT)SP_COLUMN(at);                               \
        const ga_uint word = bits[column / 32], below = (1u << column % 32) - 1;       \
        const ga_ulong place =                                                         \
            first + before[column / 32] + SP_POPCOUNT(word & below);                   \
        if (place < room) {                                                            \
          SP_WORK sum = sums[place];                                                   \
          SP_ADD_TERM(sum, at);                                                        \
          for (ga_uint more = at + 1;                                                  \
               more < power && SP_COLUMN(more) == (SP_KEY)column; more++)              \
            SP_ADD_TERM(sum, more);                                                    \
          sums[place] = sum;                                                           \
        }                                                                              \
      }                                                                                \
    SP_GROUP_BARRIER;                                                                  \
  }

KERNEL_SIZED(SP_THREADS, 1) void SP_NAME(SP_PARAMETERS) {
  KERNEL_BEGIN;
  SP_MEMORY(1);
#if SP_FILLS
  LOCAL_MEM ga_uint fresh[SP_SPAN];
#endif
  SP_STARTS;
  (void)next;
  bits += GID_0 * 2 * words;
  const ga_ulong given = ((GLOBAL_MEM const ga_uint *)list)[0];
  const ga_ulong n = given < rows ? given : rows;
  for (ga_ulong i = GID_0; i < n * SP_PARTS; i += GDIM_0) {
    const SP_COUNT row = list[1 + i / SP_PARTS], part = (SP_COUNT)(i % SP_PARTS);
    SP_BOUNDS(row);
    const SP_COUNT most = (stop - begin) / SP_PART;
    const SP_COUNT parts = most < 1 ? 1 : most < SP_PARTS ? most : SP_PARTS;
    const ga_ulong size = (words - 1) / parts + 1, first_word = part * size;
    if (part >= parts || first_word >= words)
      continue;
    const ga_ulong last_word = words - first_word > size ? first_word + size : words;
    SP_EACH_OPENED(SP_MARK)
    SP_GROUP_BARRIER;
    ga_ulong count = 0;
#if SP_FILLS
    GLOBAL_MEM ga_uint *before = bits + words;
    const ga_ulong first = (ga_ulong)counts[row];
    for (ga_ulong word = lane; word < first_word; word += SP_SPAN)
      count += (ga_ulong)SP_POPCOUNT(bits[word]);
    ends[lane] = count;
    SP_SCAN;
    count = ends[SP_SPAN - 1];
    const ga_ulong n_below = count;
    (void)n_below; /* of types that are summed in themselves */
    local_barrier();
#endif
    for (ga_ulong word = first_word; word < last_word; word += SP_SPAN) {
      const ga_uint own = word + lane < last_word ? bits[word + lane] : 0;
      ends[lane] = (ga_ulong)SP_POPCOUNT(own);
      SP_SCAN;
#if SP_FILLS
      const ga_ulong ahead = count + ends[lane] - (ga_ulong)SP_POPCOUNT(own);
      if (word + lane < last_word)
        before[word + lane] = (ga_uint)ahead;
      ga_ulong place = first + ahead;
      for (ga_uint left = own; left != 0 && place < room; left &= left - 1, place++) {
        const ga_uint lowest = left & (0u - left);
        out_indices[place] =
            (SP_INDEX)((word + lane) * 32 + (ga_ulong)SP_POPCOUNT(lowest - 1));
        sums[place] = SP_ZERO;
      }
#endif
      count += ends[SP_SPAN - 1];
      local_barrier();
    }
    SP_GROUP_BARRIER;
#if SP_FILLS
    ga_uint held = 0;
    SP_EACH_OPENED(SP_COLLECT)
    SP_SUM_UP
#if SP_IS_NARROW
    for (ga_ulong at = first + n_below + lane; at < first + count && at < room;
         at += SP_SPAN)
      out[at] = SP_STORE(sums[at]);
#endif
#else
    if (lane == 0)
      counts[row] = (ga_long)count;
#endif
    for (ga_ulong word = lane; word < last_word; word += SP_SPAN)
      bits[word] = 0;
    SP_GROUP_BARRIER;
  }
}
