/* What is wrong with a sparse matrix: for each kind of mistake the first place, divided
 * by 2^shift, in a word that begins as all ones. SP_FORM 1: COO, `lines` are the rows
 * of the values. Words: indptr does not begin at 0 or end at n; indptr descends; a row
 * of COO, an index out of range.
 *
 * Behind them are two counts of 64 bits, from -1 on: values whose index is below the
 * one before, values whose index equals it. Where a row begins neither counts: those
 * are taken off again by the rows, so that no value needs to know its row. */
#define SP_TELL(word, place)                                                           \
  {                                                                                    \
    const ga_uint told = (ga_uint)((ga_ulong)(place) >> shift);                        \
    if (told < found[word])                                                            \
      atom_min_Ig(found + word, told);                                                 \
  }
#define SP_AHEAD 4
#define SP_OF_PACK (128 / SP_INDEX_BITS)
#define SP_PACK                                                                        \
  union {                                                                              \
    ga_uint4 pack;                                                                     \
    SP_INDEX own[SP_OF_PACK];                                                          \
  }

KERNEL void SP_NAME(GLOBAL_MEM ga_uint *found, ga_size found_off,
                    GLOBAL_MEM const SP_INDEX *indices, ga_size indices_off,
                    GLOBAL_MEM const SP_INDEX *lines, ga_size lines_off, ga_ulong rows,
                    ga_ulong columns, ga_ulong n, ga_uint shift) {
  KERNEL_BEGIN;
  LOCAL_MEM ga_int sums[2 * SP_THREADS];
  SP_WRITTEN(ga_uint, found);
  SP_READ(SP_INDEX, indices);
  SP_READ(SP_INDEX, lines);
  ga_int falls = 0, equals = 0;
#if !SP_FORM
  SP_EACH(row, rows + 1) {
    const SP_INDEX begin = lines[row], last = lines[row > 0 ? row - 1 : 0];
    const SP_INDEX stop = lines[row < rows ? row + 1 : rows];
    if ((row == 0 && begin != 0) || (row == rows && (ga_ulong)begin != n))
      SP_TELL(0, row)
    if (row > 0 && begin < last)
      SP_TELL(1, row)
    if (begin > 0 && (ga_ulong)begin < n && row < rows && stop > begin) {
      const SP_INDEX own = indices[begin], before = indices[begin - 1];
      falls -= own < before;
      equals -= own == before;
    }
  }
#endif
  const SP_COUNT most = (SP_COUNT)columns;
  const SP_COUNT step = (SP_COUNT)SP_ITEMS, end = (SP_COUNT)n;
  SP_COUNT k = (SP_COUNT)SP_ITEM;
#if SP_PACKS && !SP_FORM
  const SP_COUNT packs = end / SP_OF_PACK;
  for (; k < packs; k += SP_AHEAD * step) {
    SP_PACK own[SP_AHEAD];
    SP_INDEX before[SP_AHEAD];
#pragma unroll
    for (ga_int u = 0; u < SP_AHEAD; u++) { /* again the first where they end */
      const SP_COUNT next = k + (SP_COUNT)u * step, at = next < packs ? next : k;
      own[u].pack = GA_READ_PACK_STREAM(((GLOBAL_MEM const ga_uint4 *)indices)[at]);
      before[u] = at > 0 ? indices[at * SP_OF_PACK - 1] : -1;
    }
#pragma unroll
    for (ga_int u = 0; u < SP_AHEAD; u++)
      if (k + (SP_COUNT)u * step < packs) {
        SP_COUNT highest = 0;
#pragma unroll
        for (ga_int v = 0; v < SP_OF_PACK; v++) {
          const SP_INDEX seen = own[u].own[v],
                         last = v > 0 ? own[u].own[v - 1] : before[u];
          highest = (SP_COUNT)seen > highest ? (SP_COUNT)seen : highest;
          falls += seen < last;
          equals += seen == last;
        }
        if (highest >= most)
          for (ga_int v = 0; v < SP_OF_PACK; v++)
            if ((SP_COUNT)own[u].own[v] >= most)
              SP_TELL(3, (k + (SP_COUNT)u * step) * SP_OF_PACK + v)
      }
  }
  k = packs * SP_OF_PACK + (SP_COUNT)SP_ITEM;
#endif
  for (; k < end; k += SP_AHEAD * step) {
    SP_INDEX own[SP_AHEAD], before[SP_AHEAD], line[SP_AHEAD], line_before[SP_AHEAD];
#pragma unroll
    for (ga_int u = 0; u < SP_AHEAD; u++) { /* again the first where they end */
      const SP_COUNT next = k + (SP_COUNT)u * step, at = next < end ? next : k;
      own[u] = indices[at];
      before[u] = at > 0 ? indices[at - 1] : -1;
      line[u] = SP_FORM ? lines[at] : 0;
      line_before[u] = SP_FORM && at > 0 ? lines[at - 1] : SP_FORM ? -1 : 0;
    }
#pragma unroll
    for (ga_int u = 0; u < SP_AHEAD; u++) {
      const SP_COUNT at = k + (SP_COUNT)u * step;
      const ga_int is_here = at < end, is_line = line[u] == line_before[u];
      if (is_here && (SP_COUNT)own[u] >= most)
        SP_TELL(3, at)
      if (SP_FORM && is_here && (SP_COUNT)line[u] >= (SP_COUNT)rows)
        SP_TELL(2, at)
      falls += is_here & (line[u] < line_before[u] || (is_line && own[u] < before[u]));
      equals += is_here & (is_line && own[u] == before[u]);
    }
  }
  const ga_uint lid = (ga_uint)LID_0;
  sums[2 * lid] = falls;
  sums[2 * lid + 1] = equals;
  for (ga_uint apart = SP_THREADS / 2; apart > 0; apart /= 2) {
    local_barrier();
    if (lid < apart) {
      sums[2 * lid] += sums[2 * (lid + apart)];
      sums[2 * lid + 1] += sums[2 * (lid + apart) + 1];
    }
  }
  if (lid == 0)
    for (ga_int i = 0; i < 2; i++) { /* by halves, with the carry */
      const ga_ulong sum = (ga_ulong)(ga_long)sums[i];
      const ga_uint low = (ga_uint)sum;
      if (sum != 0) {
        const ga_uint seen = atom_add_Ig(found + 4 + 2 * i, low);
        const ga_uint high = (ga_uint)(sum >> 32) + (seen + low < seen);
        if (high != 0)
          atom_add_Ig(found + 5 + 2 * i, high);
      }
    }
}
