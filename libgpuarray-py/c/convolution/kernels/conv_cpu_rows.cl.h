/* Copies a window of each image into contiguous rows: zeros outside of the image,
 * 16-bit types widened. Phase p of the last axis has elements p * apart + j * every. */
#include "conv_cpu_words.cl.h"

KERNEL_SIZED(1, 1)
void CV_NAME(GLOBAL_MEM CV_T *GA_APART out, ga_size out_off,
             GLOBAL_MEM const CV_S *GA_APART in, ga_size in_off, ga_int rows,
             ga_int channels, ga_int phases, ga_int apart, ga_int every, ga_int line,
             ga_int window0, ga_int window1, ga_int from0, ga_int from1, ga_int from2,
             ga_int length0, ga_int length1, ga_int length2, ga_int outer, ga_int inner,
             ga_int i0, ga_int i1, ga_int i2) {
  KERNEL_BEGIN;
  out = CV_AT(CV_T, out, out_off);
  in = CV_AT(const CV_S, in, in_off);
  const ga_int part = CV_CEIL(rows, (ga_int)GDIM_0);
  const ga_int first = (ga_int)GID_0 * part;
  const ga_int last = CV_LEAST(first + part, rows);
  for (ga_int row = first; row < last; row++) {
    ga_int rest = row;
    const ga_int place = row % (window0 * window1);
    const ga_int at1 = from1 + rest % window1;
    rest /= window1;
    const ga_int at0 = from0 + rest % window0;
    rest /= window0;
    const int is_inside = at0 >= 0 && at0 < length0 && at1 >= 0 && at1 < length1;
    GLOBAL_MEM const CV_S *source =
        in + (rest / channels * outer + rest % channels * inner + at0 * i0 + at1 * i1);
    for (ga_int phase = 0; phase < phases; phase++) {
      GLOBAL_MEM CV_T *to =
          out + ((rest * phases + phase) * (window0 * window1) + place) * line;
      /* Elements before the image, and before its end. */
      const ga_int at2 = from2 + phase * apart;
      ga_int skip = at2 < 0 ? CV_CEIL(-at2, every) : 0;
      ga_int stop = at2 < length2 ? CV_CEIL(length2 - at2, every) : 0;
      stop = is_inside ? CV_LEAST(stop, line) : 0;
      skip = CV_LEAST(skip, stop);
      const ga_int start = at2 * i2, step = every * i2;
      for (ga_int j = 0; j < skip; j++)
        to[j] = 0;
      ga_int j = skip;
#if !CV_IS_NARROW
      if (step == 1)
        for (; j + CV_LANES <= stop; j += CV_LANES)
          CV_VSTORE(CV_VLOAD(source + (start + j)), to + j);
#endif
      for (; j < stop; j++)
        to[j] = CV_LOAD(source[start + j * step]);
      for (; j < line; j++)
        to[j] = 0;
    }
  }
}
