/* Values and indices by a permutation. */
KERNEL void SP_NAME(GLOBAL_MEM SP_VALUE *out, ga_size out_off,
                    GLOBAL_MEM SP_INDEX *out_indices, ga_size out_indices_off,
                    GLOBAL_MEM const SP_VALUE *values, ga_size values_off,
                    GLOBAL_MEM const SP_INDEX *indices, ga_size indices_off,
                    GLOBAL_MEM const ga_uint *order, ga_size order_off, ga_ulong n) {
  KERNEL_BEGIN;
  out = (GLOBAL_MEM SP_VALUE *)((GLOBAL_MEM char *)out + out_off);
  out_indices =
      (GLOBAL_MEM SP_INDEX *)((GLOBAL_MEM char *)out_indices + out_indices_off);
  values = (GLOBAL_MEM const SP_VALUE *)((GLOBAL_MEM const char *)values + values_off);
  indices =
      (GLOBAL_MEM const SP_INDEX *)((GLOBAL_MEM const char *)indices + indices_off);
  order = (GLOBAL_MEM const ga_uint *)((GLOBAL_MEM const char *)order + order_off);
  SP_EACH(k, n) {
    const ga_uint from = order[k];
    out[k] = values[from];
    out_indices[k] = indices[from];
  }
}
