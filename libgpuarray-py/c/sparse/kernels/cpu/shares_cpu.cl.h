/* Shares of compressed rows on processors: the first row of share `number` of `items`,
 * each with its part of rows and of the `n` values that begin at BEGIN(row). The first
 * share begins at row 0; indptr may hold anything. */
#define SP_SHARE(out, number, items, rows, n, BEGIN)                                   \
  ga_ulong out = 0;                                                                    \
  {                                                                                    \
    const ga_ulong target = ((rows) + (n)) * (number) / (items);                       \
    ga_ulong high = rows;                                                              \
    while (out < high) {                                                               \
      const ga_ulong middle = out + (high - out) / 2;                                  \
      if (middle + (ga_ulong)BEGIN(middle) < target)                                   \
        out = middle + 1;                                                              \
      else                                                                             \
        high = middle;                                                                 \
    }                                                                                  \
    if ((number) == (items))                                                           \
      out = rows;                                                                      \
  }
/* `begin` and `end` of a row of a matrix, within its `n` values. */
#define SP_RANGE(begin, end, indptr, n, row)                                           \
  ga_ulong begin = (ga_ulong)indptr[row], end = (ga_ulong)indptr[(row) + 1];           \
  end = end < (n) ? end : (n);                                                         \
  begin = begin < end ? begin : end
/* Places of 8 adjacent elements each, of which the last may overlap those before them;
 * of less than 8 there are none, and `k` stays behind the last. */
#define SP_EACH_8(k, begin, end)                                                       \
  for (k = begin; k + 8 <= (end);                                                      \
       k = k + 16 <= (end) || k + 8 >= (end) ? k + 8 : (end) - 8)
/* Copies elements, by vectors where there are any of the type. */
#define SP_COPY(to, from, count)                                                       \
  {                                                                                    \
    ga_ulong at_copy = 0;                                                              \
    for (; at_copy + 8 <= (count); at_copy += 8)                                       \
      SP_COPY_8((to) + at_copy, (from) + at_copy)                                      \
    for (; at_copy < (count); at_copy++)                                               \
      (to)[at_copy] = (from)[at_copy];                                                 \
  }
#define SP_COPY_8(to, from) vstore8(vload8(0, from), 0, to);
/* The same of values, which may be of 16 bytes. */
#if SP_IS_WIDE_VALUE
#define SP_COPY_VALUES(to, from, count)                                                \
  for (ga_ulong k = 0; k < (count); k++)                                               \
    (to)[k] = (from)[k];
#else
#define SP_COPY_VALUES SP_COPY
#endif
