/* What is wrong with a sparse matrix: for each kind of mistake the first place, divided
 * by 2^shift, in a word that begins as all ones. SP_FORM 1: COO, `lines` are the rows
 * of the values. Words: indptr does not begin at 0 or end at n; indptr descends; a row
 * of COO, an index out of range; not sorted; not sorted or a duplicate. */
#define SP_TELL(word, place)                                                           \
  {                                                                                    \
    const ga_uint told = (ga_uint)((ga_ulong)(place) >> shift);                        \
    if (told < found[word])                                                            \
      atom_min_Ig(found + word, told);                                                 \
  }

KERNEL void SP_NAME(GLOBAL_MEM ga_uint *found, ga_size found_off,
                    GLOBAL_MEM const SP_INDEX *indices, ga_size indices_off,
                    GLOBAL_MEM const SP_INDEX *lines, ga_size lines_off, ga_ulong rows,
                    ga_ulong columns, ga_ulong n, ga_uint shift) {
  KERNEL_BEGIN;
  found = (GLOBAL_MEM ga_uint *)((GLOBAL_MEM char *)found + found_off);
  indices =
      (GLOBAL_MEM const SP_INDEX *)((GLOBAL_MEM const char *)indices + indices_off);
  lines = (GLOBAL_MEM const SP_INDEX *)((GLOBAL_MEM const char *)lines + lines_off);
#if !SP_FORM
  SP_EACH(row, rows + 1) {
    if ((row == 0 && lines[0] != 0) || (row == rows && (ga_ulong)lines[row] != n))
      SP_TELL(0, row)
    if (row > 0 && lines[row] < lines[row - 1])
      SP_TELL(1, row)
  }
#endif
  SP_EACH(k, n) {
    const SP_INDEX own = indices[k], before = k > 0 ? indices[k - 1] : -1;
    if ((ga_ulong)own >= columns)
      SP_TELL(3, k)
#if SP_FORM
    const SP_INDEX line = lines[k], line_before = k > 0 ? lines[k - 1] : -1;
    if ((ga_ulong)line >= rows)
      SP_TELL(2, k)
    const ga_int falls = line < line_before || (line == line_before && own < before);
    const ga_int equals = line == line_before && own == before;
#else
    ga_int falls = own < before, equals = own == before;
    if (falls || equals) { /* unless a row begins here */
      ga_ulong low = 0, high = rows;
      while (low < high) {
        const ga_ulong middle = low + (high - low) / 2;
        if ((ga_ulong)lines[middle] < k)
          low = middle + 1;
        else
          high = middle;
      }
      if ((ga_ulong)lines[low] == k)
        falls = equals = 0;
    }
#endif
    if (falls)
      SP_TELL(4, k)
    if (falls || equals)
      SP_TELL(5, k)
  }
}
