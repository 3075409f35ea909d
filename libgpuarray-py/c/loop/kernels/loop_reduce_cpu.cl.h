/* All accumulators of a group become one, in the first, which its first item computes.
 */
if (LID_0 == 0) {
  const ga_int ga_i_many = (ga_int)LDIM_0;
  LP_TYPE ga_i_s;
#include "loop_reduce_lanes.cl.h"
  LP_OWN[0] = ga_i_s;
}
local_barrier();
