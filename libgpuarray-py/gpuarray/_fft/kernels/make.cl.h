/* The complex number of two parts. */
GA_INLINE FFT_T FFT_MAKE(FFT_REAL x, FFT_REAL y) {
  FFT_T z;
  z.x = x;
  z.y = y;
  return z;
}
