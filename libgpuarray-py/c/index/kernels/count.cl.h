COUNT_KERNEL void COUNT_NAME(GLOBAL_MEM ga_long *out, ga_size out_off, ga_ulong n) {
  KERNEL_BEGIN;
  out = (GLOBAL_MEM ga_long *)((GLOBAL_MEM char *)out + out_off);
  for (ga_ulong i = GID_0 * LDIM_0 + LID_0; i < n; i += GDIM_0 * LDIM_0)
    out[i] = (ga_long)i;
}
