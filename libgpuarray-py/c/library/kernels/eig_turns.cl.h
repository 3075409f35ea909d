/* Shifted QR iterations with deflation. */
ga_ulong last = n; /* active block: rows below `last` */
ga_int turns = 0;
while (!bad && last > 1) {
  const ga_ulong e = last - 1;
  ga_ulong first = e;
  for (; first > 0; first--) {
    const R near =
        mx_abs(a[first * n + first]) + mx_abs(a[(first - 1) * n + first - 1]);
    if (mx_abs(a[first * n + first - 1]) <= eps * (near > (R)0 ? near : size))
      break;
  }
  if (first > 0)
    a[first * n + first - 1] = mx_of(0);
  if (first == e) {
    last--;
    turns = 0;
    continue;
  }
  if (++turns > 300) {
    bad = 1;
    break;
  }
  const T aa = a[(e - 1) * n + e - 1], bb = a[(e - 1) * n + e];
  const T cc = a[e * n + e - 1], dd = a[e * n + e];
  T shift;
  if (turns % 10 == 0) {
    shift = mx_add(dd, mx_of(mx_abs(cc)));
  } else { /* Wilkinson's shift */
    const T mean = mx_scale(mx_sub(aa, dd), (R)0.5);
    const T root = ga_csqrt(mx_add(mx_mul(mean, mean), mx_mul(bb, cc)));
    const T plus = mx_add(mean, root), minus = mx_sub(mean, root);
    const T far = mx_abs(plus) > mx_abs(minus) ? plus : minus;
    shift = mx_abs(far) > (R)0 ? mx_sub(dd, mx_div(mx_mul(bb, cc), far)) : dd;
  }
  for (ga_ulong j = first; j < e; j++) {
    const T f = j == first ? mx_sub(a[j * n + j], shift) : a[j * n + j - 1];
    const T g = j == first ? a[(j + 1) * n + j] : a[(j + 1) * n + j - 1];
    MX_GIVENS
    const ga_ulong from = j == first ? j : j - 1;
    MX_TURN_ROWS(j, j + 1, from)
    if (j > first)
      a[(j + 1) * n + j - 1] = mx_of(0);
    const ga_ulong end = j + 3 < last ? j + 3 : last;
    MX_TURN_COLUMNS(a, j, j + 1, end)
    MX_TURN_COLUMNS(v, j, j + 1, n)
  }
}
