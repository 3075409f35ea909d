/* Split-K, second pass: an item sums the parts of one element of c, which has n
 * columns. */
#include "words.cl.h"

/* Sum at (ga_i_x0, ga_i_x1), for the epilogue. */
#define BL_SUM sum[0]

KERNEL void BL_NAME(GLOBAL_MEM const BL_T *GA_APART part, ga_size part_off,
                    ga_ssize count, ga_ssize parts, ga_ssize n BL_OUTPUTS) {
  KERNEL_BEGIN;
  BL_START
  const ga_uint x = (ga_uint)(GID_0 * LDIM_0 + LID_0);
  BL_T sum[4];
  part = BL_AT(const BL_T, part, part_off) + x;
  if (x < count) {
    const ga_ssize ga_i_x0 = x / (ga_uint)n, ga_i_x1 = x % (ga_uint)n;
    BL_EACH (v, 4)
      BL_ZERO(sum[v]);
    for (ga_ssize s = 0; s < parts; s += 4)
      BL_EACH (v, 4)
        if (s + v < parts)
          BL_ADD(sum[v], part[(s + v) * count]);
    BL_ADD(sum[0], sum[1]);
    BL_ADD(sum[2], sum[3]);
    BL_ADD(sum[0], sum[2]);
    BL_STORE
  }
}
