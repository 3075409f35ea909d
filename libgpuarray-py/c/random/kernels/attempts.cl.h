/* Draws by attempts of scalar parameters into contiguous arrays on GPUs. An item goes
 * on to its next element when an attempt succeeds, and does not wait for the others of
 * its warp: 32 neighbours share `rows` rows of 32 elements. random_source.c defines the
 * macros RN_... */
KERNEL void RN_NAME(GLOBAL_MEM RN_TYPE *x, ga_size x_off, ga_ulong n,
                    RN_STATE RN_PARAMETERS RN_OTHERS) {
  KERNEL_BEGIN;
  RN_LOAD_STATE
  x = (GLOBAL_MEM RN_TYPE *)((GLOBAL_MEM char *)x + x_off);
  RN_PLAN plan;
  RN_MAKE_PLAN(&plan RN_GIVEN);
  const ga_ulong item = GID_0 * LDIM_0 + LID_0, tile = (ga_ulong)rows * 32;
  const ga_ulong step = GDIM_0 * LDIM_0 / 32 * tile;
  for (ga_ulong base = item / 32 * tile; base < n; base += step) {
    const ga_uint end = (ga_uint)(n - base < tile ? n - base : tile);
    const ga_ulong first = position + base * RN_COUNTS;
    RN_WORK v = 0, kept = 0;
    ga_uint attempt = 0;
    for (ga_uint j = (ga_uint)(item % 32); j < end;) {
      ga_uint w[4];
      ga_philox(w, first + (j * RN_COUNTS + attempt), stream, seed);
      const ga_int is_done = RN_TRY(&v, &kept, (ga_int)attempt, &plan, w);
      attempt++;
      if (is_done || attempt == RN_COUNTS) {
        const ga_ulong own = first + j * RN_COUNTS;
        const RN_WORK number = RN_NUMBER(v, &plan, own, stream, seed);
        x[base + j] = RN_STORE(number);
        attempt = 0;
        j += 32;
      }
    }
  }
}
