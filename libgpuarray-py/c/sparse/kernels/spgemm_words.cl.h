/* Products of two matrices, row by row: SP_FILLS 0 counts the values of each row, 1
 * fills them in by the scanned counts. A team of SP_SPAN items takes up to SP_ROOM
 * terms of a row: keys of the column and the term's number are sorted in local memory,
 * and a column is summed by one item, in the order of the terms. Rows of more terms are
 * left to another launch, by a list: their number, then the rows. */
#ifdef CLK_GLOBAL_MEM_FENCE
#define SP_GROUP_BARRIER barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#else
#define SP_GROUP_BARRIER local_barrier()
#endif
#ifdef ga_popcount
#define SP_POPCOUNT(bits) ga_popcount(bits)
#else
#define SP_POPCOUNT(bits) ((int)popcount(bits))
#endif

#define SP_FILLS (SP_FORM % 2)
#define SP_HASHES (!SP_FILLS && SP_INDEX_BITS == 32) /* counts without a sort */
#if SP_HASHES
#define SP_KEYS ga_uint
#else
#define SP_KEYS SP_KEY
#endif
#define SP_IS_ALL (SP_FORM / 2) /* of the first launch: no list */

#define SP_PARAMETERS                                                                  \
  GLOBAL_MEM SP_VALUE *out, ga_size out_off, GLOBAL_MEM SP_INDEX *out_indices,         \
      ga_size out_indices_off, GLOBAL_MEM ga_long *counts, ga_size counts_off,         \
      SP_TWO_MATRICES, GLOBAL_MEM SP_COUNT *list, ga_size list_off,                    \
      GLOBAL_MEM SP_COUNT *next, ga_size next_off, GLOBAL_MEM ga_uint *bits,           \
      ga_size bits_off, GLOBAL_MEM SP_WORK *sums, ga_size sums_off, ga_ulong rows,     \
      ga_ulong inner, ga_ulong columns, ga_ulong an, ga_ulong bn, ga_ulong room,       \
      ga_ulong words
#define SP_STARTS                                                                      \
  SP_WRITTEN(SP_VALUE, out);                                                           \
  SP_WRITTEN(SP_INDEX, out_indices);                                                   \
  SP_WRITTEN(ga_long, counts);                                                         \
  SP_READ_TWO;                                                                         \
  SP_WRITTEN(SP_COUNT, list);                                                          \
  SP_WRITTEN(SP_COUNT, next);                                                          \
  SP_WRITTEN(ga_uint, bits);                                                           \
  SP_WRITTEN(SP_WORK, sums)

/* Of a team: keys, values of the terms; for values of `a` where the row of `b` begins,
 * less the terms before it, and how many terms there are up to its end. */
#define SP_MEMORY(teams)                                                               \
  LOCAL_MEM SP_KEYS all_keys[(teams) * (SP_HASHES ? 2 * SP_ROOM : SP_ROOM)];           \
  LOCAL_MEM SP_WORK all_terms[SP_FILLS ? (teams) * SP_ROOM : 1];                       \
  LOCAL_MEM SP_COUNT all_starts[(teams) * SP_SPAN];                                    \
  LOCAL_MEM SP_SUM all_ends[(teams) * SP_SPAN];                                        \
  const ga_uint lane = (ga_uint)LID_0 % SP_SPAN, team = (ga_uint)LID_0 / SP_SPAN;      \
  LOCAL_MEM_ARG SP_KEYS *keys = all_keys + team * (SP_HASHES ? 2 * SP_ROOM : SP_ROOM); \
  LOCAL_MEM_ARG SP_WORK *terms = all_terms + (SP_FILLS ? team * SP_ROOM : 0);          \
  LOCAL_MEM_ARG SP_COUNT *starts = all_starts + team * SP_SPAN;                        \
  LOCAL_MEM_ARG SP_SUM *ends = all_ends + team * SP_SPAN;                              \
  (void)terms

/* `begin` and `stop` of the values of a row of `a`. */
#define SP_BOUNDS(row)                                                                 \
  SP_COUNT begin = (SP_COUNT)a_indptr[row], stop = (SP_COUNT)a_indptr[(row) + 1];      \
  stop = stop < (SP_COUNT)an ? stop : (SP_COUNT)an;                                    \
  begin = begin < stop ? begin : stop

