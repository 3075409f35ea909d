/* Some values of a matrix on processors: where a mask is true, or, for SP_FORM 2 and 3,
 * where they are not 0. Each share of rows counts its own (SP_FORM 0 and 2), then puts
 * them behind those of the shares before it, and makes the row pointers. */
#include "shares_cpu.cl.h"

#define SP_BEGIN(row) indptr[row]
#if SP_FORM < 2
#define SP_IS_KEPT(k) (mask[k] != 0)
#else
#define SP_IS_KEPT(k) SP_IS_SET(SP_LOAD(values[k]))
#endif
/* No branch on the mask: what is left out is written over by the next. */
#define SP_PUT(k)                                                                      \
  {                                                                                    \
    out[at] = values[k];                                                               \
    out_indices[at] = indices[k];                                                      \
    at += (ga_ulong)SP_IS_KEPT(k);                                                     \
  }

KERNEL void SP_NAME(GLOBAL_MEM SP_VALUE *out, ga_size out_off,
                    GLOBAL_MEM SP_INDEX *out_indices, ga_size out_indices_off,
                    GLOBAL_MEM SP_INDEX *out_indptr, ga_size out_indptr_off,
                    GLOBAL_MEM ga_ulong *counts, ga_size counts_off,
                    GLOBAL_MEM const ga_ubyte *mask, ga_size mask_off, SP_MATRIX,
                    ga_ulong rows, ga_ulong n) {
  KERNEL_BEGIN;
  SP_WRITTEN(SP_VALUE, out);
  SP_WRITTEN(SP_INDEX, out_indices);
  SP_WRITTEN(SP_INDEX, out_indptr);
  SP_WRITTEN(ga_ulong, counts);
  SP_READ(ga_ubyte, mask);
  SP_READ_MATRIX;
  SP_SHARE(first, GID_0, GDIM_0, rows, n, SP_BEGIN)
  SP_SHARE(last, GID_0 + 1, GDIM_0, rows, n, SP_BEGIN)
#if SP_FORM % 2 == 0
  ga_ulong k = first < rows ? (ga_ulong)indptr[first] : n;
  ga_ulong stop = last < rows ? (ga_ulong)indptr[last] : n, count = 0;
  stop = stop < n ? stop : n;
  while (k < stop) { /* sums of 32 bits, by vectors */
    const ga_ulong left = stop - k;
    const ga_uint many = left < 65536 ? (ga_uint)left : 65536;
    ga_uint some = 0;
    for (ga_uint u = 0; u < many; u++)
      some += (ga_uint)SP_IS_KEPT(k + u);
    count += some;
    k += many;
  }
  counts[GID_0] = count;
#else
  ga_ulong at = 0;
  for (ga_ulong share = 0; share < GID_0; share++)
    at += counts[share];
  const ga_ulong stop = at + counts[GID_0];
  if (GID_0 == 0)
    out_indptr[0] = 0;
  for (ga_ulong row = first; row < last; row++) {
    SP_RANGE(begin, end, indptr, n, row);
    if (end - begin <= stop - at)
      for (ga_ulong k = begin; k < end; k++)
        SP_PUT(k)
    else /* what is left out may not be written behind the share's last value */
      for (ga_ulong k = begin; k < end && at < stop; k++)
        SP_PUT(k)
    out_indptr[row + 1] = (SP_INDEX)at;
  }
#endif
}
