/* Arrays that are one block each in the same order, on a CPU. Each group walks one run,
 * its items side by side, so that the items of a group become the lanes of a vector;
 * the loop is the same for all items of a group. Compilers make vectors of it only
 * while it is plain: signed positions, and no condition in it. Stores under a condition
 * are masked, which takes AMD's processors without AVX-512 five times as long.
 *
 * Where EL_ROUND is 4 the text reads numbers of elements, as random numbers do: an item
 * takes four neighbours, of which the compiler sees that they share a random count. */
#define EL_OF_ARRAY(i) ga_i_##i[ga_i_i]
#define EL_OF_ARRAY_INDEX(i) (ga_i_o##i + (ga_ulong)ga_i_i)
#define EL_OF_FOUR(i) ga_i_##i[ga_i_f + ga_i_k]
#define EL_OF_FOUR_INDEX(i) ((ga_i_o##i + (ga_ulong)ga_i_f) | (ga_ulong)ga_i_k)
#define EL_MISPLACED(i, T, V) | (ga_i_o##i & 3)

KERNEL void EL_NAME(ga_size ga_i_n, ga_uint ga_i_aligned EL_PARAMETERS) {
  KERNEL_BEGIN;
  EL_STARTS
  EL_CONSTANTS
  const ga_ssize ga_i_step = (ga_ssize)LDIM_0, ga_i_round = EL_ROUND * ga_i_step;
  const ga_ssize ga_i_run =
      (ga_ssize)((ga_i_n + GDIM_0 - 1) / GDIM_0 + ga_i_round - 1) / ga_i_round *
      ga_i_round;
  const ga_ssize ga_i_start = (ga_ssize)GID_0 * ga_i_run;
  const ga_ssize ga_i_end = ga_i_start + ga_i_run < (ga_ssize)ga_i_n
                                ? ga_i_start + ga_i_run
                                : (ga_ssize)ga_i_n;
  ga_ssize ga_i_u = ga_i_start;
#if EL_ROUND == 4
#if GA_WARP_SIZE == 1
#define EL_INNER 16
#else
#define EL_INNER 1
#endif
  if ((0 EL_INDICES(EL_MISPLACED)) == 0)
    for (; ga_i_u + EL_INNER * ga_i_round <= ga_i_end; ga_i_u += EL_INNER * ga_i_round)
      for (int ga_i_m = 0; ga_i_m < EL_INNER; ga_i_m++) {
        const ga_ssize ga_i_f = ga_i_u + 4 * (ga_i_m + (ga_ssize)LID_0);
#pragma unroll
        for (int ga_i_k = 0; ga_i_k < 4; ga_i_k++) {
          EL_VALUES(EL_OF_FOUR)
          EL_EXPRESSION
          EL_RESULTS(EL_OF_FOUR)
        }
      }
#endif
  for (; ga_i_u + ga_i_step <= ga_i_end; ga_i_u += ga_i_step) {
    const ga_ssize ga_i_i = ga_i_u + (ga_ssize)LID_0;
    EL_VALUES(EL_OF_ARRAY)
    EL_EXPRESSION
    EL_RESULTS(EL_OF_ARRAY)
  }
#if GA_WARP_SIZE > 1
  if (ga_i_u < ga_i_end) {
    const ga_ssize ga_i_i = ga_i_u + (ga_ssize)LID_0;
    if (ga_i_i < ga_i_end) {
      EL_VALUES(EL_OF_ARRAY)
      EL_EXPRESSION
      EL_RESULTS(EL_OF_ARRAY)
    }
  }
#endif
}
