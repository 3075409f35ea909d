/* Deterministic scatter-add (segmented reduction): `count` entries, sorted by slot, are
 * added to x. Item (x, y): position x of the other axes, entry y if it is the first of
 * its slot or of its run of OR_RUN entries. Partial sums of slots that cross a run's
 * boundary become entries of the next launch: each run leaves two, for its first and
 * its last slot. scatter_source.c defines the macros; OR_..._TERMS(at, p) adds the
 * offset of linear index `at` to p. */

#if OR_IS_COMPLEX
#define OR_NOTHING                                                                     \
  OR_WORK nothing;                                                                     \
  nothing.x = OR_ZERO;                                                                 \
  nothing.y = OR_ZERO
#define OR_SUM(to, one)                                                                \
  {                                                                                    \
    to.x += one.x;                                                                     \
    to.y += one.y;                                                                     \
  }
#else
#define OR_NOTHING OR_WORK nothing = OR_ZERO
#if OR_IS_BOOL
#define OR_SUM(to, one) to = to | one;
#else
#define OR_SUM(to, one) to = (OR_WORK)(to + one);
#endif
#endif
#define OR_NONE ~(OR_SLOT)0
#define OR_LEAVE(which, own, value)                                                    \
  if (o == 0)                                                                          \
    next_slot[2 * run + which] = own;                                                  \
  next[(2 * run + which) * others + o] = value

KERNEL void OR_NAME(OR_PARAMETERS) {
  KERNEL_BEGIN;
  OR_STARTS
  const ga_ulong o = GID_0 * LDIM_0 + LID_0;
  if (o >= others)
    return;
  OR_INT px_o = 0, pv_o = 0;
  (void)pv_o;
  OR_X_TERMS(o, px_o)
#if OR_FIRST
  OR_V_TERMS(o, pv_o)
#endif
  OR_NOTHING;
  for (ga_ulong q = GID_1 * LDIM_1 + LID_1; q < count; q += GDIM_1 * LDIM_1) {
    const ga_ulong run = q / OR_RUN, begin = run * OR_RUN;
    const ga_ulong end = begin + OR_RUN < count ? begin + OR_RUN : count;
    const OR_SLOT own = slot[q];
    const ga_int goes_on = q > 0 && slot[q - 1] == own;
#if !OR_LAST
    /* Empty entries, where no slot crosses the boundary. */
    if (q == begin && !goes_on) {
      OR_LEAVE(0, OR_NONE, nothing);
    }
    if (q + 1 == end && (end == count || slot[end] != own)) {
      OR_LEAVE(1, OR_NONE, nothing);
    }
#endif
    if (goes_on && q != begin)
      continue;
    OR_INT px = px_o;
    OR_WORK sum = nothing;
    OR_INDEX_TERMS(own, px)
#if OR_FIRST
    if (!goes_on && own != OR_NONE)
      sum = OR_LOAD(x[px]);
#endif
    ga_ulong k = q;
    do {
#if OR_FIRST
      const ga_ulong number = (ga_ulong)order[k];
      OR_INT pv = pv_o;
      OR_VALUE_TERMS(number, pv)
      const OR_WORK one = OR_LOAD(v[pv]);
#else
      const OR_WORK one = v[k * others + o];
#endif
      OR_SUM(sum, one)
    } while (++k < end && slot[k] == own);
#if !OR_LAST
    const ga_int is_cut = k == end && k < count && slot[k] == own;
    if (goes_on) {
      OR_LEAVE(0, own, sum);
    }
    if (is_cut) {
      OR_LEAVE(1, own, (goes_on ? nothing : sum));
    }
    if (goes_on || is_cut)
      continue;
#endif
    if (own != OR_NONE)
      x[px] = OR_STORE(sum);
  }
}
