/* The convolution times the chirp, scaled, its parts exchanged if `swap`. */
KERNEL void FFT_NAME(GLOBAL_MEM FFT_T *out, ga_size out_off, GLOBAL_MEM const FFT_T *in,
                     ga_size in_off, GLOBAL_MEM const FFT_T *c, ga_size c_off,
                     ga_size total, ga_size n, ga_size inner, ga_size length,
                     ga_uint swap, FFT_REAL scale) {
  KERNEL_BEGIN;
  out = (GLOBAL_MEM FFT_T *)((GLOBAL_MEM char *)out + out_off);
  in = (GLOBAL_MEM const FFT_T *)((GLOBAL_MEM const char *)in + in_off);
  c = (GLOBAL_MEM const FFT_T *)((GLOBAL_MEM const char *)c + c_off);
  const FFT_INDEX inner_ = (FFT_INDEX)inner, n_ = (FFT_INDEX)n;
  for (ga_size at = GID_0 * LDIM_0 + LID_0; at < total; at += GDIM_0 * LDIM_0) {
    const FFT_INDEX g = (FFT_INDEX)at, t = g / inner_, i = g - t * inner_;
    const FFT_INDEX o = t / n_, j = t - o * n_;
    const FFT_T a = in[(o * (FFT_INDEX)length + j) * inner_ + i], f = c[j];
    const FFT_REAL x = (a.x * f.x - a.y * f.y) * scale;
    const FFT_REAL y = (a.x * f.y + a.y * f.x) * scale;
    out[g] = swap ? FFT_MAKE(y, x) : FFT_MAKE(x, y);
  }
}
