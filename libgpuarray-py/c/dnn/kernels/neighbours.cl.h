/* Neighbourhoods of images as rows of a matrix (NB_IS_SUM 0), or an element of an image
 * as the sum of its copies in them. An item computes an element of the output; complex
 * numbers are two elements, NB_PARTS. Strides are b, c, y and x of the image, r and q
 * of the matrix. NB_WRAPS: neighbourhoods reach over the edges. */

/* The last axis of what is left of an index. */
#define NB_NEXT(name, length)                                                          \
  const NB_INT name = rest % (length);                                                 \
  rest /= (length);
/* Place `i` of neighbourhood `n` on an axis: outside, or on the other side. */
#if NB_WRAPS
#define NB_PLACE(place, length)                                                        \
  if (place < 0)                                                                       \
    place += length;                                                                   \
  if (place >= length)                                                                 \
    place -= length;
#define NB_TURNS 1
#else
#define NB_PLACE(place, length)
#define NB_TURNS 0
#endif

KERNEL void NB_NAME(GLOBAL_MEM NB_TYPE *out, ga_size out_off,
                    GLOBAL_MEM const NB_TYPE *GA_APART in, ga_size in_off, NB_INT count,
                    NB_INT channels, NB_INT height, NB_INT width, NB_INT shape0,
                    NB_INT shape1, NB_INT step0, NB_INT step1, NB_INT before0,
                    NB_INT before1, NB_INT count0, NB_INT count1, NB_INT b, NB_INT c,
                    NB_INT y, NB_INT x, NB_INT r, NB_INT q) {
  KERNEL_BEGIN;
  out = (GLOBAL_MEM NB_TYPE *)((GLOBAL_MEM char *)out + out_off);
  in = (GLOBAL_MEM const NB_TYPE *)((GLOBAL_MEM const char *)in + in_off);
  for (NB_INT at = (NB_INT)(GID_0 * LDIM_0 + LID_0); at < count;
       at += (NB_INT)(GDIM_0 * LDIM_0)) {
    NB_INT rest = at;
    NB_NEXT(part, NB_PARTS)
#if !NB_IS_SUM
    NB_NEXT(column, shape0 * shape1)
    const NB_INT row = rest;
    NB_NEXT(n1, count1)
    NB_NEXT(n0, count0)
    NB_NEXT(channel, channels)
    NB_INT i0 = n0 * step0 + column / shape1 - before0;
    NB_INT i1 = n1 * step1 + column % shape1 - before1;
    NB_PLACE(i0, height)
    NB_PLACE(i1, width)
    NB_TYPE value = 0;
    if (i0 >= 0 && i0 < height && i1 >= 0 && i1 < width)
      value = in[rest * b + channel * c + i0 * y + i1 * x + part];
    out[row * r + column * q + part] = value;
#else
    NB_NEXT(i1, width)
    NB_NEXT(i0, height)
    const NB_INT first = rest * count0;
    NB_NEXT(channel, channels)
    NB_ACC sum = 0;
    for (NB_INT turn0 = -NB_TURNS; turn0 <= NB_TURNS; turn0++)
      for (NB_INT j0 = 0; j0 < shape0; j0++) {
        const NB_INT behind0 = i0 + turn0 * height + before0 - j0;
        const NB_INT n0 = behind0 / step0;
        if (behind0 < 0 || behind0 % step0 != 0 || n0 >= count0)
          continue;
        for (NB_INT turn1 = -NB_TURNS; turn1 <= NB_TURNS; turn1++)
          for (NB_INT j1 = 0; j1 < shape1; j1++) {
            const NB_INT behind1 = i1 + turn1 * width + before1 - j1;
            const NB_INT n1 = behind1 / step1;
            if (behind1 < 0 || behind1 % step1 != 0 || n1 >= count1)
              continue;
            const NB_INT row = (first + n0) * count1 + n1;
            sum += NB_LOAD(in[row * r + (j0 * shape1 + j1) * q + part]);
          }
      }
    out[rest * b + channel * c + i0 * y + i1 * x + part] = NB_STORE(sum);
#endif
  }
}
