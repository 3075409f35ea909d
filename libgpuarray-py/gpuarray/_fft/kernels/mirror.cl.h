/* The whole of an array whose transform is real, from its half: what is beyond the half
 * are the conjugates of the others. The parts that must be 0 are taken as such. */
KERNEL void FFT_NAME(GLOBAL_MEM FFT_T *out, ga_size out_off, GLOBAL_MEM const FFT_T *in,
                     ga_size in_off, ga_size total, ga_size n, ga_size inner,
                     ga_size given) {
  KERNEL_BEGIN;
  out = (GLOBAL_MEM FFT_T *)((GLOBAL_MEM char *)out + out_off);
  in = (GLOBAL_MEM const FFT_T *)((GLOBAL_MEM const char *)in + in_off);
  const FFT_INDEX inner_ = (FFT_INDEX)inner, n_ = (FFT_INDEX)n, middle = n_ / 2;
  for (ga_size at = GID_0 * LDIM_0 + LID_0; at < total; at += GDIM_0 * LDIM_0) {
    const FFT_INDEX g = (FFT_INDEX)at, t = g / inner_, i = g - t * inner_;
    const FFT_INDEX o = t / n_, j = t - o * n_, k = j <= middle ? j : n_ - j;
    FFT_T z = FFT_MAKE(0, 0);
    if (k < (FFT_INDEX)given)
      z = in[(o * (FFT_INDEX)given + k) * inner_ + i];
    if (k == 0 || 2 * k == n_)
      z.y = 0;
    out[g] = j <= middle ? z : FFT_MAKE(z.x, -z.y);
  }
}
