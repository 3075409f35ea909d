/* CPU: a single item may make up the group; its accumulators are then adjacent, in a
 * form that the compiler vectorizes. With numbers of elements there is one form: texts
 * of random numbers take long to compile. */
if (!RD_NUMBERS && (mode & 1)) {
#define RD_ELEMENT RD_UNIT_ELEMENT
#if RD_PICK && defined(RD_MANY)
#include "rows_pick_vectors.cl.h"
#elif RD_PICK
#include "rows_pick_loop.cl.h"
#elif defined(RD_MANY) && GA_WARP_SIZE == 1
  /* Explicit SIMD by a single item: two vectors at a time, so that a combination does
   * not wait for the one before. */
  if (i + 16 <= inner_to) {
    RD_MANY total = vload16(0, acc);
    while (i + 32 <= inner_to) {
      RD_INT stop = i + 64 * 32;
      if (stop > inner_to - 31)
        stop = inner_to - 31;
      RD_MANY run = RD_MANY_AT(y0 + i), other = RD_MANY_AT(y0 + i + 16);
      for (i += 32; i < stop; i += 32) {
        run = RD_COMBINE(run, RD_MANY_AT(y0 + i));
        other = RD_COMBINE(other, RD_MANY_AT(y0 + i + 16));
      }
      total = RD_COMBINE(total, RD_COMBINE(run, other));
    }
    for (; i + 16 <= inner_to; i += 16)
      total = RD_COMBINE(total, RD_MANY_AT(y0 + i));
    vstore16(total, 0, acc);
  }
  for (int v = 0; i + v < inner_to; v++)
    acc[v] = RD_COMBINE(acc[v], RD_ELEMENT(i + v));
#else
  if (GA_WARP_SIZE == 1 || lanes == 1) {
/* `lane` is 0: with the number itself Intel's compiler fails on processors without
 * AVX-512, where the map calls a function. */
#define RD_LANES 1
#define RD_LANE lane
#include "rows_loop.cl.h"
  } else {
#undef RD_LANES
#undef RD_LANE
#define RD_LANES lanes
#define RD_LANE lane
#include "rows_loop.cl.h"
  }
#endif
#if RD_FOURS
  /* Four neighbours share a random count: their maps come first, in loops that
   * compilers vectorize. */
} else if (RD_IN_FOURS) {
#undef RD_ELEMENT
#define RD_ELEMENT RD_STRIDED_ELEMENT
#if GA_WARP_SIZE == 1
#define RD_INNER 16
#else
#define RD_INNER 1
#endif
  const RD_INT step = 4 * RD_INNER * lanes;
  while (i + step <= inner_to) {
    RD_ACC run[RD_WIDTH];
    const RD_INT stop = inner_to - i > 64 * step ? i + 64 * step : inner_to;
    for (int v = 0; v < RD_WIDTH; v++)
      run[v] = RD_IDENTITY;
    for (; i + step <= stop; i += step) {
      RD_ACC made[4 * RD_INNER];
      for (int m = 0; m < RD_INNER; m++) {
        const RD_INT f = i + 4 * (m + lane);
#pragma unroll
        for (int k = 0; k < 4; k++)
          made[4 * m + k] = RD_FOUR_ELEMENT(f, k);
      }
      for (int v = 0; v < 4 * RD_INNER; v++)
        run[v % RD_WIDTH] = RD_COMBINE(run[v % RD_WIDTH], made[v]);
    }
    for (int v = 0; v < RD_WIDTH; v++)
      acc[v] = RD_COMBINE(acc[v], run[v]);
  }
#undef RD_LANES
#undef RD_LANE
#define RD_LANES lanes
#define RD_LANE lane
#include "rows_loop.cl.h"
#endif
#if defined(RD_MIXED_ELEMENT) && GA_WARP_SIZE > 1 && !RD_PICK
} else if (mode & 4) {
#undef RD_ELEMENT
#define RD_ELEMENT RD_MIXED_ELEMENT
#undef RD_LANES
#undef RD_LANE
#define RD_LANES lanes
#define RD_LANE lane
  RD_FIRSTS
#include "rows_loop.cl.h"
#endif
} else {
#undef RD_ELEMENT
#define RD_ELEMENT RD_STRIDED_ELEMENT
#if RD_PICK
#include "rows_pick_loop.cl.h"
#else
#undef RD_LANES
#undef RD_LANE
#define RD_LANES lanes
#define RD_LANE lane
#include "rows_loop.cl.h"
#endif
}
