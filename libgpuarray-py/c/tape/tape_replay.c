/* The replay of a tape: command by command, or as a graph where its memory stays. */
#include "c/tape/tape_branches.h"

#include <string.h>

#include "c/device/device_errors.h"

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
  return ga__context_product(tape->head.context, &call);
}

/* The arrays are borrowed: the bindings hold the buffers. */
static int replay_call(const ga_deferred *call, const ga_binding *bindings) {
  for (unsigned int i = 0; i < call->n_out + call->n_in; i++) {
    ga_binding real = resolve(bindings, call->recorded[i].data);
    call->arrays[i].data = real.buffer;
    call->arrays[i].offset = call->recorded[i].offset + real.base;
  }
  const GpuArray *const *ins = (const GpuArray *const *)(call->places + call->n_out);
  return call->function(call->data, call->places, ins, call->ints);
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
  case CALL:
    return replay_call(c->u.call, bindings);
  case FIND: /* marks, which queue_command looks at */
  case IF:
  case ELSE:
  case END:
    break;
  }
  return GA_NO_ERROR;
}

/* Has the host look at a condition, and go on where the commands are that run. */
static int pass_mark(ga_tape *tape, size_t *at, const ga_binding *bindings) {
  const command *c = &tape->commands[*at];
  condition *found = &tape->conditions[c->u.choice.condition];
  if (c->kind == FIND) {
    char bytes[GA_CONDITION_BYTES] = {0};
    const ga_binding real = resolve(bindings, found->buffer);
    GA_TRY(gpudata_read(bytes, real.buffer, found->offset + real.base, found->size));
    found->holds = memcmp(bytes, (char[GA_CONDITION_BYTES]){0}, sizeof bytes) != 0;
  }
  if (c->kind == ELSE || (c->kind == IF && !found->holds))
    *at = c->u.choice.end; /* past the ELSE, or to the END */
  return GA_NO_ERROR;
}

/* Tells the backend, which records, what runs where. */
static int record_mark(const ga_tape *tape, const command *c,
                       const ga_binding *bindings) {
  const ga_backend *backend = tape->head.context->backend;
  void *device = ga__queue_device(tape->head.context);
  const condition *asked = &tape->conditions[c->u.choice.condition];
  const ga_binding real = resolve(bindings, asked->buffer);
  switch (c->kind) {
  case IF:
    return backend->graph_if(device, real.buffer->memory, asked->offset + real.base,
                             asked->size);
  case ELSE:
    return backend->graph_else(device);
  case END:
    return backend->graph_end_if(device);
  default:
    return GA_NO_ERROR;
  }
}

/* ---- memory ---- */

static void drop_workspace(ga_tape *tape) {
  for (unsigned int i = 0; i < tape->n_blocks; i++) {
    gpudata_release(tape->workspace[i]);
    tape->workspace[i] = NULL;
  }
  tape->is_placed = false;
}

/* Lets the result of the latest replay go. It is no longer noted as kept before the
 * reference goes, so that who looks at both in between takes it for somebody else's. */
static void drop_last(slot *s) {
  if (s->last == NULL)
    return;
  atomic_store_explicit(&s->last->is_last, false, memory_order_release);
  gpudata_release(s->last);
  s->last = NULL;
}

void ga__tape_hold(ga_tape *tape, bool on) {
  tape->is_held = on || tape->workspace_size + tape->kept_size <= HELD_SIZE;
  if (on)
    return;
  if (tape->workspace != NULL)
    drop_workspace(tape);
  for (unsigned int i = 0; i < tape->n_kept; i++) {
    slot *s = tape->slots[tape->kept[i]];
    drop_last(s);
  }
}

