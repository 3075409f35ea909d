/* What a tape is made of, between the file that records and the one that replays. */
#ifndef GA_C_TAPE_STATE_H
#define GA_C_TAPE_STATE_H

#include <stdint.h>

#include "c/tape/tape.h"

/* FIND looks at a condition; what lies between IF and ELSE, or IF and END, runs where
 * it holds, and between ELSE and END where it does not. */
enum command_kind { LAUNCH, COPY, FILL, PRODUCT, CALL, FIND, IF, ELSE, END };

/* The conditions that a command is under, outermost first. */
typedef struct choice_path {
  ga_choice list[GA_CHOICES];
  unsigned int n;
} choice_path;

/* A stand-in, and where in the tape it lives. */
typedef struct slot {
  gpudata buffer;      /* first, so that a gpudata * is a slot * */
  unsigned int number; /* its place in the list, or that of the one it is united with */
  choice_path under;
  bool input, kept, fixed;
  bool written;       /* by some command */
  size_t first_write; /* one more than the first command that writes it; 0 for none */
  size_t last_use;    /* the same of the last one that reads or writes it */
  size_t born, died;  /* the commands between which it holds a value */
  unsigned int block; /* the piece of workspace it gets */
  gpudata *last;      /* kept: what the latest replay gave, where memory stays */
} slot;

typedef struct transfer {
  gpudata *to, *from;
  size_t to_offset, from_offset, size;
  unsigned char byte; /* of a fill */
} transfer;

typedef struct command {
  enum command_kind kind;
  const char *label; /* of the thread that recorded it, interned */
  unsigned int step; /* as ga__tape_set_step had it */
  gpukernel *kernel;
  ga_launch launch;
  ga_arg *
      recorded; /* the arguments as recorded; launch.args is the copy that is patched */
  union {
    transfer move;
    ga_blas_call product;
    ga_deferred *call;
    struct {
      unsigned int condition;
      size_t end; /* of IF its ELSE or END, of ELSE its END */
    } choice;
  } u;
} command;

/* Whether it only says which others run. */
static inline bool is_mark(const command *c) {
  return c->kind == FIND || c->kind == IF || c->kind == ELSE || c->kind == END;
}

/* Bytes of a condition, and what they were when a replay looked. */
typedef struct condition {
  gpudata *buffer;
  size_t offset, size;
  bool holds;
} condition;

/* A buffer that a replay was given, or, with HELD_SEAT, one that the tape holds. */
#define HELD_SEAT UINT64_MAX
typedef struct seat {
  const gpudata *buffer;
  uint64_t replay;
} seat;

typedef struct block {
  size_t size, free_at;
} block;

/* A recording by the backend of one replay, good for the same memory. */
typedef struct graph {
  uint64_t *key; /* where the memory was */
  void *handle;
} graph;

#define HELD_SIZE ((size_t)64 << 10) /* bytes that stay with a tape in any case */

/* What the commands run under, and the marks that say so. */
typedef struct tape_conditionals {
  condition *list; /* by number */
  size_t n, capacity;
  choice_path under, open;   /* of what is recorded now, and of the latest command */
  size_t opened[GA_CHOICES]; /* the latest IF or ELSE of each that is open */
  size_t n_marks;            /* commands that only say which others run */
} tape_conditionals;

/* What some command is or does. */
typedef struct tape_traits {
  bool defers;        /* calls a function */
  bool multiplies;    /* is a product */
  bool has_epilogues; /* is a product with more than that */
  bool reports;       /* may report an index; see c/device/device_errors.h */
  size_t last_call;   /* one more than the last that calls a function; or 0 */
} tape_traits;

/* Memory of a replay: blocks that slots share, and slots that it is given or makes. */
typedef struct tape_memory {
  block *blocks;
  gpudata **workspace; /* one for each block, during a replay or longer */
  unsigned int n_blocks;
  size_t workspace_size, kept_size; /* bytes */
  unsigned int *kept, n_kept;       /* slots by number */
  unsigned int *moves, n_moves;     /* slots that a replay is given or makes anew */
  bool is_held;                     /* memory stays between replays */
  bool is_placed;                   /* the list of bindings has the workspace already */
} tape_memory;

