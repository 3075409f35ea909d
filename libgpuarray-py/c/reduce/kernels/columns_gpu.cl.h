/* GPU: an item's columns are adjacent for vector loads, else `lanes` apart (coalesced).
 * Items past the last result load what the last one does. Accumulators live in local
 * memory; only runs use registers. */
bool packed = mode & 4;
RD_INT shift = -1;
RD_ALIGN
if (!packed || shift < 0)
  shift = 0;
if (shift > slack) {
  packed = false;
  shift = 0;
}
if (count <= -shift)
  continue;
const int next = packed ? 1 : (int)lanes;
const RD_INT own = packed ? lane * RD_WIDTH - shift : lane;
const RD_INT low = first == 0 ? 0 : -shift;
#define RD_COUNT RD_WIDTH
#define RD_TOTAL(v) shared[(v) * block + mine]
for (int v = 0; v < RD_WIDTH; v++)
  RD_TOTAL(v) = RD_IDENTITY;
#if RD_VECTOR > 0
if (packed && own >= low && own + RD_WIDTH <= count) {
  for (RD_INT j = outer_from + lane_outer; j < outer_to; j += step_outer) {
    RD_OUTER_POINTERS
    RD_COLUMN_POINTERS
    RD_INT i = inner_from + lane_inner;
    while (i < inner_to) {
      RD_RUN run[RD_WIDTH];
      const RD_INT begin = i;
      RD_INT stop = i + 16 * RD_UNROLL * step_inner;
      ga_uint ordinal = 0;
      if (stop > inner_to)
        stop = inner_to;
      for (int v = 0; v < RD_WIDTH; v++)
        run[v] = RD_RUN_NOTHING;
      for (; i < stop; i += RD_UNROLL * step_inner) {
        RD_PACKETS
#pragma unroll
        for (int u = 0; u < RD_UNROLL; u++)
          if (i + u * step_inner < inner_to) {
            RD_FETCH(u, i + u * step_inner)
          }
#pragma unroll
        for (int u = 0; u < RD_UNROLL; u++)
          if (i + u * step_inner < inner_to) {
#pragma unroll
            for (int v = 0; v < RD_WIDTH; v++)
              run[v] = RD_RUN_ADD(run[v], u, v, i + u * step_inner,
                                  u == 0 && i == begin, ordinal + u);
          }
        ordinal += RD_UNROLL;
      }
      for (int v = 0; v < RD_WIDTH; v++)
        RD_TOTAL(v) = RD_COMBINE(RD_TOTAL(v), RD_RUN_END(run[v]));
    }
  }
} else
#endif
    if (!packed || (own < count && own + RD_WIDTH > low)) {
  int column[RD_WIDTH];
  for (int v = 0; v < RD_WIDTH; v++) {
    const RD_INT p = own + v * next;
    column[v] = (int)(p < low ? low : p < count ? p : count - 1);
  }
#define RD_COLUMN(v) column[v]

  /* All reduced elements of RD_COUNT columns of this item; RD_COLUMN(v): v-th column in
   * the tile. */
  for (RD_INT j = outer_from + lane_outer; j < outer_to; j += step_outer) {
    RD_OUTER_POINTERS
    RD_INT i = inner_from + lane_inner;
    while (i < inner_to) {
      RD_ACC run[RD_COUNT];
      RD_INT stop = i + 64 * step_inner;
      if (stop > inner_to)
        stop = inner_to;
      const RD_INT begin = i;
      for (int v = 0; v < RD_COUNT; v++)
        run[v] = RD_IDENTITY;
#pragma unroll 2
      for (; i < stop; i += step_inner) {
        RD_INNER_POINTERS
        for (int v = 0; v < RD_COUNT; v++)
          run[v] = RD_JOIN(run[v], RD_ELEMENT(RD_COLUMN(v)), i == begin);
      }
      for (int v = 0; v < RD_COUNT; v++)
        RD_TOTAL(v) = RD_COMBINE(RD_TOTAL(v), run[v]);
    }
  }
}
if (items > 1) {
  local_barrier();
  for (RD_INT s = items / 2; s > 0; s /= 2) {
    if (item < s)
      for (int v = 0; v < RD_WIDTH; v++)
        RD_TOTAL(v) = RD_COMBINE(RD_TOTAL(v), shared[v * block + mine + s * lanes]);
    local_barrier();
  }
}
if (item == 0 && packed && RD_RESULT_STRIDE == 1 && !(mode & 2) && own >= low &&
    own + RD_WIDTH <= count && (RD_RESULTS_ALIGNED(w + own))) {
  RD_RESULT_PACKETS(w + own)
} else if (item == 0)
  for (int v = 0; v < RD_WIDTH; v++)
    if (own + v * next >= low && own + v * next < count)
      RD_STORE(w + (own + v * next) * RD_RESULT_STRIDE, RD_TOTAL(v))
