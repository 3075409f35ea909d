/* Blocks of eight elements. */
for (; p + 8 <= to; p += 8) {
  SC_ACC acc[8];
  for (int v = 0; v < 8; v++)
    acc[v] = SC_AT_X(p + v);
  if (mode & 2) {
    for (int s = 1; s < 8; s <<= 1)
      for (int v = 0; v < 8; v += 2 * s)
        acc[v] = SC_COMBINE(acc[v], acc[v + s]);
    carry = SC_COMBINE(carry, acc[0]);
  } else {
    for (int s = 1; s < 8; s <<= 1)
      for (int v = 7; v >= s; v--)
        acc[v] = SC_COMBINE(acc[v - s], acc[v]);
    const SC_ACC before = carry;
    for (int v = 0; v < 8; v++)
      acc[v] = SC_COMBINE(before, acc[v]);
    carry = acc[7];
    if (mode & 1) {
      for (int v = 7; v > 0; v--)
        acc[v] = acc[v - 1];
      acc[0] = before;
    }
    for (int v = 0; v < 8; v++)
      SC_AT_O(p + v, acc[v]);
  }
}
