/* Jacobi rotation for cot(2 angle) = z: tangent t, sine s, cosine u. */
#define MX_ROTATION                                                                    \
  const R t = (z < (R)0 ? (R) - 1 : (R)1) / (fabs(z) + hypot(z, (R)1));                \
  const R u = (R)1 / hypot(t, (R)1), s = t * u;

/* Rotates x and y, after multiplying y by `phase`. */
#define MX_ROTATE(x, y, phase)                                                         \
  {                                                                                    \
    const T b = x, d = mx_mul(y, phase);                                               \
    x = mx_sub(mx_scale(b, u), mx_scale(d, s));                                        \
    y = mx_add(mx_scale(b, s), mx_scale(d, u));                                        \
  }
