/* Pseudo-inverse, from the SVD. */
GLOBAL_MEM T *e = p4 + i * n * m;
const R rate = cutoff < (R)0 ? eps * (R)(m > n ? m : n) : cutoff;
for (ga_ulong r = 0; r < n; r++)
  for (ga_ulong c = 0; c < m; c++) {
    T s = mx_of(0);
    for (ga_ulong j = 0; j < n; j++)
      if (w[j] > rate * w[0])
        s = mx_add(s,
                   mx_mul(mx_over(mx_conj(v[j * n + r]), w[j]), mx_conj(o[c * k + j])));
    e[r * m + c] = s;
  }
