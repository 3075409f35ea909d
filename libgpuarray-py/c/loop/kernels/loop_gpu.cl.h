/* All iterations of each element, on a GPU. Sequences are read LP_AHEAD rows ahead of
 * their use: an iteration takes a register's row and loads another one into it. */
KERNEL void LP_NAME(ga_size ga_i_n, ga_uint ga_i_turns LP_PARAMETERS) {
  LP_STARTS
  for (ga_size ga_i_i = GID_0 * LDIM_0 + LID_0; ga_i_i < ga_i_n;
       ga_i_i += GDIM_0 * LDIM_0) {
    ga_size ga_i_r = ga_i_i;
    ga_uint ga_i_end = ga_i_turns;
    LP_SPLIT
    const ga_ssize ga_i_x0 = (ga_ssize)ga_i_r;
    LP_PLACES
    LP_LOADS
    for (ga_uint ga_i_from = 0; ga_i_from < ga_i_end; ga_i_from += LP_AHEAD) {
#pragma unroll
      for (ga_uint ga_i_u = 0; ga_i_u < LP_AHEAD; ga_i_u++) {
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
