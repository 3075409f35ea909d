/* Row by row of SC_WIDTH columns. */
for (; p < to; p++) {
  GLOBAL_MEM const char *xt = xp + (ga_ssize)p * xs;
  GLOBAL_MEM char *ot = op + (ga_ssize)p * os;
  if (mode & 2) {
    for (int v = 0; v < SC_WIDTH; v++)
      acc[v] = SC_COMBINE(acc[v], SC_AT_X(SC_COLUMN(v)));
  } else if (mode & 1) {
    for (int v = 0; v < SC_WIDTH; v++) {
      const SC_ACC before = acc[v];
      acc[v] = SC_COMBINE(before, SC_AT_X(SC_COLUMN(v)));
      SC_AT_O(SC_COLUMN(v), before);
    }
  } else {
    for (int v = 0; v < SC_WIDTH; v++) {
      acc[v] = SC_COMBINE(acc[v], SC_AT_X(SC_COLUMN(v)));
      SC_AT_O(SC_COLUMN(v), acc[v]);
    }
  }
}
