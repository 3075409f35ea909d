/* Partial pivoting: swaps row `best` with column c's largest element into row c. */
#define MX_PIVOT                                                                       \
  ga_ulong best = c;                                                                   \
  R top = mx_abs(a[c * n + c]);                                                        \
  for (ga_ulong r = c + 1; r < n; r++) {                                               \
    const R v = mx_abs(a[r * n + c]);                                                  \
    if (v > top) {                                                                     \
      top = v;                                                                         \
      best = r;                                                                        \
    }                                                                                  \
  }                                                                                    \
  if (top == (R)0) {                                                                   \
    bad = 1;                                                                           \
    break;                                                                             \
  }                                                                                    \
  for (ga_ulong j = 0; best != c && j < n; j++)                                        \
  MX_SWAP(T, a[c * n + j], a[best * n + j])
