/* argmax, argmin by one item, without explicit SIMD: find the best key of each chunk,
 * and search the position only in the first chunk with the row's best. The loop bounds
 * are opaque on purpose: the compiler would unroll instead of vectorizing. */
if (i < inner_to) {
  const RD_INT many = RD_VECTOR - 1 + lanes;
  RD_KEY best = RD_ACC_KEY(RD_ELEMENT(i));
  RD_INT found = i;
  while (i < inner_to) {
    RD_KEY top[RD_VECTOR];
    RD_INT p = i, stop = i + 64 * RD_VECTOR;
    if (stop > inner_to)
      stop = inner_to;
    for (int v = 0; v < RD_VECTOR; v++)
      top[v] = best;
    for (; p + RD_VECTOR <= stop; p += RD_VECTOR)
      for (RD_INT v = 0; v < many; v++) {
        const RD_KEY x = RD_ACC_KEY(RD_ELEMENT(p + v));
        top[v] = RD_PASSES(top[v], x) ? x : top[v];
      }
    if (p < stop && stop - inner_from >= RD_VECTOR) {
      p = stop - RD_VECTOR;
      for (RD_INT v = 0; v < many; v++) {
        const RD_KEY x = RD_ACC_KEY(RD_ELEMENT(p + v));
        top[v] = RD_PASSES(top[v], x) ? x : top[v];
      }
      p = stop;
    }
    for (RD_INT s = RD_VECTOR / 2 * lanes; s > 0; s /= 2)
      for (RD_INT v = 0; v < s; v++)
        top[v] = RD_PASSES(top[v], top[v + s]) ? top[v + s] : top[v];
    for (; p < stop; p++) {
      const RD_KEY x = RD_ACC_KEY(RD_ELEMENT(p));
      top[0] = RD_PASSES(top[0], x) ? x : top[0];
    }
    if (RD_PASSES(best, top[0])) {
      best = top[0];
      found = i;
    }
    i = stop;
  }
  while (found + RD_VECTOR <= inner_to) {
    int hits = 0;
    for (RD_INT v = 0; v < many; v++)
      hits |= !RD_PASSES(RD_ACC_KEY(RD_ELEMENT(found + v)), best);
    if (hits)
      break;
    found += RD_VECTOR;
  }
  while (RD_PASSES(RD_ACC_KEY(RD_ELEMENT(found)), best))
    found++;
  acc[0] = RD_COMBINE(acc[0], RD_ELEMENT(found));
}
