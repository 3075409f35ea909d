/* Arrays that are one block each in the same order, on a CPU. Each group walks one run,
 * its items side by side, so that the items of a group become the lanes of a vector;
 * the loop is the same for all items of a group. Compilers make vectors of it only
 * while it is plain: signed positions, and no condition in it. Stores under a condition
 * are masked, which takes AMD's processors without AVX-512 five times as long. */
#define EL_OF_ARRAY(i) ga_i_##i[ga_i_i]
#define EL_OF_ARRAY_INDEX(i) (ga_i_o##i + (ga_ulong)ga_i_i)

KERNEL void EL_NAME(ga_size ga_i_n, ga_uint ga_i_aligned EL_PARAMETERS) {
  KERNEL_BEGIN;
  EL_STARTS
  EL_CONSTANTS
  const ga_ssize ga_i_step = (ga_ssize)LDIM_0;
  const ga_ssize ga_i_run =
      (ga_ssize)(((ga_i_n + GDIM_0 - 1) / GDIM_0 + LDIM_0 - 1) / LDIM_0 * LDIM_0);
  const ga_ssize ga_i_start = (ga_ssize)GID_0 * ga_i_run;
  const ga_ssize ga_i_end = ga_i_start + ga_i_run < (ga_ssize)ga_i_n
                                ? ga_i_start + ga_i_run
                                : (ga_ssize)ga_i_n;
  ga_ssize ga_i_u = ga_i_start;
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
