/* RD_ROWS rows of a tile at a time; in strips of columns where the compiler vectorizes
 * straight-line code only (SLP). */
for (; i + RD_ROWS <= inner_to; i += RD_ROWS) {
  RD_INT c = 0;
#if defined(RD_MANY) && defined(RD_LINE)
  for (; c + 16 <= wide; c += 16) {
    RD_MANY run = RD_MANY_AT(RD_LINE(i) + c);
    for (int u = 1; u < RD_ROWS; u++)
      run = RD_COMBINE(run, RD_MANY_AT(RD_LINE(i + u) + c));
    vstore16(RD_COMBINE(vload16(0, totals + c), run), 0, totals + c);
  }
#elif GA_STRAIGHT_VECTORS
  for (; c + RD_STRIP <= wide; c += RD_STRIP) {
    RD_ACC run[RD_STRIP];
    for (int v = 0; v < RD_STRIP; v++)
      run[v] = RD_ELEMENT(i, c + v);
    for (int u = 1; u < RD_ROWS; u++)
      for (int v = 0; v < RD_STRIP; v++)
        run[v] = RD_JOIN(run[v], RD_ELEMENT(i + u, c + v), 0);
    for (int v = 0; v < RD_STRIP; v++) {
      RD_LOAD_TOTAL(c + v)
      RD_KEEP_TOTAL(c + v, RD_COMBINE(total, run[v]))
    }
  }
#endif
  for (; c < wide; c++) {
    RD_ACC run = RD_ELEMENT(i, c);
#pragma unroll
    for (int u = 1; u < RD_ROWS; u++)
      run = RD_JOIN(run, RD_ELEMENT(i + u, c), 0);
    RD_LOAD_TOTAL(c)
    RD_KEEP_TOTAL(c, RD_COMBINE(total, run))
  }
}
for (; i < inner_to; i++)
  for (RD_INT c = 0; c < wide; c++) {
    RD_LOAD_TOTAL(c)
    RD_KEEP_TOTAL(c, RD_COMBINE(total, RD_ELEMENT(i, c)))
  }