/* Graphs of the backend: results take turns in a few blocks, and inputs in the parts of
 * a larger array. As many are kept as have some thousand commands. */
typedef struct tape_graphs {
  bool are_off;     /* the backend has none, or refused */
  graph *list;      /* the oldest is replaced, in turn */
  uint64_t *hashes; /* of their keys */
  unsigned int n, most, next;
  uint64_t *key;  /* of this replay */
  uint64_t *seen; /* hashes of the keys of the last replays that no graph served */
  unsigned int n_seen;
  ga_use *uses;           /* of `held`, then of what moves, then of the workspace */
  ga_named_launch *names; /* of a graph's launches */
  unsigned int n_names;
} tape_graphs;
#define FEWEST_GRAPHS 4
#define MOST_GRAPHS 256
#define GRAPH_COMMANDS 4096

/* Inputs that may not overlap others (tape_clash.c), if some input is written at all,
 * and a table of buffers to find those that do. */
typedef struct tape_overlap {
  unsigned int *risky, n_risky; /* slots by number */
  seat *seats;
  size_t n_seats; /* a power of two */
  uint64_t replays;
  bool is_never_apart; /* a replay always has to look closer */
} tape_overlap;

/* Inputs that are written, kept from a replay that fails (ga__tape_protect). */
typedef struct tape_protection {
  bool is_on;
  bool is_proven;    /* the device took all commands once */
  bool writes_early; /* an input is written before the last command */
} tape_protection;

struct ga_tape {
  ga_recording head; /* first */
  command *commands;
  size_t n_commands, capacity;
  slot **slots;
  unsigned int n_slots, slot_capacity;
  gpudata **held; /* real buffers that commands refer to: constants */
  size_t n_held, held_capacity;
  unsigned int step, failed; /* of what is recorded now; of what failed last */
  bool is_over;              /* nothing more is recorded */
  tape_conditionals conditionals;
  tape_traits traits;
  tape_memory memory;
  tape_graphs graphs;
  tape_overlap overlap;
  tape_protection protection;
};

/* What the tape does with commands on stand-ins. */
extern const ga_recorder ga__tape_recorder;
/* Frees a stand-in, or leaves that to whoever still refers to it. */
void ga__slot_free(slot *s);
/* A new command, which its maker counts once it is complete. */
int ga__tape_command(command **out, ga_tape *tape, enum command_kind kind);
/* Makes room for one more element of a list. */
int ga__tape_grow(void **list, size_t *capacity, size_t count, size_t size);
/* Opens and ends what lies between the latest command and one recorded now. */
int ga__tape_follow(ga_tape *tape);
/* Ends all that is open, and puts together what united stand-ins need. */
int ga__tape_end_choices(ga_tape *tape);

/* Gives each slot that is no input a block of workspace, or, where its `kept` is set,
 * memory of its own; the commands are complete. */
int ga__tape_place_slots(ga_tape *tape, const bool *kept);
void ga__tape_free_memory(ga_tape *tape);
/* Puts memory for every block and kept slot into the bindings. */
int ga__tape_allocate(ga_tape *tape, ga_binding *bindings);
void ga__tape_drop_workspace(tape_memory *m);

/* Finds which inputs may not lie in the same memory; the commands are complete. */
int ga__tape_note_clashes(ga_tape *tape);
void ga__tape_free_clashes(ga_tape *tape);

/* A graph pays where it saves launches, and is only for memory that does not move.
 * Makes the tape, whose commands are complete, ready for it. */
int ga__tape_prepare_graphs(ga_tape *tape);
void ga__tape_free_graphs(ga_tape *tape);
/* The graph for where the memory lies now: a known one, or a new one if this place was
 * seen before; NULL if there is none. */
const graph *ga__tape_find_graph(ga_tape *tape, const ga_binding *bindings);
int ga__tape_queue_graph(ga_tape *tape, const graph *known, const ga_binding *bindings);

#endif
