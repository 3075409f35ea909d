/* Replay as captured graphs (CUDA graphs), if memory stays in place. */
#include "c/tape/tape_branches.h"

#include <string.h>

#include "c/device/device_errors.h"

/* True if a graph pays for some part. */
static bool gains_by_graphs(const ga_tape *tape) {
  const gpucontext *ctx = tape->head.context;
  if (tape->conditionals.n > 0 && (!ga__tape_chooses(ctx) || tape->traits.collects))
    return false;
  bool gains = false;
  for (size_t i = 0; i < tape->parts.n; i++)
    gains |= tape->parts.list[i].gains;
  return ctx->backend->graph_begin != NULL && !ctx->is_blocking &&
         !tape->traits.defers && gains;
}

int ga__tape_prepare_graphs(ga_tape *tape) {
  tape_graphs *g = &tape->graphs;
  size_t places = (size_t)tape->memory.n_moves + tape->memory.n_blocks;
  g->are_off = !gains_by_graphs(tape);
  if (g->are_off)
    return GA_NO_ERROR;
  size_t most = GRAPH_COMMANDS / tape->n_commands;
  most = most < FEWEST_GRAPHS ? FEWEST_GRAPHS : most > MOST_GRAPHS ? MOST_GRAPHS : most;
  g->most = (unsigned int)most;
  g->list = ga__alloc(most, sizeof *g->list);
  g->hashes = ga__alloc(most, sizeof *g->hashes);
  g->seen = ga__alloc(most, sizeof *g->seen);
  g->key = ga__alloc(places + 1, sizeof *g->key);
  g->uses = ga__alloc(tape->parts.most_uses + 1, sizeof *g->uses);
  g->names = ga__alloc(tape->n_commands, sizeof *g->names);
  GA_TRY_MEMORY(g->list && g->hashes && g->seen && g->key && g->uses && g->names);
  unsigned int n = 0;
  for (const command *c = tape->commands; c < tape->commands + tape->n_commands; c++)
    if (c->kind == LAUNCH)
      g->names[n++] = (ga_named_launch){c->kernel->shown, c->label};
  return GA_NO_ERROR;
}

static void drop_graph(const ga_tape *tape, const graph *g) {
  const gpucontext *ctx = tape->head.context;
  for (size_t i = 0; g->handles != NULL && i < tape->parts.n; i++)
    if (g->handles[i] != NULL)
      ctx->backend->graph_free(ctx->device, g->handles[i]);
  ga__free((void *)g->handles);
  ga__free(g->key);
}

void ga__tape_free_graphs(ga_tape *tape) {
  tape_graphs *g = &tape->graphs;
  for (unsigned int i = 0; i < g->n; i++)
    drop_graph(tape, &g->list[i]);
  ga__free(g->list);
  ga__free(g->hashes);
  ga__free(g->key);
  ga__free(g->seen);
  ga__free(g->uses);
  ga__free(g->names);
}

static size_t key_bytes(const tape_memory *m) {
  return ((size_t)m->n_moves + m->n_blocks + 1) * sizeof(uint64_t);
}

/* Key of a graph: addresses of the memory it uses, and the queue that owns the
 * workspace of products and the plans of convolutions. Returns its hash. */
