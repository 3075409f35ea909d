/* Part of both kernels: the numbers that four words `w` make, kept one by one. */
#pragma unroll
for (ga_uint k = 0; k < RN_PER; k += RN_AT_ONCE) {
  const ga_uint e = k * RN_WORDS;
#if RN_IS_PAIR
  RN_WORK v, other;
#else
  RN_WORK v;
#endif
  (void)e;
#include "random_value.cl.h"
  RN_KEEP(0, v);
#if RN_IS_PAIR
  RN_KEEP(1, other);
#endif
}
