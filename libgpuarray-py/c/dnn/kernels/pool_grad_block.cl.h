/* Gradients of PL_ROWS elements of data, one below the other, from row i1 on: they are
 * r1 behind the beginning of window o1, r2 in column i2 behind that of o2. Where
 * PL_IS_INNER, all windows of the column exist, and of PL_LANES columns a stride apart.
 */
PL_EACH_ROW total[p] = 0;
#if PL_MODE == PL_MAX
PL_NUMBER x[PL_ROWS];
PL_EACH_ROW x[p] =
    PL_GET(a + i0 * a0 + PL_WITHIN(i1 + p, length1) * a1, i2, r2, PL_S2, PL_STEP(a));
#endif
for (PL_INT k0 = 0; k0 < PL_K0; k0++) {
  const PL_INT q0 = o0 - k0, w0 = PL_WITHIN(q0, result0);
  const bool has0 = q0 == w0 && r0 + k0 * PL_S0 < PL_W0;
  PL_EACH
  for (PL_INT k1 = 0; k1 < PL_K1; k1++) {
    const PL_INT q1 = o1 - k1, w1 = PL_WITHIN(q1, result1);
    PL_EACH
    for (PL_INT k2 = 0; k2 < PL_K2; k2++) {
      const PL_INT q2 = o2 - k2;
#if PL_IS_INNER
      const PL_INT w2 = q2;
#else
      const PL_INT w2 = PL_WITHIN(q2, result2);
#endif
      const bool has = has0 && q1 == w1 && q2 == w2 && r2 + k2 * PL_S2 < PL_W2;
      PL_NUMBER g = PL_GET(v + w0 * v0 + w1 * v1, w2, 0, 1, PL_STEP(v));
#if PL_MODE == PL_MAX
      const PL_NUMBER maximum = PL_GET(m + w0 * m0 + w1 * m1, w2, 0, 1, PL_STEP(m));
#elif PL_IS_AVERAGE
      g /= PL_COUNT(w0, w1, PL_IS_INNER ? PL_W2 : PL_EXTENT(w2, 2));
#endif
      PL_EACH_ROW if (has && r1 + p + k1 * PL_S1 < PL_W1) total[p] += PL_TAKEN(p);
    }
  }
}