/* Sums of an array of the team up to each item. */
#if defined(GA_HAS_SHUFFLES) && SP_SPAN > 32
#define SP_WARPS (SP_SPAN / 32)
#define SP_SCAN_OF(sums, type) /* of warps, of their last items, of all */             \
  for (ga_uint apart = 1; apart < 32; apart *= 2) {                                    \
    ga_warp_barrier();                                                                 \
    const type before = lane % 32 >= apart ? sums[lane - apart] : 0;                   \
    ga_warp_barrier();                                                                 \
    sums[lane] += before;                                                              \
  }                                                                                    \
  local_barrier();                                                                     \
  if (lane < 32)                                                                       \
    for (ga_uint apart = 1; apart < SP_WARPS; apart *= 2) {                            \
      const ga_int is_warp = lane >= apart && lane < SP_WARPS;                         \
      ga_warp_barrier();                                                               \
      const type before = is_warp ? sums[32 * (lane - apart) + 31] : 0;                \
      ga_warp_barrier();                                                               \
      if (is_warp)                                                                     \
        sums[32 * lane + 31] += before;                                                \
    }                                                                                  \
  local_barrier();                                                                     \
  if (lane >= 32 && lane % 32 < 31)                                                    \
    sums[lane] += sums[lane / 32 * 32 - 1];                                            \
  local_barrier()
#else
#define SP_SCAN_OF(sums, type)                                                         \
  for (ga_uint apart = 1; apart < SP_SPAN; apart *= 2) {                               \
    SP_JOIN;                                                                           \
    const type before = lane >= apart ? sums[lane - apart] : 0;                        \
    SP_JOIN;                                                                           \
    sums[lane] += before;                                                              \
  }                                                                                    \
  SP_JOIN
#endif
#define SP_SCAN SP_SCAN_OF(ends, SP_SUM)

/* The terms of the values of `a` from k on, of each item one, none from `stop` on; no
 * count is above `most`. */
#define SP_OPEN(k, stop, most)                                                         \
  {                                                                                    \
    SP_COUNT from = 0, length = 0;                                                     \
    if ((k) < (stop)) {                                                                \
      const SP_COUNT row_of_b = (SP_COUNT)a_indices[k];                                \
      if (row_of_b < (SP_COUNT)inner) {                                                \
        SP_COUNT to = (SP_COUNT)b_indptr[row_of_b + 1];                                \
        from = (SP_COUNT)b_indptr[row_of_b];                                           \
        to = to < (SP_COUNT)bn ? to : (SP_COUNT)bn;                                    \
        length = from < to ? to - from : 0;                                            \
        length = length < (most) ? length : (most);                                    \
      }                                                                                \
    }                                                                                  \
    SP_JOIN;                                                                           \
    ends[lane] = (SP_SUM)length;                                                       \
    SP_SCAN;                                                                           \
    starts[lane] = from - (SP_COUNT)(ends[lane] - length);                             \
    SP_JOIN;                                                                           \
  }

/* `owner`: which of the opened values makes term t. */
#define SP_OWNER(owner, t)                                                             \
  ga_uint owner = 0;                                                                   \
  for (ga_uint step = SP_SPAN / 2; step > 0; step /= 2)                                \
    owner += ends[owner + step - 1] <= (t) ? step : 0;

/* Key and value of term t of those that were opened at value `first` of `a`. */
#define SP_TERM(at, t, first)                                                          \
  {                                                                                    \
    SP_OWNER(owner, t)                                                                 \
    const SP_COUNT from = starts[owner] + (SP_COUNT)(t);                               \
    const SP_COUNT column =                                                            \
        from < (SP_COUNT)bn ? (SP_COUNT)b_indices[from] : (SP_COUNT)columns;           \
    keys[at] = column < (SP_COUNT)columns                                              \
                   ? (SP_KEY)column << SP_TERM_BITS | (SP_KEY)(at)                     \
                   : ~(SP_KEY)0;                                                       \
    if (SP_FILLS && column < (SP_COUNT)columns)                                        \
      terms[at] = SP_MUL(SP_LOAD(a[(first) + owner]), SP_LOAD(b[from]));               \
  }

/* A table of 2 SP_ROOM columns, where they have 32 bits: `n_own` are those that an item
 * met first. */
#define SP_CLEAR_TABLE(table)                                                          \
  for (ga_uint i = lane; i < 2 * SP_ROOM; i += SP_SPAN)                                \
    table[i] = ~0u;
#define SP_SLOT(column) ((column) * 0x9e3779b1u >> (31 - SP_TERM_BITS))
#define SP_NEXT_SLOT(at) (((at) + 1) & (2 * SP_ROOM - 1))
/* Column of term t, ~0 for none, and where it is in `b`. */
#define SP_COLUMN_OF_TERM(column, from, t)                                             \
  SP_OWNER(owner, t)                                                                   \
  const SP_COUNT from = starts[owner] + (SP_COUNT)(t);                                 \
  const ga_uint column = from < (SP_COUNT)bn ? (ga_uint)b_indices[from] : ~0u
