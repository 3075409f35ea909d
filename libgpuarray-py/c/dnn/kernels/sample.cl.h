/* Images interpolated at points, an item for each element of the result; or the
 * gradient by the points (SM_BY_GRID), an item for each, which adds up the channels.
 * b, c, y and x are strides of the images, n, r, q and p of the grid, o of the output,
 * g of the gradient of the result. */
#include "sample_words.cl.h"

#if SM_BY_GRID
#define SM_OUT SG_TYPE
#else
#define SM_OUT SM_TYPE
#endif

/* A pixel; zeros are beyond the image. */
#define SM_VALUE(name, row, column)                                                    \
  const SM_ACC name = SM_IS_WITHIN(row, column)                                        \
                          ? SM_LOAD(plane[(row) * y + (column) * x])                   \
                          : (SM_ACC)0;

KERNEL void SM_NAME(GLOBAL_MEM SM_OUT *out, ga_size out_off,
                    GLOBAL_MEM const SM_TYPE *GA_APART images, ga_size images_off,
                    GLOBAL_MEM const SG_TYPE *GA_APART grid, ga_size grid_off,
                    GLOBAL_MEM const SM_TYPE *GA_APART grad, ga_size grad_off,
                    SM_INT count, SM_INT channels, SM_INT height, SM_INT width,
                    SM_INT rows, SM_INT columns, SM_INT b, SM_INT c, SM_INT y, SM_INT x,
                    SM_INT n, SM_INT r, SM_INT q, SM_INT p, SM_INT o0, SM_INT o1,
                    SM_INT o2, SM_INT o3, SM_INT g0, SM_INT g1, SM_INT g2, SM_INT g3) {
  KERNEL_BEGIN;
  out = SM_AT(SM_OUT, out, out_off);
  images = SM_READ(SM_TYPE, images, images_off);
  grid = SM_READ(SG_TYPE, grid, grid_off);
  grad = SM_READ(SM_TYPE, grad, grad_off);
  for (SM_INT at = (SM_INT)(GID_0 * LDIM_0 + LID_0); at < count;
       at += (SM_INT)(GDIM_0 * LDIM_0)) {
    SM_INT rest = at;
    SM_NEXT(column, columns)
    SM_NEXT(row, rows)
#if !SM_BY_GRID
    SM_NEXT(channel, channels)
#endif
    GLOBAL_MEM const SG_TYPE *point = grid + rest * n + row * r + column * q;
    SM_PIXEL(left, to_right, SG_LOAD(point[0]), width)
    SM_PIXEL(upper, to_lower, SG_LOAD(point[p]), height)
#if SM_BY_GRID
    SM_ACC by_x = 0, by_y = 0;
    for (SM_INT channel = 0; channel < channels; channel++) {
      const SM_ACC slope =
          SM_LOAD(grad[rest * g0 + channel * g1 + row * g2 + column * g3]);
#endif
      GLOBAL_MEM const SM_TYPE *plane = images + rest * b + channel * c;
      SM_VALUE(upper_left, upper, left)
      SM_VALUE(upper_right, upper, left + 1)
      SM_VALUE(lower_left, upper + 1, left)
      SM_VALUE(lower_right, upper + 1, left + 1)
#if SM_BY_GRID
      by_x += slope * ((upper_right - upper_left) * (1 - to_lower) +
                       (lower_right - lower_left) * to_lower);
      by_y += slope * ((lower_left - upper_left) * (1 - to_right) +
                       (lower_right - upper_right) * to_right);
    }
    GLOBAL_MEM SG_TYPE *to = out + rest * o0 + row * o1 + column * o2;
    to[0] = SG_STORE(by_x * (SM_ACC)(width - 1) / 2);
    to[o3] = SG_STORE(by_y * (SM_ACC)(height - 1) / 2);
#else
    const SM_ACC above = upper_left * (1 - to_right) + upper_right * to_right;
    const SM_ACC below = lower_left * (1 - to_right) + lower_right * to_right;
    out[rest * o0 + channel * o1 + row * o2 + column * o3] =
        SM_STORE(above * (1 - to_lower) + below * to_lower);
#endif
  }
}
