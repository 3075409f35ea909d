/* Data structures of a tape, shared by recording and replay. */
#ifndef GA_C_TAPE_STATE_H
#define GA_C_TAPE_STATE_H

#include <stdint.h>

#include "c/tape/record_replay.h"

/* FIND evaluates a condition; IF to ELSE (or END) runs if it is true, ELSE to END if
 * not. */
enum command_kind {
  LAUNCH,
  COPY,
  FILL,
  PRODUCT,
  CALL,
  FIND,
  IF,
  ELSE,
  END,
  CONVOLUTION,
  COLLECTIVE
};

/* Branches of a command, outermost first. */
typedef struct choice_path {
  ga_choice list[GA_CHOICES];
  unsigned int n;
} choice_path;

/* A placeholder, with its lifetime in the tape. */
typedef struct slot {
  gpudata buffer;      /* first: a gpudata * is a slot * */
  unsigned int number; /* index, or that of the slot it shares memory with */
  choice_path under;
  bool input, kept, fixed;
  size_t first_write;       /* 1 + the first command that writes it; 0: none */
  size_t last_use;          /* 1 + the last command that uses it; 0: none */
  size_t born, died;        /* lifetime, as a range of commands */
  unsigned int block;       /* workspace block */
  gpudata *last;            /* the latest replay's result, if kept between replays */
  const void *addresses[2]; /* of the latest two results */
} slot;

typedef struct transfer {
  gpudata *to, *from;
  size_t to_offset, from_offset, size;
  unsigned char byte; /* for fills */
} transfer;

typedef struct command {
  enum command_kind kind;
  const char *label; /* the recording thread's, interned */
  unsigned int step; /* see ga__tape_set_step */
  gpukernel *kernel;
  ga_launch launch;
  ga_arg *recorded; /* as recorded; launch.args is the copy that is patched */
  bool is_chain;    /* a launch in place of a run of recorded ones */
  size_t waiting; /* of a collective with work beside it: the command that is the first
                     to wait for it, or the end; else 0 */
  union {
    transfer move;
    ga_blas_call product;
    ga_dnn_call *convolution; /* owned */
    ga_deferred *call;
    ga_collective *collective; /* owned, with a reference to the communicator */
    struct {
      unsigned int condition;
      size_t end; /* jump target: of IF its ELSE or END, of ELSE its END */
    } choice;
  } u;
} command;

/* True for control marks, which do no work. */
static inline bool is_mark(const command *c) {
  return c->kind == FIND || c->kind == IF || c->kind == ELSE || c->kind == END;
}

/* A condition, with the value that the host read last. */
typedef struct condition {
  gpudata *buffer;
  size_t offset, size;
  bool holds;
} condition;

/* Entry of the hash table of buffers: bound in a replay, or (HELD_SEAT) held by the
 * tape. */
#define HELD_SEAT UINT64_MAX
typedef struct seat {
  const gpudata *buffer;
  uint64_t replay;
} seat;

typedef struct block {
  size_t size, free_at;
  unsigned int slot;   /* the latest */
  const void *address; /* in the latest replay */
} block;

/* A part of the commands: a collective, or a run of others, queued as one graph if that
 * gains. Uses are of placeholders and held buffers, as recorded. */
typedef struct part {
  size_t first, end; /* commands */
  bool gains;
  size_t first_use, n_uses;
  unsigned int first_name, n_names; /* of its launches */
} part;

/* All commands in order, as one part unless there are collectives. */
typedef struct tape_parts {
  part *list;
  size_t n, capacity;
  ga_use *uses;
  size_t n_uses, use_capacity, most_uses; /* most: of a part */
} tape_parts;

/* A captured replay, valid for the same addresses. */
typedef struct graph {
  uint64_t *key;  /* addresses */
  void **handles; /* of each part; NULL for one that gains nothing */
} graph;

#define HELD_SIZE ((size_t)64 << 10) /* bytes that a tape always keeps */

/* Conditions and the current branches. */
typedef struct tape_conditionals {
  condition *list; /* by number */
  size_t n, capacity;
  choice_path under, open;   /* of the commands recorded next; of the latest command */
  size_t opened[GA_CHOICES]; /* the open IF or ELSE at each level */
  size_t n_marks;            /* number of control marks */
} tape_conditionals;

/* Properties of the commands. */
typedef struct tape_traits {
  bool defers;        /* calls back */
  bool multiplies;    /* has a product */
  bool has_epilogues; /* has a product with an epilogue */
  bool convolves;     /* has a convolution of the vendor's library */
  bool collects;      /* has a collective */
  bool reports;       /* may set the error word */
  size_t last_call;   /* 1 + the last callback; 0: none */
} tape_traits;

