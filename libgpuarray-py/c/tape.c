/* Commands recorded instead of queued, and their replay. */
#include "c/tape.h"

#include <stdint.h>
#include <string.h>

enum command_kind { LAUNCH, COPY, FILL, GEMM, GEMV };

/* A stand-in, and where in the tape it lives. */
typedef struct slot {
  gpudata buffer; /* first, so that a gpudata * is a slot * */
  unsigned int number;
  bool input, kept;
  size_t born, died;  /* the commands between which it holds a value */
  unsigned int block; /* the piece of workspace it gets */
} slot;

typedef struct product {
  int typecode;
  cb_transpose ta, tb;
  size_t m, n, k;
  double alpha, beta;
  ga_matrix a, b, c; /* gemm */
  ga_vector x, y;    /* gemv, with `a` */
} product;

typedef struct transfer {
  gpudata *to, *from;
  size_t to_offset, from_offset, size;
  unsigned char byte; /* of a fill */
} transfer;

typedef struct command {
  enum command_kind kind;
  gpukernel *kernel;
  ga_launch launch;
  ga_arg *
      recorded; /* the arguments as recorded; launch.args is the copy that is patched */
  union {
    transfer move;
    product product;
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
};

static _Thread_local ga_tape *current_tape;

ga_tape *ga__tape_current(const gpucontext *ctx) {
  return current_tape != NULL && current_tape->context == ctx ? current_tape : NULL;
}

void ga__tape_set_current(ga_tape *tape) {
  current_tape = tape;
}

int ga__tape_new(ga_tape **out, gpucontext *ctx) {
  ga_tape *tape = ga__alloc(1, sizeof *tape);
  if (tape == NULL)
    return GA_MEMORY_ERROR;
  tape->context = ctx;
  gpucontext_retain(ctx);
  *out = tape;
  return GA_NO_ERROR;
}

static void free_graphs(ga_tape *tape) {
  for (unsigned int i = 0; i < tape->n_graphs; i++) {
    tape->context->backend->graph_free(tape->context->device, tape->graphs[i].handle);
    ga__free(tape->graphs[i].key);
  }
  ga__free(tape->key);
  ga__free(tape->seen);
}

void ga__tape_free(ga_tape *tape) {
  if (tape == NULL)
    return;
  free_graphs(tape);
  for (size_t i = 0; i < tape->n_commands; i++) {
    command *c = &tape->commands[i];
    if (c->kind != LAUNCH)
      continue;
    gpukernel_release(c->kernel);
    ga__free(c->recorded);
    ga__free((void *)(uintptr_t)c->launch.args);
  }
  for (size_t i = 0; i < tape->n_held; i++)
    gpudata_release(tape->held[i]);
  for (unsigned int i = 0; i < tape->n_slots; i++)
    ga__free(tape->slots[i]);
  ga__free(tape->commands);
  ga__free(tape->slots);
  ga__free(tape->held);
  ga__free(tape->blocks);
  ga__free(tape->workspace);
  gpucontext_deref(tape->context);
  ga__free(tape);
}

/* Makes room for one more element of a list. */
static int grow(void **list, size_t *capacity, size_t count, size_t size) {
  if (count < *capacity)
    return GA_NO_ERROR;
  size_t wanted = *capacity == 0 ? 16 : *capacity * 2;
  void *bigger = ga__realloc(*list, wanted, size);
  if (bigger == NULL)
    return GA_MEMORY_ERROR;
  *list = bigger;
  *capacity = wanted;
  return GA_NO_ERROR;
}

static int new_slot(gpudata **out, ga_tape *tape, size_t size, bool input) {
  size_t capacity = tape->slot_capacity;
  GA_TRY(grow((void **)&tape->slots, &capacity, tape->n_slots, sizeof *tape->slots));
  tape->slot_capacity = (unsigned int)capacity;
  slot *s = ga__alloc(1, sizeof *s);
  if (s == NULL)
    return GA_MEMORY_ERROR;
  s->buffer.context = tape->context;
  atomic_init(&s->buffer.references, 1);
  s->buffer.size = size;
  s->buffer.tape = tape;
  s->number = tape->n_slots;
  s->input = input;
  s->born = tape->n_commands;
  s->died = SIZE_MAX;
  tape->slots[tape->n_slots++] = s;
  *out = &s->buffer;
  return GA_NO_ERROR;
}

int ga__tape_buffer(gpudata **out, ga_tape *tape, size_t size) {
  return new_slot(out, tape, size, false);
}

int ga__tape_input(gpudata **out, ga_tape *tape) {
  return new_slot(out, tape, SIZE_MAX / 4,
                  true); /* its size is not known before a run */
}

void ga__tape_release(gpudata *stand_in) {
  slot *s = (slot *)stand_in;
  s->died = stand_in->tape->n_commands; /* the tape frees it */
}

unsigned int ga__tape_slot(const gpudata *stand_in) {
  return ((const slot *)stand_in)->number;
}

unsigned int ga__tape_slots(const ga_tape *tape) {
  return tape->n_slots;
}

bool ga__tape_kept(const ga_tape *tape, unsigned int number) {
  return tape->slots[number]->kept;
}

/* Keeps a real buffer that a command refers to. */
static int hold(ga_tape *tape, gpudata *buffer) {
  if (buffer == NULL || buffer->tape != NULL)
    return GA_NO_ERROR;
  GA_TRY(grow((void **)&tape->held, &tape->held_capacity, tape->n_held,
              sizeof *tape->held));
  gpudata_retain(buffer);
  tape->held[tape->n_held++] = buffer;
  return GA_NO_ERROR;
}

static int new_command(command **out, ga_tape *tape, enum command_kind kind) {
  GA_TRY(grow((void **)&tape->commands, &tape->capacity, tape->n_commands,
              sizeof *tape->commands));
  command *c = &tape->commands[tape->n_commands];
  memset(c, 0, sizeof *c);
  c->kind = kind;
  *out = c; /* counted by the caller once it is complete */
  return GA_NO_ERROR;
}

int ga__tape_launch(ga_tape *tape, gpukernel *k, const ga_launch *launch) {
  command *c;
  for (unsigned int i = 0; i < launch->n_args; i++)
    if (launch->args[i].kind == GA_ARG_MEMORY)
      GA_TRY(hold(tape, launch->args[i].buffer));
  GA_TRY(new_command(&c, tape, LAUNCH));
  size_t bytes = launch->n_args * sizeof *launch->args;
  c->recorded = ga__alloc(launch->n_args, sizeof *launch->args);
  ga_arg *patched = ga__alloc(launch->n_args, sizeof *launch->args);
  if (c->recorded == NULL || patched == NULL) {
    ga__free(c->recorded);
    ga__free(patched);
    return GA_MEMORY_ERROR;
  }
  memcpy(c->recorded, launch->args, bytes);
  memcpy(patched, launch->args, bytes);
  c->launch = *launch;
  c->launch.args = patched;
  c->kernel = k;
  gpukernel_retain(k);
  tape->n_commands++;
  return GA_NO_ERROR;
}

int ga__tape_copy(ga_tape *tape, gpudata *to, size_t to_offset, gpudata *from,
                  size_t from_offset, size_t size) {
  command *c;
  GA_TRY(hold(tape, to));
  GA_TRY(hold(tape, from));
  GA_TRY(new_command(&c, tape, COPY));
  c->u.move = (transfer){to, from, to_offset, from_offset, size, 0};
  tape->n_commands++;
  return GA_NO_ERROR;
}

int ga__tape_fill(ga_tape *tape, gpudata *buffer, size_t offset, unsigned char byte,
                  size_t size) {
  command *c;
  GA_TRY(hold(tape, buffer));
  GA_TRY(new_command(&c, tape, FILL));
  c->u.move = (transfer){buffer, NULL, offset, 0, size, byte};
  tape->n_commands++;
  return GA_NO_ERROR;
}

int ga__tape_gemm(ga_tape *tape, int typecode, cb_transpose ta, cb_transpose tb,
                  size_t m, size_t n, size_t k, double alpha, ga_matrix a, ga_matrix b,
                  double beta, ga_matrix c) {
  command *cmd;
  GA_TRY(hold(tape, a.buffer));
  GA_TRY(hold(tape, b.buffer));
  GA_TRY(hold(tape, c.buffer));
  GA_TRY(new_command(&cmd, tape, GEMM));
  cmd->u.product = (product){.typecode = typecode,
                             .ta = ta,
                             .tb = tb,
                             .m = m,
                             .n = n,
                             .k = k,
                             .alpha = alpha,
                             .beta = beta,
                             .a = a,
                             .b = b,
                             .c = c};
  tape->n_commands++;
  return GA_NO_ERROR;
}

int ga__tape_gemv(ga_tape *tape, int typecode, cb_transpose ta, size_t m, size_t n,
                  double alpha, ga_matrix a, ga_vector x, double beta, ga_vector y) {
  command *cmd;
  GA_TRY(hold(tape, a.buffer));
  GA_TRY(hold(tape, x.buffer));
  GA_TRY(hold(tape, y.buffer));
  GA_TRY(new_command(&cmd, tape, GEMV));
  cmd->u.product = (product){.typecode = typecode,
                             .ta = ta,
                             .m = m,
                             .n = n,
                             .alpha = alpha,
                             .beta = beta,
                             .a = a,
                             .x = x,
                             .y = y};
  tape->n_commands++;
  return GA_NO_ERROR;
}

/* The block that fits best among those free when `s` is born: the smallest that is
 * large enough, else the largest, which then grows; n_blocks where none is free. */
static unsigned int free_block(const ga_tape *tape, const slot *s) {
  unsigned int best = tape->n_blocks;
  for (unsigned int i = 0; i < tape->n_blocks; i++) {
    const block *b = &tape->blocks[i];
    if (b->free_at > s->born)
      continue;
    if (best == tape->n_blocks) {
      best = i;
      continue;
    }
    size_t have = tape->blocks[best].size, want = s->buffer.size;
    bool better = have >= want ? b->size >= want && b->size < have : b->size > have;
    if (better)
      best = i;
  }
  return best;
}

/* A graph pays where it saves launches, and is only for memory that does not move. */
static int prepare_graphs(ga_tape *tape) {
  tape->without_graphs =
      tape->context->backend->graph_begin == NULL || tape->n_commands < 2;
  if (tape->without_graphs)
    return GA_NO_ERROR;
  tape->key = ga__alloc(tape->n_slots + 1, sizeof *tape->key);
  tape->seen = ga__alloc((size_t)SEEN * (tape->n_slots + 1), sizeof *tape->seen);
  return tape->key == NULL || tape->seen == NULL ? GA_MEMORY_ERROR : GA_NO_ERROR;
}

int ga__tape_finish(ga_tape *tape, const bool *kept) {
  size_t count = tape->n_slots > 0 ? tape->n_slots : 1;
  GA_TRY(prepare_graphs(tape));
  tape->blocks = ga__alloc(count, sizeof *tape->blocks);
  tape->workspace = ga__alloc(count, sizeof(gpudata *));
  if (tape->blocks == NULL || tape->workspace == NULL)
    return GA_MEMORY_ERROR;
  for (unsigned int i = 0; i < tape->n_slots; i++) {
    slot *s = tape->slots[i];
    s->kept = kept[i] && !s->input;
    if (s->input || s->kept)
      continue;
    s->block = free_block(tape, s);
    block *b = &tape->blocks[s->block];
    if (s->block == tape->n_blocks)
      tape->n_blocks++;
    if (b->size < s->buffer.size)
      b->size = s->buffer.size;
    b->free_at = s->died;
  }
  return GA_NO_ERROR;
}

/* The real buffer for a recorded one, and the bytes to add to an offset in it. */
static ga_binding resolve(const ga_binding *bindings, gpudata *buffer) {
  if (buffer != NULL && buffer->tape != NULL)
    return bindings[ga__tape_slot(buffer)];
  return (ga_binding){buffer, 0};
}

static void rebase_matrix(ga_matrix *m, const ga_binding *bindings) {
  ga_binding real = resolve(bindings, m->buffer);
  m->buffer = real.buffer;
  m->offset += real.base;
}

static void rebase_vector(ga_vector *v, const ga_binding *bindings) {
  ga_binding real = resolve(bindings, v->buffer);
  v->buffer = real.buffer;
  v->offset += real.base;
}

static int replay_launch(command *c, const ga_binding *bindings) {
  ga_arg *args = (ga_arg *)(uintptr_t)c->launch.args;
  for (unsigned int i = 0; i < c->launch.n_args; i++) {
    const ga_arg *recorded = &c->recorded[i];
    if (recorded->kind == GA_ARG_VALUE)
      continue;
    ga_binding real = resolve(bindings, recorded->buffer);
    args[i].buffer = real.buffer;
    if (recorded->kind == GA_ARG_OFFSET)
      args[i].value.u64 = recorded->value.u64 + real.base;
  }
  return ga__kernel_launch(c->kernel, &c->launch);
}

static int replay_product(const ga_tape *tape, const command *c,
                          const ga_binding *bindings) {
  const ga_blas *blas = ga__context_blas(tape->context);
  void *device = tape->context->device;
  product p = c->u.product;
  rebase_matrix(&p.a, bindings);
  if (c->kind == GEMV) {
    rebase_vector(&p.x, bindings);
    rebase_vector(&p.y, bindings);
    return blas->gemv(device, p.typecode, p.ta, p.m, p.n, p.alpha, p.a, p.x, p.beta,
                      p.y);
  }
  rebase_matrix(&p.b, bindings);
  rebase_matrix(&p.c, bindings);
  return blas->gemm(device, p.typecode, p.ta, p.tb, p.m, p.n, p.k, p.alpha, p.a, p.b,
                    p.beta, p.c);
}

static int replay_command(const ga_tape *tape, command *c, const ga_binding *bindings) {
  const transfer *t = &c->u.move;
  switch (c->kind) {
  case LAUNCH:
    return replay_launch(c, bindings);
  case COPY: {
    ga_binding to = resolve(bindings, t->to), from = resolve(bindings, t->from);
    return gpudata_move(to.buffer, t->to_offset + to.base, from.buffer,
                        t->from_offset + from.base, t->size);
  }
  case FILL: {
    ga_binding to = resolve(bindings, t->to);
    return ga__buffer_fill(to.buffer, t->to_offset + to.base, t->byte, t->size);
  }
  case GEMM:
  case GEMV:
    return replay_product(tape, c, bindings);
  }
  return GA_NO_ERROR;
}

/* Memory for every block and kept slot. */
static int allocate(ga_tape *tape, ga_binding *bindings) {
  for (unsigned int i = 0; i < tape->n_blocks; i++)
    GA_TRY(ga__buffer_new(&tape->workspace[i], tape->context, tape->blocks[i].size));
  for (unsigned int i = 0; i < tape->n_slots; i++) {
    const slot *s = tape->slots[i];
    if (s->input)
      continue;
    bindings[i] = (ga_binding){s->kept ? NULL : tape->workspace[s->block], 0};
    if (s->kept)
      GA_TRY(ga__buffer_new(&bindings[i].buffer, tape->context, s->buffer.size));
  }
  return GA_NO_ERROR;
}

static void release_workspace(ga_tape *tape) {
  for (unsigned int i = 0; i < tape->n_blocks; i++) {
    gpudata_release(tape->workspace[i]);
    tape->workspace[i] = NULL;
  }
}

static int queue_commands(ga_tape *tape, const ga_binding *bindings) {
  for (size_t i = 0; i < tape->n_commands; i++)
    GA_TRY(replay_command(tape, &tape->commands[i], bindings));
  return GA_NO_ERROR;
}

static void write_key(ga_tape *tape, const ga_binding *bindings) {
  for (unsigned int i = 0; i < tape->n_slots; i++)
    tape->key[i] = (uint64_t)(uintptr_t)bindings[i].buffer->memory + bindings[i].base;
}

/* Whether one of the last replays ran on the same memory; remembers this one. */
static bool comes_back(ga_tape *tape) {
  size_t words = tape->n_slots, bytes = words * sizeof *tape->key;
  unsigned int kept = tape->n_seen < SEEN ? tape->n_seen : SEEN;
  for (unsigned int i = 0; i < kept; i++)
    if (memcmp(tape->seen + i * words, tape->key, bytes) == 0)
      return true;
  memcpy(tape->seen + tape->n_seen++ % SEEN * words, tape->key, bytes);
  return false;
}

/* Records the commands as a graph for this key, in the place of the oldest if there is
 * no room. Nothing is queued. */
static int record_graph(graph **out, ga_tape *tape, const ga_binding *bindings) {
  const ga_backend *backend = tape->context->backend;
  void *device = tape->context->device, *handle = NULL;
  uint64_t *key = ga__alloc(tape->n_slots, sizeof *key);
  if (key == NULL)
    return GA_MEMORY_ERROR;
  memcpy(key, tape->key, tape->n_slots * sizeof *key);
  int status = backend->graph_begin(device);
  if (status == GA_NO_ERROR) {
    int queued = queue_commands(tape, bindings);
    status = backend->graph_end(&handle, device);
    if (queued != GA_NO_ERROR && status == GA_NO_ERROR)
      backend->graph_free(device, handle);
    status = queued != GA_NO_ERROR ? queued : status;
  }
  if (status != GA_NO_ERROR) {
    ga__free(key);
    return status;
  }
  if (tape->n_graphs == GRAPHS) {
    backend->graph_free(device, tape->graphs[0].handle);
    ga__free(tape->graphs[0].key);
    memmove(tape->graphs, tape->graphs + 1, (GRAPHS - 1) * sizeof *tape->graphs);
    tape->n_graphs--;
  }
  *out = &tape->graphs[tape->n_graphs++];
  **out = (graph){key, handle};
  return GA_NO_ERROR;
}

/* The graph for where the memory lies now: a known one, or a new one if this place was
 * seen before; NULL if there is none. */
static graph *find_graph(ga_tape *tape, const ga_binding *bindings) {
  graph *found = NULL;
  write_key(tape, bindings);
  for (unsigned int i = 0; i < tape->n_graphs; i++)
    if (memcmp(tape->graphs[i].key, tape->key, tape->n_slots * sizeof *tape->key) == 0)
      return &tape->graphs[i];
  if (comes_back(tape) && record_graph(&found, tape, bindings) != GA_NO_ERROR)
    tape->without_graphs = true; /* command by command always works */
  return found;
}

static int queue(ga_tape *tape, const ga_binding *bindings) {
  if (!tape->without_graphs) {
    gpucontext *ctx = tape->context;
    graph *known = find_graph(tape, bindings);
    if (known != NULL)
      return ga__context_status(ctx,
                                ctx->backend->graph_launch(ctx->device, known->handle));
  }
  return queue_commands(tape, bindings);
}

int ga__tape_replay(ga_tape *tape, ga_binding *bindings) {
  for (unsigned int i = 0; i < tape->n_slots; i++)
    if (!tape->slots[i]->input)
      bindings[i] = (ga_binding){NULL, 0};
  int status = allocate(tape, bindings);
  if (status == GA_NO_ERROR)
    status = queue(tape, bindings);
  release_workspace(tape);
  if (status == GA_NO_ERROR)
    return status;
  for (unsigned int i = 0; i < tape->n_slots; i++)
    if (tape->slots[i]->kept)
      gpudata_release(bindings[i].buffer);
  return status;
}

void ga__tape_counts(const ga_tape *tape, size_t *commands, size_t *allocations,
                     size_t *workspace) {
  *commands = tape->n_commands;
  *allocations = tape->n_blocks;
  *workspace = 0;
  for (unsigned int i = 0; i < tape->n_blocks; i++)
    *workspace += tape->blocks[i].size;
  for (unsigned int i = 0; i < tape->n_slots; i++)
    *allocations += tape->slots[i]->kept;
}
