/* Slot-parallel scatter. Item (x, y): position x of the other axes and slot y, which
 * holds 1 + the number of the value to store, or 0. */
KERNEL void OR_NAME(OR_PARAMETERS) {
  KERNEL_BEGIN;
  OR_STARTS
  const ga_ulong o = GID_0 * LDIM_0 + LID_0;
  if (o >= others)
    return;
  OR_INT px_o = 0, pv_o = 0;
  OR_X_TERMS(o, px_o)
  OR_V_TERMS(o, pv_o)
  for (ga_ulong y = GID_1 * LDIM_1 + LID_1; y < count; y += GDIM_1 * LDIM_1) {
    const ga_uint number = slot[y];
    if (number == 0)
      continue;
    OR_INT px = px_o, pv = pv_o;
    OR_INDEX_TERMS(y, px)
    OR_VALUE_TERMS((number - 1), pv)
    x[px] = v[pv];
  }
}
