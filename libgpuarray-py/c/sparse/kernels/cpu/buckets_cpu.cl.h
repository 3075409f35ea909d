/* A stable sort by keys on processors, in two passes that both write near where they
 * wrote before: values go to a few ranges of keys, then each range is sorted by
 * counting. SP_FORM 0: each item counts the values of its share in each range; by the
 * scanned counts, counts[range][share], 1 puts keys, indices and values there, 3 the
 * lines of the values, which begin at `indices`, in place of indices; 2: each item
 * sorts ranges, and makes `ends`, where the values of each key begin and end. */
#define SP_RANGES 256 /* at most */
#if SP_FORM == 3
#define SP_INDEX_OF(k) (SP_INDEX) line
#else
#define SP_INDEX_OF(k) indices[k]
#endif

KERNEL void SP_NAME(GLOBAL_MEM SP_INDEX *counts, ga_size counts_off,
                    GLOBAL_MEM SP_INDEX *ends, ga_size ends_off,
                    GLOBAL_MEM SP_VALUE *out, ga_size out_off,
                    GLOBAL_MEM SP_INDEX *out_indices, ga_size out_indices_off,
                    GLOBAL_MEM const SP_INDEX *keys, ga_size keys_off,
                    GLOBAL_MEM const SP_VALUE *values, ga_size values_off,
                    GLOBAL_MEM const SP_INDEX *indices, ga_size indices_off,
                    ga_ulong n_keys, ga_ulong n, ga_ulong ranges, ga_ulong shares,
                    ga_ulong lines, ga_uint shift) {
  KERNEL_BEGIN;
  (void)lines;
  SP_WRITTEN(SP_INDEX, counts);
  SP_READ(SP_INDEX, keys);
#if SP_FORM
  SP_WRITTEN(SP_INDEX, ends);
  SP_WRITTEN(SP_VALUE, out);
  SP_WRITTEN(SP_INDEX, out_indices);
  SP_READ(SP_VALUE, values);
  SP_READ(SP_INDEX, indices);
#endif
#if SP_FORM != 2
  SP_EACH(share, shares) {
    SP_COUNT own[SP_RANGES];
    const ga_ulong end = n * (share + 1) / shares;
    for (ga_ulong range = 0; range < ranges; range++)
      own[range] = SP_FORM ? (SP_COUNT)counts[range * shares + share] : 0;
    ga_ulong k = n * share / shares;
#if SP_FORM == 3
    ga_ulong line = 0;
    for (ga_ulong high = lines; line < high;) { /* the line of k */
      const ga_ulong middle = line + (high - line) / 2;
      if ((ga_ulong)indices[middle + 1] <= k)
        line = middle + 1;
      else
        high = middle;
    }
#endif
    for (; k < end; k++) {
#if SP_FORM == 3
      while (line < lines && (ga_ulong)indices[line + 1] <= k)
        line++;
#endif
      const SP_COUNT key = (SP_COUNT)keys[k];
      if (key >= n_keys)
        continue;
      const SP_COUNT place = own[key >> shift]++;
#if SP_FORM
      if (place < n) {
        ends[place] = (SP_INDEX)key;
        out[place] = values[k];
        out_indices[place] = SP_INDEX_OF(k);
      }
#else
      (void)place;
#endif
    }
#if !SP_FORM
    for (ga_ulong range = 0; range < ranges; range++)
      counts[range * shares + share] = (SP_INDEX)own[range];
#endif
  }
#else
  SP_EACH(range, ranges) {
    const ga_ulong begin = (ga_ulong)counts[range * shares];
    const ga_ulong end = (ga_ulong)counts[(range + 1) * shares];
    const ga_ulong first = range << shift, next = (range + 1) << shift;
    const ga_ulong last = next < n_keys ? next : n_keys;
    SP_INDEX place = (SP_INDEX)begin;
    if (range == 0)
      ends[0] = 0;
    for (ga_ulong key = first; key < last; key++)
      ends[key + 1] = 0;
    for (ga_ulong k = begin; k < end; k++)
      ends[(ga_ulong)keys[k] + 1]++;
    for (ga_ulong key = first; key < last; key++) {
      const SP_INDEX count = ends[key + 1];
      ends[key + 1] = place;
      place += count;
    }
    for (ga_ulong k = begin; k < end; k++) {
      const SP_INDEX at = ends[(ga_ulong)keys[k] + 1]++;
      out[at] = values[k];
      out_indices[at] = indices[k];
    }
  }
#endif
}
