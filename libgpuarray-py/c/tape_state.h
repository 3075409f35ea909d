/* What a tape is made of, between the file that records and the one that replays. */
#ifndef GA_C_TAPE_STATE_H
#define GA_C_TAPE_STATE_H

#include <stdint.h>

#include "c/tape.h"

enum command_kind { LAUNCH, COPY, FILL, PRODUCT };

/* A stand-in, and where in the tape it lives. */
typedef struct slot {
  gpudata buffer; /* first, so that a gpudata * is a slot * */
  unsigned int number;
  bool input, kept;
  bool written;       /* by some command */
  size_t born, died;  /* the commands between which it holds a value */
  unsigned int block; /* the piece of workspace it gets */
} slot;

typedef struct transfer {
  gpudata *to, *from;
  size_t to_offset, from_offset, size;
  unsigned char byte; /* of a fill */
} transfer;

typedef struct command {
  enum command_kind kind;
  const char *label; /* of the thread that recorded it, interned */
  gpukernel *kernel;
  ga_launch launch;
  ga_arg *
      recorded; /* the arguments as recorded; launch.args is the copy that is patched */
  union {
    transfer move;
    ga_blas_call product;
  } u;
} command;

typedef struct block {
  size_t size, free_at;
} block;

/* A recording by the backend of one replay, good for the same memory. */
typedef struct graph {
  uint64_t *key; /* where every slot's memory was */
  void *handle;
} graph;

#define SEEN 4   /* replays that are remembered to tell whether one comes back */
#define GRAPHS 4 /* kept for a tape: results take turns in a few blocks */

struct ga_tape {
  gpucontext *context;
  command *commands;
  size_t n_commands, capacity;
  slot **slots;
  unsigned int n_slots, slot_capacity;
  gpudata **held; /* real buffers that commands refer to: constants */
  size_t n_held, held_capacity;
  block *blocks;
  gpudata **workspace; /* one for each block, during a replay */
  unsigned int n_blocks;
  graph graphs[GRAPHS];
  unsigned int n_graphs;
  uint64_t *key, *seen; /* of this replay; those of the last that no graph served */
  unsigned int n_seen;
  bool without_graphs; /* the backend has none, or refused */
  bool reports;        /* some launch may report an index; see c/report.h */
  ga_use *uses;        /* of a graph: those of `held`, then a place for each slot */
};

/* A graph pays where it saves launches, and is only for memory that does not move.
 * Makes the tape, whose commands are complete, ready for it. */
int ga__tape_prepare_graphs(ga_tape *tape);
void ga__tape_free_graphs(ga_tape *tape);

#endif
