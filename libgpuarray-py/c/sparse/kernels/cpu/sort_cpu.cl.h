/* Sorts the indices of each row on processors, stably: keys of index and place, by
 * insertion in runs of SP_RUN, which are merged. Of rows longer than one run the keys
 * are in `keys`, twice as many as values. Row lengths and columns are below 2^32. */
#include "shares_cpu.cl.h"

#define SP_RUN 32
#define SP_BEGIN(row) indptr[row]
/* Sorts a run of keys of the indices from `from` on into `to`. */
#define SP_INSERT(to, from, length)                                                    \
  for (ga_ulong i = 0; i < (length); i++) {                                            \
    const ga_ulong key = (ga_ulong)indices[(from) + i] << 32 | ((from) + i - begin);   \
    ga_ulong at = i;                                                                   \
    for (; at > 0 && (to)[at - 1] > key; at--)                                         \
      (to)[at] = (to)[at - 1];                                                         \
    (to)[at] = key;                                                                    \
  }
#define SP_PUT(k, key)                                                                 \
  out[begin + (k)] = values[begin + ((key) & 0xffffffffu)];                            \
  out_indices[begin + (k)] = (SP_INDEX)((key) >> 32)

KERNEL void SP_NAME(GLOBAL_MEM SP_VALUE *out, ga_size out_off,
                    GLOBAL_MEM SP_INDEX *out_indices, ga_size out_indices_off,
                    GLOBAL_MEM ga_ulong *keys, ga_size keys_off, SP_MATRIX,
                    ga_ulong rows, ga_ulong n) {
  KERNEL_BEGIN;
  SP_WRITTEN(SP_VALUE, out);
  SP_WRITTEN(SP_INDEX, out_indices);
  SP_WRITTEN(ga_ulong, keys);
  SP_READ_MATRIX;
  SP_SHARE(first, GID_0, GDIM_0, rows, n, SP_BEGIN)
  SP_SHARE(last, GID_0 + 1, GDIM_0, rows, n, SP_BEGIN)
  for (ga_ulong row = first; row < last; row++) {
    SP_RANGE(begin, end, indptr, n, row);
    const ga_ulong length = end - begin;
    if (length <= SP_RUN) {
      ga_ulong own[SP_RUN];
      SP_INSERT(own, begin, length)
      for (ga_ulong k = 0; k < length; k++) {
        SP_PUT(k, own[k]);
      }
      continue;
    }
    GLOBAL_MEM ga_ulong *from = keys + begin, *to = keys + n + begin;
    for (ga_ulong run = 0; run < length; run += SP_RUN)
      SP_INSERT(from + run, begin + run, length - run < SP_RUN ? length - run : SP_RUN)
    for (ga_ulong run = SP_RUN; run < length; run *= 2) {
      for (ga_ulong i = 0; i < length; i += 2 * run) {
        ga_ulong left = i, middle = i + run < length ? i + run : length;
        ga_ulong right = middle, stop = i + 2 * run < length ? i + 2 * run : length;
        for (ga_ulong k = i; k < stop; k++) {
          const ga_int is_left =
              left < middle && (right >= stop || from[left] < from[right]);
          to[k] = from[is_left ? left : right];
          left += (ga_ulong)is_left;
          right += (ga_ulong)!is_left;
        }
      }
      GLOBAL_MEM ga_ulong *other = from;
      from = to;
      to = other;
    }
    for (ga_ulong k = 0; k < length; k++) {
      SP_PUT(k, from[k]);
    }
  }
}
