/* float64 to float16 or bfloat16 must round once: round to odd in the intermediate
 * float32 keeps what the final rounding needs. Infinities and NaN are unchanged. */
d = (ga_float)(CAST_SOURCE);
if ((ga_double)d != CAST_SOURCE && d - d == 0) {
  union {
    ga_float f;
    ga_uint u;
  } odd;
  odd.f = d;
  if ((d < 0 ? -(ga_double)d : (ga_double)d) >
      (CAST_SOURCE < 0 ? -CAST_SOURCE : CAST_SOURCE))
    odd.u -= 1;
  odd.u |= 1;
  d = odd.f;
}
