/* Images interpolated at points, an item for each element of the result; or the
 * gradient by the points (SM_BY_GRID), an item for each, which adds up the channels.
 * b, c, y and x are strides of the images, n, r, q and p of the grid, o of the output,
 * g of the gradient of the result. */
#include "layer_walk.cl.h"
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
#define SM_VALUES                                                                      \
  SM_VALUE(upper_left, upper, left)                                                    \
  SM_VALUE(upper_right, upper, left + 1)                                               \
  SM_VALUE(lower_left, upper + 1, left)                                                \
  SM_VALUE(lower_right, upper + 1, left + 1)
#define SM_POINT                                                                       \
  GLOBAL_MEM const SG_TYPE *point = points + n1 * q;                                   \
  SM_PIXEL(left, to_right, SG_LOAD(point[0]), width)                                   \
  SM_PIXEL(upper, to_lower, SG_LOAD(point[p]), height)
#define SM_POINTS GLOBAL_MEM const SG_TYPE *points = grid + rest * n + n0 * r;
#if SM_BY_GRID
#define SM_CHANNELS 1
#define SM_ROW SM_POINTS
#define SM_ELEMENT                                                                     \
  SM_POINT                                                                             \
  SM_ACC by_x = 0, by_y = 0;                                                           \
  for (SM_INT k = 0; k < channels; k++) {                                              \
    const SM_ACC slope = SM_LOAD(grad[rest * g0 + k * g1 + n0 * g2 + n1 * g3]);        \
    GLOBAL_MEM const SM_TYPE *plane = images + rest * b + k * c;                       \
    SM_VALUES                                                                          \
    by_x += slope * ((upper_right - upper_left) * (1 - to_lower) +                     \
                     (lower_right - lower_left) * to_lower);                           \
    by_y += slope * ((lower_left - upper_left) * (1 - to_right) +                      \
                     (lower_right - upper_right) * to_right);                          \
  }                                                                                    \
  GLOBAL_MEM SG_TYPE *to = out + rest * o0 + n0 * o1 + n1 * o2;                        \
  to[0] = SG_STORE(by_x * (SM_ACC)(width - 1) / 2);                                    \
  to[o3] = SG_STORE(by_y * (SM_ACC)(height - 1) / 2);
#else
#define SM_CHANNELS channels
#define SM_ROW                                                                         \
  SM_POINTS                                                                            \
  GLOBAL_MEM const SM_TYPE *plane = images + rest * b + channel * c;
#define SM_ELEMENT                                                                     \
  SM_POINT                                                                             \
  SM_VALUES                                                                            \
  const SM_ACC above = upper_left * (1 - to_right) + upper_right * to_right;           \
  const SM_ACC below = lower_left * (1 - to_right) + lower_right * to_right;           \
  out[rest * o0 + channel * o1 + n0 * o2 + n1 * o3] =                                  \
      SM_STORE(above * (1 - to_lower) + below * to_lower);
#endif

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
  LW_WALK(SM_INT, count, rows, columns, SM_CHANNELS, SM_ROW, SM_ELEMENT)
}
