/* The transform of what is convolved times that of the chirp, in place. */
KERNEL void FFT_NAME(GLOBAL_MEM FFT_T *x, ga_size x_off, GLOBAL_MEM const FFT_T *c,
                     ga_size c_off, ga_size total, ga_size inner, ga_size length) {
  KERNEL_BEGIN;
  x = (GLOBAL_MEM FFT_T *)((GLOBAL_MEM char *)x + x_off);
  c = (GLOBAL_MEM const FFT_T *)((GLOBAL_MEM const char *)c + c_off);
  const FFT_INDEX inner_ = (FFT_INDEX)inner, m = (FFT_INDEX)length;
  for (ga_size at = GID_0 * LDIM_0 + LID_0; at < total; at += GDIM_0 * LDIM_0) {
    const FFT_INDEX g = (FFT_INDEX)at, t = g / inner_;
    const FFT_T a = x[g], f = c[t % m];
    x[g] = FFT_MAKE(a.x * f.x - a.y * f.y, a.x * f.y + a.y * f.x);
  }
}
