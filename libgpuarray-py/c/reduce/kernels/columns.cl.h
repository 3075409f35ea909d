/* Column reduction (adjacent work items own adjacent results), over the macros RD_...
 * that reduce_source.c defines. Deterministic: the order of combination depends on
 * shape, alignment and geometry only. An item keeps RD_WIDTH accumulators and combines
 * them into one; a tree in local memory combines those of a result's items. Runs of
 * elements are accumulated apart before they join the accumulators (blocked summation,
 * for accurate long float sums).
 *
 * Items of dimension 0 own RD_WIDTH adjacent results each; on a GPU those of dimension
 * 1 share the reduced elements, lanes_outer along the outer axes, the rest along the
 * inner one. A tile is lanes * RD_WIDTH of the `across` results along the innermost
 * kept axis; for aligned vector loads it may begin `shift` columns before the array,
 * for which the host leaves room (`slack`). */

KERNEL void RD_NAME(RD_OUTPUTS GLOBAL_MEM RD_ACC *part, ga_size part_off RD_INPUTS,
                    RD_INT tiles, RD_INT per_group, RD_INT results, RD_INT across,
                    RD_INT outer, RD_INT outer_per, RD_INT inner, RD_INT inner_per,
                    RD_INT splits, RD_INT lanes_outer, RD_INT mode,
                    ga_long reduced RD_AXES) {
  KERNEL_BEGIN;
#include "prologue.cl.h"
#if RD_CPU
  const RD_INT slack = 0, width = lanes_outer;
#else
  LOCAL_MEM RD_ACC shared[RD_BLOCK * RD_WIDTH];
  const RD_INT item = (RD_INT)LID_1, items = (RD_INT)LDIM_1;
  const RD_INT step_outer = lanes_outer, step_inner = items / lanes_outer;
  const RD_INT lane_outer = item / step_inner, lane_inner = item % step_inner;
  const RD_INT block = items * lanes, mine = item * lanes + lane;
  const RD_INT slack = mode & RD_SHIFTED ? RD_WIDTH - 1 : 0;
  const RD_INT width = lanes * RD_WIDTH;
#endif
  const RD_INT tiles_across = (across + slack + width - 1) / width;
  for (; tile < tile_to; tile++) {
    const RD_INT first = tile % tiles_across * width, count = across - first;
    RD_INT rest = tile / tiles_across;
    RD_KEPT_OFFSETS
    w += first * RD_RESULT_STRIDE;
    RD_COLUMN_OFFSETS
#if RD_CPU
#include "columns_cpu.cl.h"
#else
#include "columns_gpu.cl.h"
#endif
  }
}
