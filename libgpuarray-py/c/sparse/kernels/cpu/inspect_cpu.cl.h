/* What is wrong with a sparse matrix, as inspect.cl.h, on processors: each item takes
 * adjacent rows (of COO: values), and goes through them one by one only where some
 * value of its share is out of range or does not ascend. The counts are 1 where they
 * are not 0. */
#include "shares_cpu.cl.h"

#define SP_TELL(word, place)                                                           \
  {                                                                                    \
    const ga_uint told = (ga_uint)((ga_ulong)(place) >> shift);                        \
    if (told < found[word])                                                            \
      atom_min_Ig(found + word, told);                                                 \
  }
#define SP_BEGIN(row) lines[row]

KERNEL void SP_NAME(GLOBAL_MEM ga_uint *found, ga_size found_off,
                    GLOBAL_MEM const SP_INDEX *indices, ga_size indices_off,
                    GLOBAL_MEM const SP_INDEX *lines, ga_size lines_off, ga_ulong rows,
                    ga_ulong columns, ga_ulong n, ga_uint shift) {
  KERNEL_BEGIN;
  SP_WRITTEN(ga_uint, found);
  SP_READ(SP_INDEX, indices);
  SP_READ(SP_INDEX, lines);
  ga_int has_fallen = 0, has_repeated = 0;
#if SP_FORM
  SP_EACH(k, n) {
    const SP_INDEX own = indices[k], line = lines[k];
    const SP_INDEX before = k > 0 ? indices[k - 1] : -1;
    const SP_INDEX line_before = k > 0 ? lines[k - 1] : -1;
    if ((ga_ulong)own >= columns)
      SP_TELL(3, k)
    if ((ga_ulong)line >= rows)
      SP_TELL(2, k)
    has_fallen |= line < line_before || (line == line_before && own < before);
    has_repeated |= line == line_before && own == before;
  }
#else
  SP_EACH(row, rows + 1) {
    if ((row == 0 && lines[0] != 0) || (row == rows && (ga_ulong)lines[row] != n))
      SP_TELL(0, row)
    if (row > 0 && lines[row] < lines[row - 1])
      SP_TELL(1, row)
  }
  SP_SHARE(first, GID_0, GDIM_0, rows, n, SP_BEGIN)
  SP_SHARE(last, GID_0 + 1, GDIM_0, rows, n, SP_BEGIN)
  /* All values of the share that do not ascend, but for the first ones of rows. */
  const ga_ulong to = (ga_ulong)lines[last] < n ? (ga_ulong)lines[last] : n;
  const ga_ulong from = (ga_ulong)lines[first] < to ? (ga_ulong)lines[first] : to;
  ga_ulong k = from + 1;
  ga_long falls_in_rows = 0;
  ga_int has_flaw = from < to && (ga_ulong)indices[from] >= columns;
  SP_INDEXES out_of_columns = 0, falling = 0;
  for (; k + 8 <= to; k += 8) {
    const SP_INDEXES own = vload8(0, indices + k), before = vload8(0, indices + k - 1);
    out_of_columns |= SP_AS_COUNTS(own) >= (SP_COUNTS)((SP_COUNT)columns);
    falling += own <= before; /* -1 of each */
  }
  has_flaw |= any(out_of_columns);
  SP_INDEX counts[8];
  vstore8(falling, 0, counts);
  for (ga_uint u = 0; u < 8; u++)
    falls_in_rows -= counts[u];
  for (; k < to; k++) {
    has_flaw |= (SP_COUNT)indices[k] >= (SP_COUNT)columns;
    falls_in_rows += indices[k] <= indices[k - 1];
  }
  for (ga_ulong row = first + 1; row < last; row++) {
    const ga_ulong begin = (ga_ulong)lines[row];
    if (begin > from && begin < to && begin < (ga_ulong)lines[row + 1])
      falls_in_rows -= indices[begin] <= indices[begin - 1];
  }
  if (falls_in_rows != 0 || has_flaw)
    for (ga_ulong row = first; row < last; row++) {
      SP_RANGE(begin, end, lines, n, row);
      for (ga_ulong k = begin; k < end; k++) {
        const SP_INDEX own = indices[k], before = k > begin ? indices[k - 1] : -1;
        if ((ga_ulong)own >= columns)
          SP_TELL(3, k)
        has_fallen |= own < before;
        has_repeated |= own == before;
      }
    }
#endif
  if (has_fallen)
    found[4] = 1;
  if (has_repeated)
    found[6] = 1;
}
