/* What is wrong with a sparse matrix, as inspect.cl.h, on processors: each item takes
 * adjacent rows (of COO: values), and looks for a place only where a row has one. The
 * counts are 1 where they are not 0. */
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
  for (ga_ulong row = first; row < last; row++) {
    SP_RANGE(begin, end, lines, n, row);
    ga_int is_out = 0, falls = 0, repeats = 0;
    if (begin < end)
      is_out = (ga_ulong)indices[begin] >= columns;
    ga_ulong k;
    SP_INDEXES are_out = 0, fall = 0, repeat = 0;
    SP_EACH_8(k, begin + 1, end) {
      const SP_INDEXES own = vload8(0, indices + k),
                       before = vload8(0, indices + k - 1);
      are_out |= SP_AS_COUNTS(own) >= (SP_COUNTS)((SP_COUNT)columns);
      fall |= own < before;
      repeat |= own == before;
    }
    is_out |= any(are_out);
    falls |= any(fall);
    repeats |= any(repeat);
    for (; k < end; k++) {
      const SP_INDEX own = indices[k], before = indices[k - 1];
      is_out |= (SP_COUNT)own >= (SP_COUNT)columns;
      falls |= own < before;
      repeats |= own == before;
    }
    if (is_out)
      for (ga_ulong k = begin; k < end; k++)
        if ((ga_ulong)indices[k] >= columns) {
          SP_TELL(3, k)
          break;
        }
    has_fallen |= falls;
    has_repeated |= repeats;
  }
#endif
  if (has_fallen)
    found[4] = 1;
  if (has_repeated)
    found[6] = 1;
}