/* Memory for a result: that of the latest replay, if nobody has it any more. */
static int kept_buffer(gpudata **out, const ga_tape *tape, slot *s) {
  if (s->last != NULL) {
    if (atomic_load_explicit(&s->last->references, memory_order_acquire) == 1) {
      gpudata_retain(s->last);
      *out = s->last;
      return GA_NO_ERROR;
    }
    drop_last(s);
  }
  GA_TRY(ga__buffer_new(out, tape->head.context, s->buffer.size));
  if (tape->is_held) {
    gpudata_retain(*out);
    s->last = *out;
    atomic_store_explicit(&s->last->is_last, true, memory_order_release);
  }
  return GA_NO_ERROR;
}

void ga__tape_give_up(const ga_tape *tape, const ga_binding *bindings) {
  for (unsigned int i = 0; i < tape->n_kept; i++)
    gpudata_release(bindings[tape->kept[i]].buffer);
}

/* The step whose result a slot is for. */
static unsigned int made_by(const ga_tape *tape, const slot *s) {
  return s->born < tape->n_commands ? tape->commands[s->born].step : 0;
}

/* The step whose result is the largest in a block of the workspace. */
static unsigned int largest_in(const ga_tape *tape, unsigned int number) {
  const slot *largest = NULL;
  for (unsigned int i = 0; i < tape->n_slots; i++) {
    const slot *s = tape->slots[i];
    if (s->number == i && !s->input && !s->kept && s->block == number &&
        (largest == NULL || s->buffer.size > largest->buffer.size))
      largest = s;
  }
  return largest == NULL ? 0 : made_by(tape, largest);
}

static int allocate_block(ga_tape *tape, unsigned int i) {
  int status =
      ga__buffer_new(&tape->workspace[i], tape->head.context, tape->blocks[i].size);
  if (status != GA_NO_ERROR)
    tape->failed = largest_in(tape, i);
  return status;
}

/* Puts memory for every block and kept slot into the bindings. */
static int allocate(ga_tape *tape, ga_binding *bindings) {
  for (unsigned int i = 0; i < tape->n_kept; i++)
    bindings[tape->kept[i]] = (ga_binding){NULL, 0};
  for (unsigned int i = 0; i < tape->n_blocks && !tape->is_placed; i++)
    if (tape->workspace[i] == NULL)
      GA_TRY(allocate_block(tape, i));
  for (unsigned int i = 0; i < tape->n_slots && !tape->is_placed; i++) {
    const slot *s = tape->slots[i];
    if (s->number == i && !s->input && !s->kept)
      bindings[i] = (ga_binding){tape->workspace[s->block], 0};
  }
  tape->is_placed = true;
  for (unsigned int i = 0; i < tape->n_kept; i++) {
    unsigned int number = tape->kept[i];
    slot *s = tape->slots[number];
    int status = kept_buffer(&bindings[number].buffer, tape, s);
    if (status != GA_NO_ERROR) {
      tape->failed = made_by(tape, s);
      return status;
    }
  }
  return GA_NO_ERROR;
}

static int queue_command(ga_tape *tape, size_t *at, const ga_binding *bindings,
                         const ga_branches *branches) {
  command *c = &tape->commands[*at];
  if (is_mark(c))
    return branches != NULL ? record_mark(tape, c, bindings)
                            : pass_mark(tape, at, bindings);
  if (branches != NULL && branches->lanes > 0)
    GA_TRY(tape->head.context->backend->graph_next(
        ga__queue_device(tape->head.context),
        branches->first[*at + 1] - branches->first[*at],
        branches->after + branches->first[*at], branches->lane[*at]));
  return replay_command(tape, c, bindings);
}

/* Whether a command that failed is worth another try: it would leave inputs half
 * changed. A function that is called is not asked twice. */
static bool may_try_again(const ga_tape *tape, const command *c) {
  return tape->protects && tape->writes_early && tape->is_proven && c->kind != CALL &&
         atomic_load(&tape->head.context->lost) == NULL;
}

/* What a device refuses for want of room it may take once its queue is empty. */
static int try_again(ga_tape *tape, size_t *at, const ga_binding *bindings) {
  gpucontext *ctx = tape->head.context;
  GA_TRY(ga__context_waited(ctx, ga__queue_wait(ga__queue_current(ctx))));
  GA_TRY(gpucontext_trim(ctx));
  return queue_command(tape, at, bindings, NULL);
}

