/* Packs what each share of rows has made, as merge_cpu.cl.h tells it: copies values and
 * indices behind those of the shares before it, and makes the row pointers. */
#include "shares_cpu.cl.h"

KERNEL void SP_NAME(GLOBAL_MEM SP_VALUE *out, ga_size out_off,
                    GLOBAL_MEM SP_INDEX *out_indices, ga_size out_indices_off,
                    GLOBAL_MEM SP_INDEX *out_indptr, ga_size out_indptr_off,
                    GLOBAL_MEM const SP_VALUE *values, ga_size values_off,
                    GLOBAL_MEM const SP_INDEX *indices, ga_size indices_off,
                    GLOBAL_MEM const SP_INDEX *ends, ga_size ends_off,
                    GLOBAL_MEM const ga_ulong *shares, ga_size shares_off,
                    ga_ulong rows) {
  KERNEL_BEGIN;
  SP_WRITTEN(SP_VALUE, out);
  SP_WRITTEN(SP_INDEX, out_indices);
  SP_WRITTEN(SP_INDEX, out_indptr);
  SP_READ(SP_VALUE, values);
  SP_READ(SP_INDEX, indices);
  SP_READ(SP_INDEX, ends);
  SP_READ(ga_ulong, shares);
  const ga_ulong first = shares[3 * GID_0], base = shares[3 * GID_0 + 1];
  const ga_ulong count = shares[3 * GID_0 + 2];
  const ga_ulong last = GID_0 + 1 < GDIM_0 ? shares[3 * GID_0 + 3] : rows;
  ga_ulong before = 0;
  for (ga_ulong share = 0; share < GID_0; share++)
    before += shares[3 * share + 2];
  SP_COPY_VALUES(out + before, values + base, count)
  SP_COPY(out_indices + before, indices + base, count)
  for (ga_ulong row = first; row < last; row++)
    out_indptr[row + 1] = (SP_INDEX)before + ends[row];
  if (GID_0 == 0)
    out_indptr[0] = 0;
}
