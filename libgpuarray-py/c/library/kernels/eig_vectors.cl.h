/* Eigenvalues from the diagonal, eigenvectors by back substitution. */
for (ga_ulong c = bad ? 0 : n; c-- > 0;) {
  w[c] = a[c * n + c];
  for (ga_ulong r = c; r-- > 0;) {
    T s = a[r * n + c];
    for (ga_ulong j = r + 1; j < c; j++)
      s = mx_add(s, mx_mul(a[r * n + j], a[j * n + c]));
    T gap = mx_sub(w[c], a[r * n + r]);
    if (mx_abs(gap) <= eps * size)
      gap = mx_of(size > (R)0 ? eps * size : eps);
    a[r * n + c] = mx_div(s, gap);
  }
  R total = 0, top = -1;
  T most = mx_of(1);
  for (ga_ulong r = 0; r < n; r++) {
    T s = v[r * n + c];
    for (ga_ulong j = 0; j < c; j++)
      s = mx_add(s, mx_mul(v[r * n + j], a[j * n + c]));
    v[r * n + c] = s;
    const R y = mx_abs(s);
    if (y > top * ((R)1 + (R)8 * eps)) {
      top = y;
      most = s;
    }
    total = hypot(total, y);
  }
  const T turn = mx_over(mx_conj(mx_over(most, top)), total);
  for (ga_ulong r = 0; r < n; r++)
    v[r * n + c] = mx_mul(v[r * n + c], turn);
}