/* Each command has the label of the step it was recorded for. While a graph is recorded
 * there are `branches`; with lanes, a command waits for those only that they list. */
static int queue_commands(ga_tape *tape, const ga_binding *bindings,
                          const ga_branches *branches) {
  const char *own = ga__label();
  int status = GA_NO_ERROR;
  for (size_t i = 0; i < tape->n_commands && status == GA_NO_ERROR; i++) {
    command *c = &tape->commands[i];
    ga__label_swap(*c->label ? c->label : own);
    status = queue_command(tape, &i, bindings, branches);
    if (status != GA_NO_ERROR && branches == NULL && may_try_again(tape, c))
      status = try_again(tape, &i, bindings);
    tape->failed = status == GA_NO_ERROR ? 0 : c->step;
  }
  ga__label_swap(own);
  return status;
}

/* ---- as a graph ---- */

/* Notes that a command writes to a buffer. */
static void mark_written(ga_tape *tape, const gpudata *buffer) {
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
    else if (c->kind == COPY || c->kind == FILL)
      mark_written(tape, c->u.move.to);
    for (unsigned int i = 0; c->kind == LAUNCH && i < c->launch.n_args; i++)
      if (c->recorded[i].kind == GA_ARG_MEMORY && !c->recorded[i].is_read_only)
        mark_written(tape, c->recorded[i].buffer);
  }
}

/* Whether a graph is of use: even for one launch, which costs the host less so; not for
 * a copy alone, which the driver does faster by itself. */
static bool gains_by_graphs(const ga_tape *tape) {
  const gpucontext *ctx = tape->head.context;
  if (tape->n_conditions > 0 && !ga__tape_chooses(ctx))
    return false;
  return ctx->backend->graph_begin != NULL && !ctx->is_blocking && !tape->defers &&
         (tape->n_commands > 1 ||
          (tape->n_commands == 1 && tape->commands->kind == LAUNCH));
}

int ga__tape_prepare_graphs(ga_tape *tape) {
  size_t places = (size_t)tape->n_moves + tape->n_blocks;
  tape->without_graphs = !gains_by_graphs(tape);
  if (tape->without_graphs)
    return GA_NO_ERROR;
  size_t most = GRAPH_COMMANDS / tape->n_commands;
  most = most < FEWEST_GRAPHS ? FEWEST_GRAPHS : most > MOST_GRAPHS ? MOST_GRAPHS : most;
  tape->most_graphs = (unsigned int)most;
  tape->graphs = ga__alloc(most, sizeof *tape->graphs);
  tape->hashes = ga__alloc(most, sizeof *tape->hashes);
  tape->seen = ga__alloc(most, sizeof *tape->seen);
  tape->key = ga__alloc(places + 1, sizeof *tape->key);
  tape->uses = ga__alloc(tape->n_held + places + 1, sizeof *tape->uses);
  tape->names = ga__alloc(tape->n_commands, sizeof *tape->names);
  if (tape->graphs == NULL || tape->hashes == NULL || tape->seen == NULL ||
      tape->key == NULL || tape->uses == NULL || tape->names == NULL)
    return GA_MEMORY_ERROR;
  note_uses(tape);
  for (const command *c = tape->commands; c < tape->commands + tape->n_commands; c++)
    if (c->kind == LAUNCH)
      tape->names[tape->n_names++] = (ga_named_launch){c->kernel->shown, c->label};
  return GA_NO_ERROR;
}

static void drop_graph(const ga_tape *tape, graph *g) {
  tape->head.context->backend->graph_free(tape->head.context->device, g->handle);
  ga__free(g->key);
}

void ga__tape_free_graphs(ga_tape *tape) {
  for (unsigned int i = 0; i < tape->n_graphs; i++)
    drop_graph(tape, &tape->graphs[i]);
  ga__free(tape->graphs);
  ga__free(tape->hashes);
  ga__free(tape->key);
  ga__free(tape->seen);
  ga__free(tape->uses);
  ga__free(tape->names);
}

