/* What the gradient of a sampler adds to the images: for each point four rows of as
 * many numbers as there are channels, and for each row the number of its pixel. An item
 * computes the four numbers of a channel. Of a pixel outside the numbers are 0. */
#include "sample_words.cl.h"

#define SM_CORNER(corner, row_share, column_share, row, column)                        \
  {                                                                                    \
    const bool is_within = SM_IS_WITHIN(row, column);                                  \
    const SM_INT line = 4 * place + (corner);                                          \
    values[line * channels + channel] =                                                \
        is_within ? slope * (row_share) * (column_share) : (SM_ACC)0;                  \
    if (channel == 0)                                                                  \
      pixels[line] =                                                                   \
          is_within ? (SM_INDEX)((rest * height + (row)) * width + (column)) : 0;      \
  }

KERNEL void SM_NAME(GLOBAL_MEM SM_ACC *values, ga_size values_off,
                    GLOBAL_MEM SM_INDEX *pixels, ga_size pixels_off,
                    GLOBAL_MEM const SG_TYPE *GA_APART grid, ga_size grid_off,
                    GLOBAL_MEM const SM_TYPE *GA_APART grad, ga_size grad_off,
                    SM_INT count, SM_INT channels, SM_INT height, SM_INT width,
                    SM_INT rows, SM_INT columns, SM_INT n, SM_INT r, SM_INT q, SM_INT p,
                    SM_INT g0, SM_INT g1, SM_INT g2, SM_INT g3) {
  KERNEL_BEGIN;
  values = SM_AT(SM_ACC, values, values_off);
  pixels = SM_AT(SM_INDEX, pixels, pixels_off);
  grid = SM_READ(SG_TYPE, grid, grid_off);
  grad = SM_READ(SM_TYPE, grad, grad_off);
  for (SM_INT at = (SM_INT)(GID_0 * LDIM_0 + LID_0); at < count;
       at += (SM_INT)(GDIM_0 * LDIM_0)) {
    SM_INT rest = at;
    SM_NEXT(channel, channels)
    const SM_INT place = rest;
    SM_NEXT(to_column, columns)
    SM_NEXT(to_row, rows)
    GLOBAL_MEM const SG_TYPE *point = grid + rest * n + to_row * r + to_column * q;
    SM_PIXEL(left, to_right, SG_LOAD(point[0]), width)
    SM_PIXEL(upper, to_lower, SG_LOAD(point[p]), height)
    const SM_ACC slope =
        SM_LOAD(grad[rest * g0 + channel * g1 + to_row * g2 + to_column * g3]);
    SM_CORNER(0, 1 - to_lower, 1 - to_right, upper, left)
    SM_CORNER(1, 1 - to_lower, to_right, upper, left + 1)
    SM_CORNER(2, to_lower, 1 - to_right, upper + 1, left)
    SM_CORNER(3, to_lower, to_right, upper + 1, left + 1)
  }
}
