/* Writes 0, 1, 2, ... */
KERNEL void COUNT_NAME(GLOBAL_MEM COUNT_T *out, ga_size out_off, ga_size n) {
  KERNEL_BEGIN;
  out = (GLOBAL_MEM COUNT_T *)((GLOBAL_MEM char *)out + out_off);
  for (ga_size i = GID_0 * LDIM_0 + LID_0; i < n; i += GDIM_0 * LDIM_0)
    out[i] = (COUNT_T)i;
}
