/* All iterations of each element, on a GPU, in blocks of LP_AHEAD. The rows of
 * sequences are loaded a block ahead of their use: a wait for one of them is one for
 * all. */
#define LP_EACH _Pragma("unroll") for (ga_uint ga_i_u = 0; ga_i_u < LP_AHEAD; ga_i_u++)
KERNEL void LP_NAME(ga_size ga_i_n, ga_uint ga_i_turns LP_PARAMETERS) {
  KERNEL_BEGIN;
  LP_STARTS
  for (ga_size ga_i_i = GID_0 * LDIM_0 + LID_0; ga_i_i < ga_i_n;
       ga_i_i += GDIM_0 * LDIM_0) {
    ga_size ga_i_r = ga_i_i;
    LP_SPLIT
    const ga_ssize ga_i_x0 = (ga_ssize)ga_i_r;
    ga_uint ga_i_end = LP_END;
    LP_PLACES
    LP_LOADS
    for (ga_uint ga_i_from = 0; ga_i_from < ga_i_end; ga_i_from += LP_AHEAD) {
      LP_NEXT
      LP_EACH {
        const ga_uint ga_i_t = ga_i_from + ga_i_u;
        if (ga_i_t < ga_i_end) {
          LP_VALUES
          LP_STEPS
          LP_TRACES
          LP_CARRY
          LP_STOP
        }
      }
    }
    LP_FINALS
  }
}
