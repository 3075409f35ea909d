/* Size classes of the pools: every count of units up to 16, then eight steps an octave,
 * so that at most one unit in eight is wasted. */
#ifndef GA_C_SIZE_CLASS_H
#define GA_C_SIZE_CLASS_H

#include <stddef.h>

/* Index of the class of the largest size that is not above `units` (not 0). */
static inline unsigned int ga__class_below(size_t units) {
  if (units < 16)
    return (unsigned int)units - 1;
  unsigned int octave = 63 - (unsigned int)__builtin_clzll(units);
  return octave * 8 - 17 + (unsigned int)((units >> (octave - 3)) - 8);
}

/* Rounds up to a class size. */
static inline size_t ga__class_size(size_t units) {
  if (units < 16)
    return units;
  size_t step = (size_t)1 << (60 - __builtin_clzll(units));
  return (units + step - 1) & ~(step - 1);
}

#endif