/* Memory of a replay: workspace blocks shared by slots, inputs and results. */
typedef struct tape_memory {
  block *blocks;
  gpudata **workspace; /* one per block, during a replay or longer */
  unsigned int n_blocks;
  size_t workspace_size, kept_size; /* bytes */
  unsigned int *kept, n_kept;       /* results: slots by number */
  unsigned int *moves, n_moves;     /* inputs and results: slots whose memory changes */
  bool is_held;                     /* memory is kept between replays */
  bool is_placed;                   /* bindings[] has the workspace already */
} tape_memory;

/* Cache of captured graphs. Several, since results alternate between a few blocks and
 * inputs may be parts of a larger array; bounded by the total number of commands. */
typedef struct tape_graphs {
  bool are_off;     /* unsupported, or capture failed */
  graph *list;      /* replaced round robin */
  uint64_t *hashes; /* of their keys */
  unsigned int n, most, next;
  uint64_t *key;  /* of this replay */
  uint64_t *seen; /* hashes of recent keys without a graph */
  unsigned int n_seen;
  ga_use *uses;           /* of a part, on real buffers */
  ga_named_launch *names; /* of all launches */
} tape_graphs;
#define FEWEST_GRAPHS 4
#define MOST_GRAPHS 256
#define GRAPH_COMMANDS 4096

/* Inputs whose aliasing matters (tape_clash.c), and a hash table of buffers to find it.
 * Empty if no input is written. */
typedef struct tape_overlap {
  unsigned int *risky, n_risky; /* slots by number */
  seat *seats;
  size_t n_seats; /* a power of two */
  uint64_t replays;
  bool is_never_apart; /* every replay needs the full check */
} tape_overlap;

/* Protection of overwritten inputs from failing replays (ga__tape_protect). */
typedef struct tape_protection {
  bool is_on;
  bool is_proven;    /* a replay succeeded */
  bool writes_early; /* an input is written before the last command */
} tape_protection;

/* Runs of launches as one launch each (tape_chain.c). */
typedef struct tape_chains {
  bool is_off;
  command *list; /* the commands with chains in place of runs, or NULL */
  size_t n;
  size_t n_replays, n_links; /* n_links: launches that a chain may have */
  gpudata **tables;          /* of the chains' calls */
  size_t n_tables, table_capacity;
} tape_chains;

struct ga_tape {
  ga_recording head; /* first member */
  command *commands;
  size_t n_commands, capacity;
  slot **slots;
  unsigned int n_slots;
  size_t slot_capacity;
  gpudata **held; /* retained real buffers */
  size_t n_held, held_capacity;
  unsigned int step, failed; /* of the next commands; of the latest failure */
  bool is_over;              /* recording has ended */
  tape_conditionals conditionals;
  tape_traits traits;
  tape_memory memory;
  tape_parts parts;
  tape_graphs graphs;
  tape_chains chains;
  tape_overlap overlap;
  tape_protection protection;
};

/* How recorded commands on placeholders are handled. */
extern const ga_recorder ga__tape_recorder;
/* Frees a placeholder, or leaves that to its last holder. */
void ga__slot_free(slot *s);
/* A new command; the caller counts it when complete. */
int ga__tape_command(command **out, ga_tape *tape, enum command_kind kind);
/* Records control marks from the previous command's branch to the current one. */
int ga__tape_follow(ga_tape *tape);
/* Closes all branches, and joins the lifetimes of shared slots. */
int ga__tape_end_choices(ga_tape *tape);

/* Memory planning: assigns a workspace block to each slot that is neither input nor
 * `kept`. The commands are complete. */
int ga__tape_place_slots(ga_tape *tape, const bool *kept);
void ga__tape_free_memory(ga_tape *tape);
/* Allocates workspace and results, and binds them. */
int ga__tape_allocate(ga_tape *tape, ga_binding *bindings);
void ga__tape_drop_workspace(tape_memory *m);

/* Finds inputs whose aliasing matters. The commands are complete. */
int ga__tape_note_clashes(ga_tape *tape);
void ga__tape_free_clashes(ga_tape *tape);

/* Finds collectives that have work beside them, whose memory then lives as long. The
 * commands are complete; memory is not placed yet. */
void ga__tape_note_beside(ga_tape *tape);
/* Divides the commands into parts. Memory is placed. */
int ga__tape_divide(ga_tape *tape);
void ga__tape_free_parts(ga_tape *tape);

/* Prepares graph capture if it pays. The parts are known. */
int ga__tape_prepare_graphs(ga_tape *tape);
void ga__tape_free_graphs(ga_tape *tape);
/* The cached graph for the current addresses, or one captured now if they recur; else
 * NULL. */
const graph *ga__tape_find_graph(ga_tape *tape, const ga_binding *bindings);
int ga__tape_queue_graph(ga_tape *tape, const part *p, void *handle,
                         const ga_binding *bindings);

#endif
