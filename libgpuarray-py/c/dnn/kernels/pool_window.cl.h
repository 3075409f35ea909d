/* PL_ROWS results, one below the other, from o1 on, in column o2. Places outside of the
 * data are those nearest within: they belong to the window too, so that they change no
 * maximum. Where PL_IS_INNER, no column is outside. */
{
#if PL_IS_MAX
  PL_ACC best[PL_ROWS];
#else
  PL_ACC total[PL_ROWS];
  PL_EACH_ROW total[p] = 0;
#endif
#if PL_ROLE == PL_AT_FIRST
  PL_ACC taken[PL_ROWS];
#endif
#if PL_ROLE == PL_AT_MAXIMA
  PL_ACC maximum[PL_ROWS];
  PL_EACH_ROW maximum[p] =
      PL_LOAD(m[o0 * m0 + PL_LEAST(o1 + p, result1 - 1) * m1 + o2 * PL_STEP(m)]);
#endif
  for (PL_INT f0 = 0; f0 < PL_W0; f0++) {
    const PL_INT q0 = o0 * PL_S0 + f0 - before0, i0 = PL_WITHIN(q0, length0);
    PL_EACH
    for (PL_INT f1 = 0; f1 < (PL_ROWS - 1) * PL_S1 + PL_W1; f1++) {
      const PL_INT q1 = o1 * PL_S1 + f1 - before1, i1 = PL_WITHIN(q1, length1);
      const bool is_within = i0 == q0 && i1 == q1;
      (void)is_within;
      GLOBAL_MEM const PL_TYPE *a_row = a + i0 * a0 + i1 * a1;
#if PL_ROLE == PL_POOL && PL_IS_MAX
      PL_ACC row = 0;
#elif PL_ROLE == PL_AT_FIRST
      PL_ACC row = 0, row_taken = 0;
#elif PL_ROLE == PL_POOL
      PL_ACC row = 0;
#endif
#if PL_ROLE != PL_POOL
      GLOBAL_MEM const PL_TYPE *v_row = v + i0 * v0 + i1 * v1;
#endif
      PL_EACH
      for (PL_INT f2 = 0; f2 < PL_W2; f2++) {
        const PL_INT q2 = o2 * PL_S2 + f2 - before2;
#if PL_IS_INNER
        const PL_INT i2 = q2;
#else
        const PL_INT i2 = PL_WITHIN(q2, length2);
#endif
        const PL_ACC x = PL_LOAD(a_row[i2 * PL_STEP(a)]);
#if PL_ROLE == PL_POOL && PL_IS_MAX
        if (f2 == 0 || PL_IS_OVER(x, row))
          row = x;
#elif PL_ROLE == PL_AT_FIRST
        const PL_ACC value = PL_LOAD(v_row[i2 * PL_STEP(v)]);
        if (f2 == 0 || PL_IS_OVER(x, row)) {
          row = x;
          row_taken = value;
        }
#elif PL_ROLE == PL_POOL
        row += i2 == q2 ? x : 0;
#else
        const PL_ACC value = PL_LOAD(v_row[i2 * PL_STEP(v)]);
        PL_EACH_ROW if (PL_HAS(p, f1) && is_within && i2 == q2 && x == maximum[p])
            total[p] += value;
#endif
      }
#if PL_IS_MAX
      PL_EACH_ROW if (PL_HAS(p, f1) &&
                      ((f0 == 0 && f1 == p * PL_S1) || PL_IS_OVER(row, best[p]))) {
        best[p] = row;
#if PL_ROLE == PL_AT_FIRST
        taken[p] = row_taken;
#endif
      }
#elif PL_ROLE == PL_POOL
      PL_EACH_ROW if (PL_HAS(p, f1)) total[p] += is_within ? row : 0;
#endif
    }
  }
  PL_EACH_ROW if (p == 0 || o1 + p < result1) {
#if PL_ROLE == PL_AT_FIRST
    y[p * y1 + o2 * PL_STEP(y)] = PL_STORE(taken[p]);
#elif PL_IS_MAX
    y[p * y1 + o2 * PL_STEP(y)] = PL_STORE(best[p]);
#elif PL_ROLE == PL_POOL && PL_IS_AVERAGE
    y[p * y1 + o2 * PL_STEP(y)] = PL_STORE(total[p] / PL_COUNT(o0, o1 + p, o2));
#else
    y[p * y1 + o2 * PL_STEP(y)] = PL_STORE(total[p]);
#endif
  }
}
