/* Elements times the chirp, then zeros up to `length`: what is convolved. FFT_LOAD is
 * an element as a complex number, its parts exchanged if `swap`. */
KERNEL void FFT_NAME(GLOBAL_MEM FFT_T *out, ga_size out_off,
                     GLOBAL_MEM const FFT_SOURCE *in, ga_size in_off,
                     GLOBAL_MEM const FFT_T *c, ga_size c_off, ga_size total, ga_size n,
                     ga_size inner, ga_size length, ga_size given, ga_uint swap) {
  KERNEL_BEGIN;
  out = (GLOBAL_MEM FFT_T *)((GLOBAL_MEM char *)out + out_off);
  in = (GLOBAL_MEM const FFT_SOURCE *)((GLOBAL_MEM const char *)in + in_off);
  c = (GLOBAL_MEM const FFT_T *)((GLOBAL_MEM const char *)c + c_off);
  const FFT_INDEX inner_ = (FFT_INDEX)inner, m = (FFT_INDEX)length;
  for (ga_size at = GID_0 * LDIM_0 + LID_0; at < total; at += GDIM_0 * LDIM_0) {
    const FFT_INDEX g = (FFT_INDEX)at, t = g / inner_, i = g - t * inner_;
    const FFT_INDEX o = t / m, j = t - o * m;
    FFT_T z = FFT_MAKE(0, 0);
    if (j < (FFT_INDEX)n && j < (FFT_INDEX)given) {
      const FFT_INDEX from = (o * (FFT_INDEX)given + j) * inner_ + i;
      const FFT_T x = FFT_LOAD(from, swap), f = c[j];
      z = FFT_MAKE(x.x * f.x - x.y * f.y, x.x * f.y + x.y * f.x);
    }
    out[g] = z;
  }
}
