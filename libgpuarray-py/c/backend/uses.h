/* The latest uses of a memory block, by queue. */
#ifndef GA_C_USES_H
#define GA_C_USES_H

#include "c/backend/backend.h"
#include <gpuarray/queue.h>

#define GA_USES 4 /* remembered per buffer; beyond, one of them is waited for */

typedef struct ga_last_use {
  unsigned char queue; /* index of the queue in its context */
  bool writes;
  uint64_t ticket;
} ga_last_use;

typedef struct ga_uses {
  unsigned int epoch; /* the context's epoch when they were noted; 0: never */
  unsigned int n;
  ga_last_use last[GA_USES];
} ga_uses;

#endif
