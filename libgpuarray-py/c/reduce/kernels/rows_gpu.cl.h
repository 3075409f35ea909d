/* GPU: RD_UNROLL vector loads of RD_VECTOR elements in flight per item. */
#define RD_LANES lanes
#define RD_LANE lane
#if RD_VECTOR > 0
/* Peeled head up to the vector boundary, vectors, tail; scalar code if the arrays'
 * alignments differ. */
if (mode & 4) {
  RD_INT head = -1, same = 1;
  RD_HEADS
  if (same) {
    if (head > inner_to - i)
      head = inner_to - i;
    for (RD_INT p = i + lane; p < i + head; p += lanes)
      acc[0] = RD_COMBINE(acc[0], RD_ELEMENT(p));
    i += head;
    RD_PACKET_POINTERS
    const RD_INT packets = (inner_to - i) / RD_VECTOR;
    RD_INT k = lane;
#if RD_PICK
    /* argmax, argmin: reduce each vector to its best key, compare only that with the
     * best so far, and keep the winning vector. Positions ascend along the row or
     * descend (`back`), so of equal vectors the first by position is known; its
     * elements are searched again at the end. */
    const bool back = RD_POSITION_STEP < 0;
    RD_KEY best = RD_ACC_KEY(RD_IDENTITY);
    RD_INT found = -1;
    RD_KEPT
    for (; k < packets; k += RD_UNROLL * lanes) {
      RD_PACKETS
#pragma unroll
      for (int u = 0; u < RD_UNROLL; u++) {
        const RD_INT at = k + u * lanes;
        RD_FETCH(u, at < packets ? at : packets - 1)
      }
#pragma unroll
      for (int u = 0; u < RD_UNROLL; u++) {
        const RD_INT at = k + u * lanes;
        RD_KEY top = RD_ACC_KEY(RD_PACKED(u, 0, 0));
#pragma unroll
        for (int e = 1; e < RD_VECTOR; e++) {
          const RD_KEY x = RD_ACC_KEY(RD_PACKED(u, e, 0));
          top = RD_PASSES(top, x) ? x : top;
        }
        if (found < 0 || (back ? !RD_PASSES(top, best) : RD_PASSES(best, top))) {
          best = top;
          found = at < packets ? at : packets - 1;
          RD_KEEP(u)
        }
      }
    }
    if (found >= 0) {
#pragma unroll
      for (int e = 0; e < RD_VECTOR; e++)
        acc[0] = RD_COMBINE(acc[0], RD_KEPT_AT(e, i + found * RD_VECTOR + e));
    }
#else
    while (k < packets) {
      RD_RUN run[RD_WIDTH];
      RD_INT stop = k + 16 * RD_UNROLL * lanes;
      if (stop > packets)
        stop = packets;
      for (int v = 0; v < RD_WIDTH; v++)
        run[v] = RD_RUN_NOTHING;
      for (; k < stop; k += RD_UNROLL * lanes) {
        RD_PACKETS
#pragma unroll
        for (int u = 0; u < RD_UNROLL; u++)
          if (k + u * lanes < packets) {
            RD_FETCH(u, k + u * lanes)
          }
#pragma unroll
        for (int u = 0; u < RD_UNROLL; u++)
          if (k + u * lanes < packets) {
#pragma unroll
            for (int e = 0; e < RD_VECTOR; e++)
              run[(u * RD_VECTOR + e) % RD_WIDTH] =
                  RD_RUN_ADD(run[(u * RD_VECTOR + e) % RD_WIDTH], u, e,
                             i + (k + u * lanes) * RD_VECTOR + e, 0, 0);
          }
      }
      for (int v = 0; v < RD_WIDTH; v++)
        acc[v] = RD_COMBINE(acc[v], RD_RUN_END(run[v]));
    }
#endif
    /* Tail of the row. */
    for (RD_INT p = i + packets * RD_VECTOR + lane; p < inner_to; p += lanes)
      acc[0] = RD_COMBINE(acc[0], RD_ELEMENT(p));
    i = inner_to;
  }
}
#endif
#include "rows_loop.cl.h"
