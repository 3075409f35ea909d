/* argmax, argmin by one item, with explicit SIMD: find the best key of each chunk, and
 * search the position only in the first chunk with the row's best. Positions ascend.
 * The last vector of a row overlaps the one before. */
if (i < inner_to) {
  const RD_INT last = inner_to - 16;
  RD_KEY best = RD_ACC_KEY(RD_ELEMENT(i));
  RD_INT found = i;
  if (i <= last) {
    RD_MANY bests = best;
    for (; i < inner_to; i += 512) {
      const RD_INT stop = i + 512;
      RD_MANY run = bests;
      if (stop <= inner_to) {
        RD_MANY run1 = bests, run2 = bests, run3 = bests;
        for (RD_INT p = i; p < stop; p += 64) {
          run = RD_GREATER(run, RD_MANY_AT(y0 + p));
          run1 = RD_GREATER(run1, RD_MANY_AT(y0 + p + 16));
          run2 = RD_GREATER(run2, RD_MANY_AT(y0 + p + 32));
          run3 = RD_GREATER(run3, RD_MANY_AT(y0 + p + 48));
        }
        run = RD_GREATER(RD_GREATER(run, run1), RD_GREATER(run2, run3));
      } else {
        for (RD_INT p = i; p <= last; p += 16)
          run = RD_GREATER(run, RD_MANY_AT(y0 + p));
        run = RD_GREATER(run, RD_MANY_AT(y0 + last));
      }
      if (RD_ANY_PASSES(bests, run)) {
        run = RD_GREATER(run, run.s89abcdef01234567);
        run = RD_GREATER(run, run.s456789abcdef0123);
        run = RD_GREATER(run, run.s23456789abcdef01);
        bests = RD_GREATER(run, run.s123456789abcdef0);
        found = i;
      }
    }
    while (found <= last && RD_ALL_PASS(RD_MANY_AT(y0 + found), bests))
      found += 16;
    best = bests.s0;
  } else {
    for (; i < inner_to; i++) {
      const RD_KEY x = RD_ACC_KEY(RD_ELEMENT(i));
      best = RD_PASSES(best, x) ? x : best;
    }
  }
  while (RD_PASSES(RD_ACC_KEY(RD_ELEMENT(found)), best))
    found++;
  acc[0] = RD_COMBINE(acc[0], RD_ELEMENT(found));
}
