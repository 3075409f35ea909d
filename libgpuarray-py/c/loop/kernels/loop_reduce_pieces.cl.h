/* The accumulators of all items become one; of one item, those of its elements. */
LP_TYPE ga_i_s;
#if LP_SINGLE || GA_WARP_SIZE > 1
ga_i_s = LP_OWN;
#else
#include "loop_reduce_lanes.cl.h"
#endif
#if GA_WARP_SIZE > 1
LP_SHARED[LID_0] = ga_i_s;
local_barrier();
ga_i_s = LP_SHARED[0];
for (ga_int ga_i_k = 1; ga_i_k < (ga_int)LDIM_0; ga_i_k++) {
  const LP_TYPE a = ga_i_s, b = LP_SHARED[ga_i_k];
  ga_i_s = LP_COMBINE;
}
local_barrier();
#endif
