/* The replay of a tape: command by command, or as a graph where its memory stays. */
#include "c/tape_state.h"

#include <string.h>

/* ---- command by command ---- */

/* The real buffer for a recorded one, and the bytes to add to an offset in it. */
static ga_binding resolve(const ga_binding *bindings, gpudata *buffer) {
  if (buffer != NULL && buffer->tape != NULL)
    return bindings[ga__tape_slot(buffer)];
  return (ga_binding){buffer, 0};
}

static void rebase(ga_blas_operand *o, const ga_binding *bindings) {
  ga_binding real = resolve(bindings, o->buffer);
  o->buffer = real.buffer;
  o->offset += real.base;
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
  ga_blas_call call = c->u.product;
  rebase(&call.a, bindings);
  rebase(&call.b, bindings);
  rebase(&call.c, bindings);
  rebase(&call.bias, bindings);
  return ga__context_product(tape->context, &call);
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
  case PRODUCT:
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

/* Each command has the label of the step it was recorded for. */
static int queue_commands(ga_tape *tape, const ga_binding *bindings) {
  const char *own = ga__label();
  int status = GA_NO_ERROR;
  for (size_t i = 0; i < tape->n_commands && status == GA_NO_ERROR; i++) {
    command *c = &tape->commands[i];
    ga__label_swap(*c->label ? c->label : own);
    status = replay_command(tape, c, bindings);
  }
  ga__label_swap(own);
  return status;
}

/* ---- as a graph ---- */

/* Notes that a command writes to a buffer. */
static void mark_written(ga_tape *tape, gpudata *buffer) {
  if (buffer->tape != NULL) {
    tape->slots[ga__tape_slot(buffer)]->written = true;
    return;
  }
  for (size_t i = 0; i < tape->n_held; i++)
    if (tape->held[i] == buffer)
      tape->uses[i].writes = true;
}

/* What the commands do to each buffer. */
static void note_uses(ga_tape *tape) {
  for (size_t i = 0; i < tape->n_held; i++)
    if (!(tape->held[i]->flags & GA_BUFFER_WORD))
      tape->uses[i].buffer = tape->held[i];
  for (const command *c = tape->commands; c < tape->commands + tape->n_commands; c++) {
    if (c->kind == PRODUCT)
      mark_written(tape, c->u.product.c.buffer);
    else if (c->kind != LAUNCH)
      mark_written(tape, c->u.move.to);
    for (unsigned int i = 0; c->kind == LAUNCH && i < c->launch.n_args; i++)
      if (c->recorded[i].kind == GA_ARG_MEMORY && !c->recorded[i].is_read_only)
        mark_written(tape, c->recorded[i].buffer);
  }
}

int ga__tape_prepare_graphs(ga_tape *tape) {
  const gpucontext *ctx = tape->context;
  tape->without_graphs =
      ctx->backend->graph_begin == NULL || ctx->is_blocking || tape->n_commands < 2;
  if (tape->without_graphs)
    return GA_NO_ERROR;
  tape->key = ga__alloc(tape->n_slots + 1, sizeof *tape->key);
  tape->seen = ga__alloc((size_t)SEEN * (tape->n_slots + 1), sizeof *tape->seen);
  tape->uses = ga__alloc(tape->n_held + tape->n_slots + 1, sizeof *tape->uses);
  if (tape->key == NULL || tape->seen == NULL || tape->uses == NULL)
    return GA_MEMORY_ERROR;
  note_uses(tape);
  return GA_NO_ERROR;
}

void ga__tape_free_graphs(ga_tape *tape) {
  for (unsigned int i = 0; i < tape->n_graphs; i++) {
    tape->context->backend->graph_free(tape->context->device, tape->graphs[i].handle);
    ga__free(tape->graphs[i].key);
  }
  ga__free(tape->key);
  ga__free(tape->seen);
  ga__free(tape->uses);
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
  void *device = ga__queue_device(tape->context), *handle = NULL;
  uint64_t *key = ga__alloc(tape->n_slots, sizeof *key);
  if (key == NULL)
    return GA_MEMORY_ERROR;
  memcpy(key, tape->key, tape->n_slots * sizeof *key);
  int status = backend->graph_begin(device);
  if (status == GA_NO_ERROR) {
    ga__queue_record(true);
    int queued = queue_commands(tape, bindings);
    ga__queue_record(false);
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

/* A graph's launches are all noted, since any of them may fail. */
static void note_launches(const ga_tape *tape) {
  gpucontext *ctx = tape->context;
  gpuqueue *q = ga__queue_current(ctx);
  const char *own = ga__label();
  for (const command *c = tape->commands; c < tape->commands + tape->n_commands; c++) {
    if (c->kind != LAUNCH)
      continue;
    ga__label_swap(*c->label ? c->label : own);
    ga__launches_add(&ctx->launches, c->kernel->shown, q->place);
  }
  ga__label_swap(own);
}

static int queue_graph(ga_tape *tape, const graph *known, const ga_binding *bindings) {
  gpucontext *ctx = tape->context;
  unsigned int n = (unsigned int)tape->n_held + tape->n_slots;
  void *device;
  for (unsigned int i = 0; i < tape->n_slots; i++)
    tape->uses[tape->n_held + i] =
        (ga_use){bindings[i].buffer, tape->slots[i]->written};
  GA_TRY(ga__queue_begin(&device, ctx, n, tape->uses));
  note_launches(tape);
  int status = ctx->backend->graph_launch(device, known->handle);
  if (status == GA_NO_ERROR)
    status = ga__launches_mark(ga__queue_current(ctx), tape->n_commands);
  if (tape->reports)
    atomic_store(&ga__queue_current(ctx)->reports, true);
  ga__queue_end(ctx, n, tape->uses);
  return status;
}

static int queue(ga_tape *tape, const ga_binding *bindings) {
  /* A profile times each command by itself. */
  if (!tape->without_graphs && atomic_load(&tape->context->profile) == NULL) {
    graph *known = find_graph(tape, bindings);
    if (known != NULL)
      return ga__context_status(tape->context, queue_graph(tape, known, bindings));
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
