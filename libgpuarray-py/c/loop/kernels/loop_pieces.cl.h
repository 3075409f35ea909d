/* All iterations of a piece of a row of elements, on a CPU: an iteration goes along the
 * piece, whose states lie in the nearest cache. The items of a group are the lanes of a
 * vector. Pieces of at most a vector (LP_SINGLE) have their states in registers.
 * Elements behind the last one have the states of the last. Where something is
 * reduced one group has all of them, without a loop over pieces: with barriers inside
 * it Intel's compiler would not see that all items take the same way. */
#if GA_WARP_SIZE == 1
#define LP_MEMORY
#define LP_ITEM 0
#else
#define LP_MEMORY LOCAL_MEM
#define LP_ITEM (ga_int) LID_0
#endif
#if LP_SINGLE
#define LP_EACH for (ga_int ga_i_u = 0; ga_i_u < 1; ga_i_u++)
#else
#define LP_EACH for (ga_int ga_i_u = 0; ga_i_u < ga_i_many; ga_i_u += GA_WARP_SIZE)
#endif
KERNEL void LP_NAME(ga_size ga_i_n, ga_uint ga_i_turns, ga_size ga_i_row,
                    ga_size ga_i_piece LP_PARAMETERS) {
  KERNEL_BEGIN;
  LP_LOCALS
  LP_STARTS
#if LP_REDUCES
  const ga_size ga_i_g = 0, ga_i_from = 0;
  const ga_int ga_i_many = (ga_int)ga_i_n;
  (void)ga_i_g;
  {
#else
  const ga_size ga_i_pieces = (ga_i_row + ga_i_piece - 1) / ga_i_piece;
  const ga_size ga_i_all = ga_i_n / ga_i_row * ga_i_pieces;
  for (ga_size ga_i_g = GID_0; ga_i_g < ga_i_all; ga_i_g += GDIM_0) {
    ga_size ga_i_r = ga_i_g / ga_i_pieces;
    const ga_size ga_i_from = (ga_i_g - ga_i_r * ga_i_pieces) * ga_i_piece;
    const ga_int ga_i_many =
        (ga_int)(ga_i_row - ga_i_from < ga_i_piece ? ga_i_row - ga_i_from : ga_i_piece);
#endif
    LP_SPLIT
    LP_PLACES
    LP_UNIFORMS
    LP_EACH {
      const ga_int ga_i_j = ga_i_u + LP_ITEM;
      const ga_int ga_i_e = ga_i_j < ga_i_many ? ga_i_j : ga_i_many - 1;
      LP_LOADS
    }
    const ga_uint ga_i_end = LP_END;
    for (ga_uint ga_i_t = 0; ga_i_t < ga_i_end; ga_i_t++) {
      const ga_int ga_i_live = LP_MANY;
      LP_PASSES
      LP_ADVANCE
      LP_STOP
    }
    LP_EACH {
      const ga_int ga_i_e = ga_i_u + LP_ITEM, ga_i_j = ga_i_e;
      if (ga_i_e < ga_i_many) {
        LP_FINALS
      }
    }
    LP_LASTS
  }
}