static uint64_t write_key(ga_tape *tape, const ga_binding *bindings) {
  const tape_memory *m = &tape->memory;
  uint64_t *word = tape->graphs.key, hash = 1;
  const bool is_of_queue = tape->traits.multiplies || tape->traits.convolves;
  *word++ = is_of_queue ? ga__queue_current(tape->head.context)->serial : 0;
  for (unsigned int i = 0; i < m->n_moves; i++) {
    ga_binding b = bindings[m->moves[i]];
    *word++ = (uint64_t)(uintptr_t)b.buffer->memory + b.base;
  }
  for (unsigned int i = 0; i < m->n_blocks; i++)
    *word++ = (uint64_t)(uintptr_t)m->workspace[i]->memory;
  for (const uint64_t *w = tape->graphs.key; w < word; w++) {
    hash = (hash ^ *w) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

/* True if a recent replay had the same key: graphs are captured at the second use. A
 * hash collision only captures too early. */
static bool comes_back(tape_graphs *g, uint64_t hash) {
  unsigned int n = g->n_seen < g->most ? g->n_seen : g->most;
  for (unsigned int i = 0; i < n; i++)
    if (g->seen[i] == hash)
      return true;
  g->seen[g->n_seen++ % g->most] = hash;
  return false;
}

/* Begins capture, with lanes if the backend has them. */
static int begin_graph(ga_branches *branches, void *device, const ga_tape *tape,
                       const part *p, const ga_binding *bindings) {
  const ga_backend *backend = tape->head.context->backend;
  const unsigned int lanes = tape->conditionals.n > 0 ? 0 : backend->graph_lanes;
  ga__tape_branches(branches, tape, p, bindings, lanes);
  if (branches->lanes > 0 &&
      backend->graph_begin(device, branches->lanes) == GA_NO_ERROR)
    return GA_NO_ERROR;
  ga__branches_clear(branches);
  return backend->graph_begin(device, 0);
}

/* Captures a part into a graph; nothing is queued. */
static int record_part(void **handle, ga_tape *tape, const part *p,
                       const ga_binding *bindings) {
  const ga_backend *backend = tape->head.context->backend;
  void *device = ga__queue_device(tape->head.context);
  ga_branches branches;
  /* Initializes what a new queue cannot during capture. */
  if (tape->conditionals.n > 0 && !backend->graph_chooses(device))
    return GA_FAIL(GA_DEVSUP_ERROR, "this queue has no conditional graph nodes");
  if (tape->traits.multiplies) /* no product may have run on this queue */
    GA_TRY(backend->blas_open(device, tape->traits.has_epilogues));
  if (tape->traits.convolves)
    GA_TRY(backend->dnn->open(device));
  int queued = begin_graph(&branches, device, tape, p, bindings);
  if (queued != GA_NO_ERROR)
    return queued;
  ga__queue_record(true);
  queued = ga__tape_queue_commands(tape, p, bindings, &branches);
  ga__queue_record(false);
  int status = backend->graph_end(handle, device);
  ga__branches_clear(&branches);
  if (queued != GA_NO_ERROR && status == GA_NO_ERROR) {
    backend->graph_free(device, *handle);
    *handle = NULL;
  }
  return queued != GA_NO_ERROR ? queued : status;
}

/* Captures graphs for this key; replaces the oldest one if the cache is full. */
static int record_graph(const graph **out, ga_tape *tape, const ga_binding *bindings,
                        uint64_t hash) {
  tape_graphs *g = &tape->graphs;
  const size_t bytes = key_bytes(&tape->memory);
  graph captured = {ga__alloc(bytes, 1), ga__alloc(tape->parts.n, sizeof(void *))};
  int status = captured.key && captured.handles ? GA_NO_ERROR : GA_MEMORY_ERROR;
  if (captured.key != NULL)
    memcpy(captured.key, g->key, bytes);
  for (size_t i = 0; status == GA_NO_ERROR && i < tape->parts.n; i++)
    if (tape->parts.list[i].gains)
      status = record_part(&captured.handles[i], tape, &tape->parts.list[i], bindings);
  if (status != GA_NO_ERROR) {
    drop_graph(tape, &captured);
    return status;
  }
  unsigned int place = g->next;
  g->next = (place + 1) % g->most;
  if (g->n == g->most)
    drop_graph(tape, &g->list[place]);
  else
    g->n++;
  g->list[place] = captured;
  g->hashes[place] = hash;
  *out = &g->list[place];
  return GA_NO_ERROR;
}

const graph *ga__tape_find_graph(ga_tape *tape, const ga_binding *bindings) {
  tape_graphs *g = &tape->graphs;
  const size_t bytes = key_bytes(&tape->memory);
  const graph *captured = NULL;
  uint64_t hash = write_key(tape, bindings);
  for (unsigned int i = 0; i < g->n; i++)
    if (g->hashes[i] == hash && memcmp(g->list[i].key, g->key, bytes) == 0)
      return &g->list[i];
  if (comes_back(g, hash) &&
      record_graph(&captured, tape, bindings, hash) != GA_NO_ERROR)
    g->are_off = true; /* fall back to single commands */
  return captured;
}

/* The part's use of each buffer, on real ones. */
static const ga_use *list_uses(ga_tape *tape, const part *p,
                               const ga_binding *bindings) {
  const ga_use *recorded = tape->parts.uses + p->first_use;
  ga_use *uses = tape->graphs.uses;
  for (size_t i = 0; i < p->n_uses; i++) {
    gpudata *buffer = recorded[i].buffer;
    if (buffer->tape != NULL)
      buffer = bindings[ga__tape_slot(buffer)].buffer;
    uses[i] = (ga_use){buffer, recorded[i].writes};
  }
  return uses;
}

static int queue_graph(ga_tape *tape, const part *p, void *handle,
                       const ga_binding *bindings) {
  gpucontext *ctx = tape->head.context;
  const ga_use *uses = list_uses(tape, p, bindings);
  const unsigned int n = (unsigned int)p->n_uses;
  void *device;
  GA_TRY(ga__queue_begin(&device, ctx, n, uses));
  /* All of its launches become suspects of a failure. */
  gpuqueue *q = ga__queue_current(ctx);
  ga__launches_add_all(&ctx->errors.launches, p->n_names,
                       tape->graphs.names + p->first_name, q->place);
  if (tape->traits.reports)
    ga__report_enter(ctx);
  int status = ctx->backend->graph_launch(device, handle);
  if (tape->traits.reports)
    ga__report_leave(ctx);
  GA_THEN(status, ga__launches_mark(q, p->n_names));
  if (tape->traits.reports)
    atomic_store(&q->reports, true);
  ga__queue_end(ctx, n, uses);
  return status;
}

int ga__tape_queue_graph(ga_tape *tape, const part *p, void *handle,
                         const ga_binding *bindings) {
  return ga__context_status(tape->head.context, queue_graph(tape, p, handle, bindings));
}
