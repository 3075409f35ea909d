/* Bilinear upsampling (UP_IS_GRAD 0), or its gradient by the images. An item computes
 * elements of the output from their neighbours. Places along an axis are in steps of an
 * up-th: output o is at o * down - half, image i at i * up. b, c, y and x are strides
 * of the output, the others of the input. */
#include "layer_walk.cl.h"

#define UP_WITHIN(place, most) ((place) < 0 ? 0 : (place) < (most) ? (place) : (most))
/* The place of output o, which is not beyond the ends. */
#define UP_PLACE(o, axis)                                                              \
  UP_WITHIN((o) * UP_DOWN##axis - (UP_UP##axis - 1) / 2,                               \
            (length##axis - 1) * UP_UP##axis)
/* The image elements around output o, and the share of the second. */
#define UP_AROUND(o, axis)                                                             \
  const UP_INT place##axis = UP_PLACE(o, axis);                                        \
  const UP_INT i##axis = place##axis / UP_UP##axis;                                    \
  const UP_INT j##axis = i##axis + 1 < length##axis ? i##axis + 1 : i##axis;           \
  const UP_ACC share##axis =                                                           \
      (UP_ACC)(place##axis - i##axis * UP_UP##axis) / UP_UP##axis;
/* The outputs first to last, without the last, that image element i has a share of. */
#define UP_OUTPUTS(i, axis)                                                            \
  const UP_INT below##axis = ((i) - 1) * UP_UP##axis + (UP_UP##axis - 1) / 2;          \
  const UP_INT above##axis = ((i) + 1) * UP_UP##axis + (UP_UP##axis - 1) / 2;          \
  const UP_INT first##axis = (i) == 0 ? 0 : below##axis / UP_DOWN##axis + 1;           \
  const UP_INT end##axis = (above##axis + UP_DOWN##axis - 1) / UP_DOWN##axis;          \
  const UP_INT last##axis =                                                            \
      (i) + 1 == length##axis || end##axis > result##axis ? result##axis : end##axis;
/* The share that image element i has of output o. */
#define UP_SHARE(share, o, i, axis)                                                    \
  const UP_INT away##share = UP_PLACE(o, axis) - (i) * UP_UP##axis;                    \
  const UP_ACC share =                                                                 \
      (UP_ACC)(UP_UP##axis - (away##share < 0 ? -away##share : away##share)) /         \
      UP_UP##axis;

#define UP_PLANE GLOBAL_MEM const UP_TYPE *plane = in + rest * in_b + channel * in_c;
#define UP_STORE_AT(value)                                                             \
  out[rest * b + channel * c + n0 * y + n1 * x] = UP_STORE(value);
#if UP_IS_GRAD
#define UP_ROW UP_PLANE UP_OUTPUTS(n0, 0)
#define UP_ELEMENT                                                                     \
  UP_ACC value = 0;                                                                    \
  UP_OUTPUTS(n1, 1)                                                                    \
  for (UP_INT o1 = first1; o1 < last1; o1++) {                                         \
    UP_ACC column = 0;                                                                 \
    UP_SHARE(of_column, o1, n1, 1)                                                     \
    for (UP_INT o0 = first0; o0 < last0; o0++) {                                       \
      UP_SHARE(of_row, o0, n0, 0)                                                      \
      column += UP_LOAD(plane[o0 * in_y + o1 * in_x]) * of_row;                        \
    }                                                                                  \
    value += column * of_column;                                                       \
  }                                                                                    \
  UP_STORE_AT(value)
#else
#define UP_ROW UP_PLANE UP_AROUND(n0, 0)
#define UP_ELEMENT                                                                     \
  UP_AROUND(n1, 1)                                                                     \
  const UP_ACC upper = UP_LOAD(plane[i0 * in_y + i1 * in_x]) * (1 - share1) +          \
                       UP_LOAD(plane[i0 * in_y + j1 * in_x]) * share1;                 \
  const UP_ACC lower = UP_LOAD(plane[j0 * in_y + i1 * in_x]) * (1 - share1) +          \
                       UP_LOAD(plane[j0 * in_y + j1 * in_x]) * share1;                 \
  UP_STORE_AT(upper * (1 - share0) + lower * share0)
#endif

KERNEL void UP_NAME(GLOBAL_MEM UP_TYPE *out, ga_size out_off,
                    GLOBAL_MEM const UP_TYPE *GA_APART in, ga_size in_off, UP_INT count,
                    UP_INT channels, UP_INT length0, UP_INT length1, UP_INT result0,
                    UP_INT result1, UP_INT b, UP_INT c, UP_INT y, UP_INT x, UP_INT in_b,
                    UP_INT in_c, UP_INT in_y, UP_INT in_x) {
  KERNEL_BEGIN;
  out = (GLOBAL_MEM UP_TYPE *)((GLOBAL_MEM char *)out + out_off);
  in = (GLOBAL_MEM const UP_TYPE *)((GLOBAL_MEM const char *)in + in_off);
#if UP_IS_GRAD
  const UP_INT height = length0, width = length1;
#else
  const UP_INT height = result0, width = result1;
#endif
  LW_WALK(UP_INT, count, height, width, channels, UP_ROW, UP_ELEMENT)
}
