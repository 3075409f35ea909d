/* A collective call, which is queued at once, or recorded and queued by replays. */
#ifndef GA_C_COLLECTIVE_H
#define GA_C_COLLECTIVE_H

#include "c/ranks/communicator.h"

/* An operand: `count` elements of a buffer; `data` is NULL on ranks that have none. */
typedef struct ga_part {
  gpudata *data;
  size_t offset, count, bytes;
} ga_part;

typedef struct ga_collective ga_collective;
struct ga_collective {
  const char *operation;
  gpucomm *comm;
  /* Queues it on the backend's queue; `comm` is the backend's communicator. */
  int (*queue)(const ga_collective *c, void *device, void *comm);
  ga_part parts[2];
  size_t count; /* elements, as the backend counts them */
  int typecode, opcode, root;
  bool has_opcode, has_root;
  bool receives; /* writes the second operand */
  bool is_apart; /* operands may not overlap at all */
  bool writes[2];
  ga_exchange exchange;
  unsigned int mark; /* see gpucomm_mark */
};

/* Checks a call; records it while a plan is bound, else queues it. */
int ga__collective_call(ga_collective *c);
/* Queues a call that was checked, on real buffers; `is_beside`: on the communicator's
 * own queue, where it has one, so that work on this thread's queue only waits for it
 * where it uses the same memory. */
int ga__collective_run(const ga_collective *c, bool is_beside);
/* GA_COMM_ERROR if the communicator has ended. */
int ga__collective_check(const ga_collective *c);

#endif
