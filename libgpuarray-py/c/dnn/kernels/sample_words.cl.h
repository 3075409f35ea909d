/* Words of the sampler: a point of the grid among the pixels of an axis. SM_TYPE is of
 * the images, SG_TYPE of the grid; both are computed with as SM_ACC. */
/* The last axis of what is left of an index. */
#define SM_NEXT(name, length)                                                          \
  const SM_INT name = rest % (length);                                                 \
  rest /= (length);
/* The pixel before a coordinate, and the share of the one behind it. Far outside, and
 * for nan, both pixels are outside. */
#define SM_PIXEL(pixel, share, coordinate, length)                                     \
  const SM_ACC at_##pixel = ((coordinate) + 1) * (SM_ACC)((length) - 1) / 2;           \
  const bool near_##pixel = at_##pixel > -1 && at_##pixel < (SM_ACC)(length);          \
  const SM_ACC floor_##pixel = near_##pixel ? floor(at_##pixel) : (SM_ACC) - 2;        \
  const SM_INT pixel = (SM_INT)floor_##pixel;                                          \
  const SM_ACC share = near_##pixel ? at_##pixel - floor_##pixel : (SM_ACC)0;
#define SM_IS_WITHIN(y, x) ((y) >= 0 && (y) < height && (x) >= 0 && (x) < width)
#define SM_AT(type, pointer, bytes)                                                    \
  (GLOBAL_MEM type *)((GLOBAL_MEM char *)pointer + bytes)
#define SM_READ(type, pointer, bytes)                                                  \
  (GLOBAL_MEM const type *)((GLOBAL_MEM const char *)pointer + bytes)
