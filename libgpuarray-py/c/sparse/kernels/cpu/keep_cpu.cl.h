/* The values of a matrix where a mask is true, on processors: each share of rows keeps
 * its own where it begins, to be packed as pack_cpu.cl.h tells it. */
#include "shares_cpu.cl.h"

#define SP_BEGIN(row) indptr[row]

KERNEL void SP_NAME(GLOBAL_MEM SP_VALUE *out, ga_size out_off,
                    GLOBAL_MEM SP_INDEX *out_indices, ga_size out_indices_off,
                    GLOBAL_MEM SP_INDEX *ends, ga_size ends_off,
                    GLOBAL_MEM ga_ulong *shares, ga_size shares_off,
                    GLOBAL_MEM const ga_ubyte *mask, ga_size mask_off, SP_MATRIX,
                    ga_ulong rows, ga_ulong n) {
  KERNEL_BEGIN;
  SP_WRITTEN(SP_VALUE, out);
  SP_WRITTEN(SP_INDEX, out_indices);
  SP_WRITTEN(SP_INDEX, ends);
  SP_WRITTEN(ga_ulong, shares);
  SP_READ(ga_ubyte, mask);
  SP_READ_MATRIX;
  SP_SHARE(first, GID_0, GDIM_0, rows, n, SP_BEGIN)
  SP_SHARE(last, GID_0 + 1, GDIM_0, rows, n, SP_BEGIN)
  ga_ulong base = first < rows ? (ga_ulong)indptr[first] : n;
  base = base < n ? base : n;
  ga_ulong at = base;
  for (ga_ulong row = first; row < last; row++) {
    SP_RANGE(begin, end, indptr, n, row);
    if (end - begin <= n - at)
      for (ga_ulong k = begin; k < end; k++) { /* no branch depends on the mask */
        out[at] = values[k];
        out_indices[at] = indices[k];
        at += mask[k] != 0;
      }
    ends[row] = (SP_INDEX)(at - base);
  }
  shares[3 * GID_0] = first;
  shares[3 * GID_0 + 1] = base;
  shares[3 * GID_0 + 2] = at - base;
}
