/* All iterations of a piece of a row of elements, on a CPU: an iteration goes along the
 * piece, whose states lie in the nearest cache, in a loop of which compilers make
 * vectors. A group has one item. */
KERNEL void LP_NAME(ga_size ga_i_n, ga_uint ga_i_turns, ga_size ga_i_row,
                    ga_size ga_i_piece LP_PARAMETERS) {
  KERNEL_BEGIN;
  LP_STARTS
  const ga_size ga_i_pieces = (ga_i_row + ga_i_piece - 1) / ga_i_piece;
  const ga_size ga_i_all = ga_i_n / ga_i_row * ga_i_pieces;
  for (ga_size ga_i_g = GID_0; ga_i_g < ga_i_all; ga_i_g += GDIM_0) {
    ga_size ga_i_r = ga_i_g / ga_i_pieces;
    const ga_size ga_i_from = (ga_i_g - ga_i_r * ga_i_pieces) * ga_i_piece;
    const ga_int ga_i_many =
        (ga_int)(ga_i_row - ga_i_from < ga_i_piece ? ga_i_row - ga_i_from : ga_i_piece);
    LP_SPLIT
    LP_PLACES
    LP_LOADS
    const ga_uint ga_i_end = LP_END;
    for (ga_uint ga_i_t = 0; ga_i_t < ga_i_end; ga_i_t++) {
      const ga_int ga_i_live = LP_MANY;
      for (ga_int ga_i_j = 0; ga_i_j < ga_i_live; ga_i_j++) {
        LP_VALUES
        LP_STEPS
        LP_TRACES
        LP_CARRY
      }
      LP_ADVANCE
      LP_STOP
    }
    LP_FINALS
  }
}
