/* Winner mask by all-pairs comparison: keep[i] is 1 if no later slot equals slot i. */
KERNEL void INDEX_NAME(GLOBAL_MEM ga_ubyte *keep, ga_size keep_off,
                       GLOBAL_MEM const INDEX_SLOT *slot, ga_size slot_off, ga_uint n) {
  KERNEL_BEGIN;
  const ga_size i = GID_0 * LDIM_0 + LID_0;
  keep += keep_off;
  slot = (GLOBAL_MEM const INDEX_SLOT *)((GLOBAL_MEM const char *)slot + slot_off);
  if (i >= n)
    return;
  const INDEX_SLOT own = slot[i];
  ga_uint k = (ga_uint)i + 1;
  while (k < n && slot[k] != own)
    k++;
  keep[i] = (ga_ubyte)(k == n);
}
