/* Arithmetic of counts and sizes. */
#ifndef GA_C_COUNTS_H
#define GA_C_COUNTS_H

#include <stddef.h>
#include <sys/types.h>

static inline size_t ga__smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

static inline size_t ga__larger(size_t a, size_t b) {
  return a > b ? a : b;
}

static inline size_t ga__ceil_div(size_t a, size_t b) {
  return a / b + (a % b != 0);
}

/* The smallest power of 2 that is at least `n`. */
static inline size_t ga__power_above(size_t n) {
  size_t power = 1;
  while (power < n)
    power *= 2;
  return power;
}

/* The absolute value of a stride. */
static inline size_t ga__magnitude(ssize_t stride) {
  return stride < 0 ? (size_t)0 - (size_t)stride : (size_t)stride;
}

#endif
