/* All iterations by one group, an item for each element: what all elements give is
 * reduced in local memory. Items behind the last element do it again, and store
 * nothing. */
#define LP_MOST 1024
KERNEL void LP_NAME(ga_size ga_i_n, ga_uint ga_i_turns LP_PARAMETERS) {
  KERNEL_BEGIN;
  LP_LOCALS
  LP_STARTS
  const bool ga_i_active = LID_0 < ga_i_n;
  ga_size ga_i_r = ga_i_active ? LID_0 : ga_i_n - 1;
  LP_SPLIT
  const ga_ssize ga_i_x0 = (ga_ssize)ga_i_r;
  LP_PLACES
  LP_LOADS
  for (ga_uint ga_i_t = 0; ga_i_t < ga_i_turns; ga_i_t++) {
    LP_VALUES
    LP_STEPS
    LP_TRACES
    LP_CARRY
    LP_STOP
  }
  LP_FINALS
}