static size_t key_bytes(const ga_tape *tape) {
  return ((size_t)tape->n_moves + tape->n_blocks + 1) * sizeof *tape->key;
}

/* Where the memory is that the commands use, and the queue whose workspace products
 * take; gives the hash of that. */
static uint64_t write_key(ga_tape *tape, const ga_binding *bindings) {
  uint64_t *word = tape->key, hash = 1;
  *word++ = tape->multiplies ? ga__queue_current(tape->head.context)->serial : 0;
  for (unsigned int i = 0; i < tape->n_moves; i++) {
    ga_binding b = bindings[tape->moves[i]];
    *word++ = (uint64_t)(uintptr_t)b.buffer->memory + b.base;
  }
  for (unsigned int i = 0; i < tape->n_blocks; i++)
    *word++ = (uint64_t)(uintptr_t)tape->workspace[i]->memory;
  for (const uint64_t *w = tape->key; w < word; w++) {
    hash = (hash ^ *w) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

/* Whether one of the last replays ran on the same memory; remembers this one. Of two
 * that only have the same hash, the second gets its graph too early. */
static bool comes_back(ga_tape *tape, uint64_t hash) {
  unsigned int kept =
      tape->n_seen < tape->most_graphs ? tape->n_seen : tape->most_graphs;
  for (unsigned int i = 0; i < kept; i++)
    if (tape->seen[i] == hash)
      return true;
  tape->seen[tape->n_seen++ % tape->most_graphs] = hash;
  return false;
}

/* Starts to record, with branches if the backend has them. */
static int begin_graph(ga_branches *branches, void *device, const ga_tape *tape,
                       const ga_binding *bindings) {
  const ga_backend *backend = tape->head.context->backend;
  const unsigned int lanes = tape->n_conditions > 0 ? 0 : backend->graph_lanes;
  ga__tape_branches(branches, tape, bindings, lanes);
  if (branches->lanes > 0 &&
      backend->graph_begin(device, branches->lanes) == GA_NO_ERROR)
    return GA_NO_ERROR;
  ga__branches_clear(branches);
  return backend->graph_begin(device, 0);
}

/* Records the commands as a graph. Nothing is queued. */
static int record_commands(void **handle, ga_tape *tape, const ga_binding *bindings) {
  const ga_backend *backend = tape->head.context->backend;
  void *device = ga__queue_device(tape->head.context);
  ga_branches branches;
  /* A queue of its own makes ready here what it cannot while it records. */
  if (tape->n_conditions > 0 && !backend->graph_chooses(device))
    return GA_FAIL(GA_DEVSUP_ERROR, "this queue has no choices in graphs");
  if (tape->multiplies) /* no product may have run here */
    GA_TRY(backend->blas_open(device, tape->has_epilogues));
  int queued = begin_graph(&branches, device, tape, bindings);
  if (queued != GA_NO_ERROR)
    return queued;
  ga__queue_record(true);
  queued = queue_commands(tape, bindings, &branches);
  ga__queue_record(false);
  int status = backend->graph_end(handle, device);
  ga__branches_clear(&branches);
  if (queued != GA_NO_ERROR && status == GA_NO_ERROR)
    backend->graph_free(device, *handle);
  return queued != GA_NO_ERROR ? queued : status;
}

/* A graph for this key, in the place of the oldest if there is no room. */
static int record_graph(graph **out, ga_tape *tape, const ga_binding *bindings,
                        uint64_t hash) {
  graph made = {ga__alloc(key_bytes(tape) + 1, 1), NULL};
  if (made.key == NULL)
    return GA_MEMORY_ERROR;
  memcpy(made.key, tape->key, key_bytes(tape));
  int status = record_commands(&made.handle, tape, bindings);
  if (status != GA_NO_ERROR) {
    ga__free(made.key);
    return status;
  }
  unsigned int place = tape->next_graph;
  tape->next_graph = (place + 1) % tape->most_graphs;
  if (tape->n_graphs == tape->most_graphs)
    drop_graph(tape, &tape->graphs[place]);
  else
    tape->n_graphs++;
  tape->graphs[place] = made;
  tape->hashes[place] = hash;
  *out = &tape->graphs[place];
  return GA_NO_ERROR;
}

/* The graph for where the memory lies now: a known one, or a new one if this place was
 * seen before; NULL if there is none. */
static graph *find_graph(ga_tape *tape, const ga_binding *bindings) {
  graph *found = NULL;
  uint64_t hash = write_key(tape, bindings);
  for (unsigned int i = 0; i < tape->n_graphs; i++)
    if (tape->hashes[i] == hash &&
        memcmp(tape->graphs[i].key, tape->key, key_bytes(tape)) == 0)
      return &tape->graphs[i];
  if (comes_back(tape, hash) &&
      record_graph(&found, tape, bindings, hash) != GA_NO_ERROR)
    tape->without_graphs = true; /* command by command always works */
  return found;
}

/* What the graph does to each buffer; gives their number. */
static unsigned int list_uses(ga_tape *tape, const ga_binding *bindings) {
  ga_use *use = tape->uses + tape->n_held;
  for (unsigned int i = 0; i < tape->n_moves; i++) {
    unsigned int number = tape->moves[i];
    *use++ = (ga_use){bindings[number].buffer, tape->slots[number]->written};
  }
  for (unsigned int i = 0; i < tape->n_blocks; i++)
    *use++ = (ga_use){tape->workspace[i], true};
  return (unsigned int)(use - tape->uses);
}

static int queue_graph(ga_tape *tape, const graph *known, const ga_binding *bindings) {
  gpucontext *ctx = tape->head.context;
  unsigned int n = list_uses(tape, bindings);
  void *device;
  GA_TRY(ga__queue_begin(&device, ctx, n, tape->uses));
  /* Any of a graph's launches may fail. */
  gpuqueue *q = ga__queue_current(ctx);
  ga__launches_add_all(&ctx->launches, tape->n_names, tape->names, q->place);
  if (tape->reports)
    ga__report_enter(ctx);
  int status = ctx->backend->graph_launch(device, known->handle);
  if (tape->reports)
    ga__report_leave(ctx);
  if (status == GA_NO_ERROR)
    status = ga__launches_mark(q, tape->n_names);
  if (tape->reports)
    atomic_store(&q->reports, true);
  ga__queue_end(ctx, n, tape->uses);
  return status;
}

static int queue(ga_tape *tape, const ga_binding *bindings) {
  const gpucontext *ctx = tape->head.context;
  /* A profile times each command by itself. */
  bool at_once = atomic_load(&ctx->profile) == NULL && !ctx->is_blocking;
  if (!tape->without_graphs && at_once) {
    graph *known = find_graph(tape, bindings);
    if (known != NULL)
      return ga__context_status(tape->head.context, queue_graph(tape, known, bindings));
  }
  return queue_commands(tape, bindings, NULL);
}

int ga__tape_replay(ga_tape *tape, ga_binding *bindings) {
  tape->failed = 0;
  int status = allocate(tape, bindings);
  if (status == GA_NO_ERROR)
    status = queue(tape, bindings);
  if (status == GA_NO_ERROR)
    ga__tape_prove(tape);
  if (!tape->is_held || status != GA_NO_ERROR)
    drop_workspace(tape);
  if (status != GA_NO_ERROR)
    ga__tape_give_up(tape, bindings);
  return status;
}

void ga__tape_counts(const ga_tape *tape, size_t *commands, size_t *allocations,
                     size_t *workspace) {
  *commands = tape->n_commands - tape->n_marks;
  *allocations = (size_t)tape->n_blocks + tape->n_kept;
  *workspace = tape->workspace_size;
}
