/* A pass: a work item makes one butterfly of FFT_RADIX elements, FFT_OTHERS(F) being
 * F(r) for all but the first. The first pass has no factors, converts from FFT_SOURCE,
 * takes what is beyond the `given` elements as 0, and exchanges the parts if `swap_in`.
 * FFT_LOAD is an element as a complex number. FFT_BUTTERFLY makes what FFT_RESULTS(F)
 * stores, F(r, name), of the values v0, v1, ... */
#if FFT_IS_FIRST
#define FFT_READ(r)                                                                    \
  FFT_T v##r = FFT_MAKE(0, 0);                                                         \
  if (j + r * m < given_)                                                              \
    v##r = FFT_LOAD(base + (j + r * m) * inner_, swap_in);
#else
#define FFT_READ(r)                                                                    \
  const FFT_T x##r = in[base + (j + r * m) * inner_];                                  \
  const FFT_T w##r = w[r * k * step];                                                  \
  const FFT_T v##r =                                                                   \
      FFT_MAKE(x##r.x * w##r.x - x##r.y * w##r.y, x##r.x * w##r.y + x##r.y * w##r.x);
#endif
#define FFT_WRITE(r, z)                                                                \
  out[to + r * done_ * inner_] = swap_out ? FFT_MAKE(z.y * scale, z.x * scale)         \
                                          : FFT_MAKE(z.x * scale, z.y * scale);

KERNEL void FFT_NAME(GLOBAL_MEM FFT_T *out, ga_size out_off,
                     GLOBAL_MEM const FFT_SOURCE *in, ga_size in_off,
                     GLOBAL_MEM const FFT_T *w, ga_size w_off, ga_size total, ga_size n,
                     ga_size inner, ga_size done, ga_size given, ga_uint swap_in,
                     ga_uint swap_out, FFT_REAL scale) {
  KERNEL_BEGIN;
  out = (GLOBAL_MEM FFT_T *)((GLOBAL_MEM char *)out + out_off);
  in = (GLOBAL_MEM const FFT_SOURCE *)((GLOBAL_MEM const char *)in + in_off);
  w = (GLOBAL_MEM const FFT_T *)((GLOBAL_MEM const char *)w + w_off);
  const FFT_INDEX inner_ = (FFT_INDEX)inner, done_ = (FFT_INDEX)done,
                  given_ = (FFT_INDEX)given;
  const FFT_INDEX m = (FFT_INDEX)n / FFT_RADIX, step = m / done_;
#if FFT_IS_FIRST
  (void)w;
  (void)step;
#endif
  for (ga_size at = GID_0 * LDIM_0 + LID_0; at < total; at += GDIM_0 * LDIM_0) {
    const FFT_INDEX g = (FFT_INDEX)at, t = g / inner_, i = g - t * inner_;
    const FFT_INDEX o = t / m, j = t - o * m, k = j % done_;
    const FFT_INDEX base = o * given_ * inner_ + i;
    const FFT_INDEX to = (o * (FFT_INDEX)n + (j - k) * FFT_RADIX + k) * inner_ + i;
#if FFT_IS_FIRST
    FFT_READ(0)
#else
    const FFT_T v0 = in[base + j * inner_];
#endif
    FFT_OTHERS(FFT_READ)
    FFT_BUTTERFLY
    FFT_RESULTS(FFT_WRITE)
  }
}