#define SP_COUNT_COLUMN(table, column)                                                 \
  {                                                                                    \
    ga_uint at = SP_SLOT(column), seen = column;                                       \
    for (ga_uint turn = 0; (column) < (ga_uint)columns && turn < 2 * SP_ROOM;          \
         turn++) {                                                                     \
      seen = atom_cas_Il(&table[at], ~0u, column);                                     \
      if (seen == ~0u || seen == (column))                                             \
        break;                                                                         \
      at = SP_NEXT_SLOT(at);                                                           \
    }                                                                                  \
    n_own += seen == ~0u && (column) < (ga_uint)columns;                               \
  }
#define SP_COUNT_TERM(table, t)                                                        \
  {                                                                                    \
    SP_COLUMN_OF_TERM(column, from, t);                                                \
    SP_COUNT_COLUMN(table, column)                                                     \
  }
#define SP_PUT_COUNT(row, is_here)                                                     \
  SP_JOIN;                                                                             \
  ends[lane] = n_own;                                                                  \
  SP_SCAN;                                                                             \
  if (is_here && lane == SP_SPAN - 1)                                                  \
    counts[row] = (ga_long)ends[lane];                                                 \
  SP_JOIN;

/* Sorts `power` keys, a power of 2. */
#define SP_SORT(power)                                                                 \
  for (ga_uint size = 2; size <= (power); size *= 2)                                   \
    for (ga_uint apart = size / 2; apart > 0; apart /= 2) {                            \
      SP_JOIN;                                                                         \
      for (ga_uint i = lane; i < (power) / 2; i += SP_SPAN) {                          \
        const ga_uint low = 2 * i - (i & (apart - 1)), high = low + apart;             \
        const SP_KEY x = keys[low], y = keys[high];                                    \
        if ((x > y) == ((low & size) == 0)) {                                          \
          keys[low] = y;                                                               \
          keys[high] = x;                                                              \
        }                                                                              \
      }                                                                                \
    }                                                                                  \
  SP_JOIN

/* The column of a sorted key, and whether it is the first of its column. */
#define SP_COLUMN(at) (keys[at] >> SP_TERM_BITS)
#define SP_IS_FIRST(at)                                                                \
  (keys[at] != ~(SP_KEY)0 && ((at) == 0 || SP_COLUMN(at) != SP_COLUMN((at) - 1)))
#define SP_ADD_TERM(sum, at)                                                           \
  sum = SP_ADD(sum, terms[keys[at] & (((SP_KEY)1 << SP_TERM_BITS) - 1)])
#define SP_FIRST_TERM(at) terms[keys[at] & (((SP_KEY)1 << SP_TERM_BITS) - 1)]

/* Counts the columns of the sorted keys, or fills them in behind those before the row:
 * each item has a few adjacent keys. */
#define SP_FINISH(row, power, is_here)                                                 \
  {                                                                                    \
    const ga_uint own = (power) > SP_SPAN ? (power) / SP_SPAN : 1;                     \
    const ga_uint from = lane * own, to = from < (power) ? from + own : from;          \
    ga_uint n_own = 0;                                                                 \
    for (ga_uint at = from; at < to; at++)                                             \
      n_own += SP_IS_FIRST(at);                                                        \
    ends[lane] = n_own;                                                                \
    SP_SCAN;                                                                           \
    SP_PUT_ROW(row, power, is_here)                                                    \
    SP_JOIN;                                                                           \
  }
#if SP_FILLS
#define SP_PUT_ROW(row, power, is_here)                                                \
  if (is_here && n_own > 0) {                                                          \
    ga_ulong place = (ga_ulong)counts[row] + ends[lane] - n_own;                       \
    for (ga_uint at = from; at < to; at++)                                             \
      if (SP_IS_FIRST(at) && place < room) {                                           \
        SP_WORK sum = SP_FIRST_TERM(at);                                               \
        const SP_KEY column = SP_COLUMN(at);                                           \
        for (ga_uint more = at + 1;                                                    \
             more < SP_ROOM && more < (power) && SP_COLUMN(more) == column; more++)    \
          SP_ADD_TERM(sum, more);                                                      \
        out[place] = SP_STORE(sum);                                                    \
        out_indices[place++] = (SP_INDEX)column;                                       \
      }                                                                                \
  }
#else
#define SP_PUT_ROW(row, power, is_here)                                                \
  if (is_here && lane == SP_SPAN - 1)                                                  \
    counts[row] = (ga_long)ends[lane];
#endif

#define SP_LIST(list, row)                                                             \
  {                                                                                    \
    const ga_uint at = atom_add_Ig((GLOBAL_MEM ga_uint *)(list), 1);                   \
    if (at < rows)                                                                     \
      (list)[1 + at] = (SP_COUNT)(row);                                                \
  }
