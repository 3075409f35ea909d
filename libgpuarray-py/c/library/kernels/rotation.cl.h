/* t, s and u of the rotation for tangents of twice the angle of 1 / z. */
#define MX_ROTATION                                                                    \
  const R t = (z < (R)0 ? (R) - 1 : (R)1) / (fabs(z) + hypot(z, (R)1));                \
  const R u = (R)1 / hypot(t, (R)1), s = t * u;

/* Two elements x, y rotated, the second one turned by a phase first. */
#define MX_ROTATE(x, y, phase)                                                         \
  {                                                                                    \
    const T b = x, d = mx_mul(y, phase);                                               \
    x = mx_sub(mx_scale(b, u), mx_scale(d, s));                                        \
    y = mx_add(mx_scale(b, s), mx_scale(d, u));                                        \
  }
