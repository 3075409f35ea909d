/* Exclusive scan of `sum` across items, and its `total`. */
#define MK_SUMS_BEFORE(type)                                                           \
  lane[lid] = sum;                                                                     \
  local_barrier();                                                                     \
  for (ga_uint d = 1; d < MK_THREADS; d *= 2) {                                        \
    const type left = lid >= d ? lane[lid - d] : 0;                                    \
    local_barrier();                                                                   \
    lane[lid] += left;                                                                 \
    local_barrier();                                                                   \
  }                                                                                    \
  const type total = lane[MK_LAST];                                                    \
  sum = lane[lid] - sum;
