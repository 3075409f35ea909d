/* The values of a matrix where a mask is true. */
#include "chosen_words.cl.h"

KERNEL void SP_NAME(SP_PARAMETERS) {
  KERNEL_BEGIN;
  SP_STARTS;
#if SP_FILLS
  SP_PUT_CHOSEN(k, values[k], (void)0)
#else
  SP_EACH(k, n + 1) {
    counts[k] = (SP_INDEX)(k < n && mask[k] != 0);
  }
#endif
}
