/* Remaining elements of a row, without vector loads.
 *
 * Full steps, in runs, then a partial step. Unrolled only on demand: with a long map
 * compilers would spill `run` to memory. */
while (i + RD_STEP <= inner_to) {
  RD_ACC run[RD_WIDTH];
  RD_INT stop = i + 64 * RD_STEP;
  if (stop > inner_to - RD_STEP + 1)
    stop = inner_to - RD_STEP + 1;
  const RD_INT begin = i;
  for (int v = 0; v < RD_WIDTH; v++)
    run[v] = RD_IDENTITY;
#if RD_PICK && !RD_CPU
#pragma unroll 4
#endif
  for (; i < stop; i += RD_STEP)
#if GA_WARP_SIZE > 1
#pragma unroll
#endif
    for (int v = 0; v < RD_WIDTH; v++)
      run[v] = RD_JOIN(run[v], RD_ELEMENT(i + v * RD_LANES + RD_LANE), i == begin);
  for (int v = 0; v < RD_WIDTH; v++)
    acc[v] = RD_COMBINE(acc[v], run[v]);
}
#if GA_WARP_SIZE > 1
#pragma unroll
#endif
for (int v = 0; v < RD_WIDTH; v++)
  if (i + v * RD_LANES + RD_LANE < inner_to)
    acc[v] = RD_COMBINE(acc[v], RD_ELEMENT(i + v * RD_LANES + RD_LANE));
