/* PL_ROWS results, one below the other, from o1 on, in column o2, or PL_LANES columns
 * from there on. Places outside of the data are those nearest within: they belong to
 * the window too, so that they change no maximum. Where PL_IS_INNER, no column is
 * outside. */
{
#if PL_IS_MAX
  PL_NUMBER best[PL_ROWS];
#elif PL_ROLE != PL_SHARES
  PL_NUMBER total[PL_ROWS];
  PL_EACH_ROW total[p] = 0;
#endif
#if PL_ROLE == PL_AT_FIRST
  PL_NUMBER taken[PL_ROWS];
#endif
#if PL_HAS_COUNTS
  PL_NUMBER number[PL_ROWS];
  PL_EACH_ROW number[p] = 0;
#endif
#if PL_IS_OF_MAXIMA
  PL_NUMBER maximum[PL_ROWS];
  PL_EACH_ROW maximum[p] =
      PL_GET(m + o0 * m0 + PL_LEAST(o1 + p, result1 - 1) * m1, o2, 0, 1, PL_STEP(m));
#endif
  for (PL_INT f0 = 0; f0 < PL_W0; f0++) {
    const PL_INT q0 = o0 * PL_S0 + f0 - before0, i0 = PL_WITHIN(q0, length0);
    PL_EACH
    for (PL_INT f1 = 0; f1 < (PL_ROWS - 1) * PL_S1 + PL_W1; f1++) {
      const PL_INT q1 = o1 * PL_S1 + f1 - before1, i1 = PL_WITHIN(q1, length1);
      const bool is_within = i0 == q0 && i1 == q1;
      (void)is_within;
      GLOBAL_MEM const PL_TYPE *a_row = a + i0 * a0 + i1 * a1;
#if !PL_IS_OF_MAXIMA
      PL_NUMBER row = 0;
#endif
#if PL_ROLE == PL_AT_FIRST
      PL_NUMBER row_taken = 0;
#endif
#if PL_HAS_VALUES
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
        const PL_NUMBER x = PL_GET(a_row, i2, f2, PL_S2, PL_STEP(a));
#if PL_HAS_VALUES
        const PL_NUMBER value = PL_GET(v_row, i2, f2, PL_S2, PL_STEP(v));
#endif
#if PL_ROLE == PL_AT_FIRST
        row_taken = f2 == 0 ? value : PL_IS_OVER(x, row) ? value : row_taken;
#endif
#if PL_IS_MAX
        row = f2 == 0 ? x : PL_IS_OVER(x, row) ? x : row;
#elif PL_ROLE == PL_POOL
        row += i2 == q2 ? x : (PL_NUMBER)0;
#elif PL_HAS_VALUES
        PL_EACH_ROW if (PL_HAS(p, f1) && is_within && i2 == q2) total[p] +=
            x == maximum[p] ? value : (PL_NUMBER)0;
#endif
#if PL_HAS_COUNTS
        PL_EACH_ROW if (PL_HAS(p, f1) && is_within && i2 == q2) number[p] +=
            x == maximum[p] ? (PL_NUMBER)1 : (PL_NUMBER)0;
#endif
      }
#if PL_IS_MAX
      PL_EACH_ROW if (PL_HAS(p, f1)) {
        const bool is_first = f0 == 0 && f1 == p * PL_S1;
#if PL_ROLE == PL_AT_FIRST
        taken[p] = is_first                   ? row_taken
                   : PL_IS_OVER(row, best[p]) ? row_taken
                                              : taken[p];
#endif
        best[p] = is_first ? row : PL_IS_OVER(row, best[p]) ? row : best[p];
      }
#elif PL_ROLE == PL_POOL
      PL_EACH_ROW if (PL_HAS(p, f1)) total[p] += is_within ? row : (PL_NUMBER)0;
#endif
    }
  }
  PL_EACH_ROW if (p == 0 || o1 + p < result1) {
#if PL_ROLE == PL_AT_FIRST
    PL_PUT(y + p * y1, o2, PL_STEP(y), taken[p]);
#elif PL_IS_MAX
    PL_PUT(y + p * y1, o2, PL_STEP(y), best[p]);
#elif PL_ROLE == PL_POOL && PL_IS_AVERAGE
    PL_PUT(y + p * y1, o2, PL_STEP(y),
           total[p] / PL_COUNT(o0, o1 + p, PL_IS_INNER ? PL_W2 : PL_EXTENT(o2, 2)));
#elif PL_ROLE == PL_SHARES
    PL_PUT(y + p * y1, o2, PL_STEP(y),
           PL_GET(v + o0 * v0 + (o1 + p) * v1, o2, 0, 1, PL_STEP(v)) /
               fmax(number[p], (PL_NUMBER)1));
#elif PL_HAS_COUNTS
    PL_PUT(y + p * y1, o2, PL_STEP(y), total[p] / fmax(number[p], (PL_NUMBER)1));
#else
    PL_PUT(y + p * y1, o2, PL_STEP(y), total[p]);
#endif
  }
}
