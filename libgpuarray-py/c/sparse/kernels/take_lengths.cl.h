/* The lengths of rows by index, and 0 behind the last; a wrong index is reported. */
#define SP_ROW(i) (taken[i] < 0 ? taken[i] + (ga_long)rows : taken[i])

KERNEL void SP_NAME(GLOBAL_MEM ga_long *lengths, ga_size lengths_off,
                    GLOBAL_MEM const SP_INDEX *indptr, ga_size indptr_off,
                    GLOBAL_MEM const ga_long *taken, ga_size taken_off, ga_ulong rows,
                    ga_ulong count, GLOBAL_MEM ga_uint *word, ga_size word_off,
                    ga_uint site) {
  KERNEL_BEGIN;
  SP_WRITTEN(ga_long, lengths);
  SP_READ(SP_INDEX, indptr);
  SP_READ(ga_long, taken);
  SP_EACH(i, count + 1) {
    ga_long length = 0;
    if (i < count) {
      const ga_ulong row = (ga_ulong)SP_ROW(i);
      if (row < rows)
        length = (ga_long)indptr[row + 1] - (ga_long)indptr[row];
      else
        ga_report_index(word, word_off, site, taken[i], (ga_long)rows);
    }
    lengths[i] = length > 0 ? length : 0;
  }
}
