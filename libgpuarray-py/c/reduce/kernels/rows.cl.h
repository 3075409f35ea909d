/* Row reduction (adjacent work items walk adjacent elements), over the macros RD_...
 * that reduce_source.c defines. Deterministic: the order of combination depends on
 * shape, alignment and geometry only. An item keeps RD_WIDTH accumulators and combines
 * them into one; a tree in local memory combines those of a result's items. Runs of
 * elements are accumulated apart before they join the accumulators (blocked summation,
 * for accurate long float sums).
 *
 * Items of dimension 0 walk the inner axis. On a GPU those of dimension 1 are
 * lanes_outer along the outer axes, for each of several results. */

KERNEL void RD_NAME(RD_OUTPUTS GLOBAL_MEM RD_ACC *part, ga_size part_off RD_INPUTS,
                    RD_INT tiles, RD_INT per_group, RD_INT results, RD_INT across,
                    RD_INT outer, RD_INT outer_per, RD_INT inner, RD_INT inner_per,
                    RD_INT splits, RD_INT lanes_outer, RD_INT mode,
                    ga_long reduced RD_AXES) {
  KERNEL_BEGIN;
#include "prologue.cl.h"
#if GA_WARP_SIZE > 1
  LOCAL_MEM RD_ACC shared[RD_BLOCK];
#endif
#define RD_STEP (RD_LANES * RD_WIDTH)
#if RD_CPU
  const RD_INT lane_outer = 0, step_outer = 1, slot = 0, slots = 1;
  const RD_INT item = lane, items = lanes;
#else
  const RD_INT lane_outer = (RD_INT)LID_1 % lanes_outer;
  const RD_INT step_outer = lanes_outer;
  const RD_INT slot = (RD_INT)LID_1 / lanes_outer;
  const RD_INT slots = (RD_INT)LDIM_1 / lanes_outer;
  const RD_INT item = lane_outer * lanes + lane, items = lanes_outer * lanes;
#endif
  for (; tile < tile_to; tile++) {
    const RD_INT result = tile * slots + slot;
    RD_INT rest = result < results ? result : results - 1;
    RD_ACC acc[RD_WIDTH];
    for (int v = 0; v < RD_WIDTH; v++)
      acc[v] = RD_IDENTITY;
    RD_KEPT_OFFSETS
    for (RD_INT j = outer_from + lane_outer; j < outer_to; j += step_outer) {
      RD_OUTER_POINTERS
      RD_INT i = inner_from;
#if RD_CPU
#include "rows_cpu.cl.h"
#else
#include "rows_gpu.cl.h"
#endif
    }
    for (int s = RD_WIDTH / 2; s > 0; s /= 2)
      for (int v = 0; v < s; v++)
        acc[v] = RD_COMBINE(acc[v], acc[v + s]);
#if GA_WARP_SIZE > 1
    if (items > 1) {
      const RD_INT at = slot * items + item;
      shared[at] = acc[0];
      local_barrier();
      for (RD_INT s = items / 2; s > 0; s /= 2) {
        if (item < s)
          shared[at] = RD_COMBINE(shared[at], shared[at + s]);
        local_barrier();
      }
      acc[0] = shared[at];
    }
#endif
    if (item == 0 && result < results)
      RD_STORE(w, acc[0])
  }
}
