/* A stable sort by small keys on processors: each item counts the keys of its share of
 * values, and with SP_FORM 1, by the scanned counts, puts values and indices where they
 * belong. Counts are counts[key][share]. */

KERNEL void SP_NAME(GLOBAL_MEM SP_INDEX *counts, ga_size counts_off,
                    GLOBAL_MEM SP_VALUE *out, ga_size out_off,
                    GLOBAL_MEM SP_INDEX *out_indices, ga_size out_indices_off,
                    GLOBAL_MEM const SP_INDEX *keys, ga_size keys_off,
                    GLOBAL_MEM const SP_VALUE *values, ga_size values_off,
                    GLOBAL_MEM const SP_INDEX *indices, ga_size indices_off,
                    ga_ulong n_keys, ga_ulong n, ga_ulong shares) {
  KERNEL_BEGIN;
  SP_WRITTEN(SP_INDEX, counts);
  SP_READ(SP_INDEX, keys);
#if SP_FORM
  SP_WRITTEN(SP_VALUE, out);
  SP_WRITTEN(SP_INDEX, out_indices);
  SP_READ(SP_VALUE, values);
  SP_READ(SP_INDEX, indices);
#endif
  SP_EACH(share, shares) {
    const ga_ulong end = n * (share + 1) / shares;
    for (ga_ulong k = n * share / shares; k < end; k++) {
      const ga_ulong key = (ga_ulong)keys[k];
      if (key >= n_keys)
        continue;
      const SP_INDEX place = counts[key * shares + share]++;
#if SP_FORM
      if ((ga_ulong)place < n) {
        out[place] = values[k];
        out_indices[place] = indices[k];
      }
#else
      (void)place;
#endif
    }
  }
}
