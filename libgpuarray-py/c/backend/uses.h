/* The latest uses of a block of memory: on which queues. */
#ifndef GA_C_USES_H
#define GA_C_USES_H

#include "c/backend/backend.h"
#include <gpuarray/queue.h>

#define GA_USES 4 /* that a buffer remembers; of more, one is waited for */

typedef struct ga_last_use {
  unsigned char queue; /* its place in the context */
  bool writes;
  uint64_t ticket;
} ga_last_use;

/* The latest uses of a block of memory. */
typedef struct ga_uses {
  unsigned int epoch; /* of the context, when they were noted; 0: not at all */
  unsigned int n;
  ga_last_use last[GA_USES];
} ga_uses;

#endif
