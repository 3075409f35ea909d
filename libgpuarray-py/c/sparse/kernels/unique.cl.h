/* Sums of the duplicates of a sorted matrix: an item sums the values of a place, from
 * the first on. */
#include "chosen_words.cl.h"

KERNEL void SP_NAME(SP_PARAMETERS) {
  KERNEL_BEGIN;
  SP_STARTS;
#if SP_FILLS
  SP_PUT_CHOSEN(
      k, SP_STORE(sum), SP_WORK sum = SP_LOAD(values[k]);
      for (ga_ulong next = k + 1; next < n && counts[next + 1] == counts[next];
           next++) { sum = SP_ADD(sum, SP_LOAD(values[next])); })
#else
  SP_EACH(k, n + 1) {
    ga_int is_first = k < n;
    if (k > 0 && k < n && indices[k] == indices[k - 1]) {
#if SP_IS_LISTED
      is_first = lines[k] != lines[k - 1];
#else
      ga_ulong low = 0, high = rows;
      while (low < high) {
        const ga_ulong middle = low + (high - low) / 2;
        if ((ga_ulong)lines[middle] < k)
          low = middle + 1;
        else
          high = middle;
      }
      is_first = (ga_ulong)lines[low] == k;
#endif
    }
    counts[k] = (SP_INDEX)is_first;
  }
#endif
}
