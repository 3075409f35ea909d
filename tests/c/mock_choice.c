/* The mock's conditional nodes. In what is launched, a node and its two bodies lie one
 * behind the other, with commands that pass over what does not run. */
#include <stdlib.h>

#include "mock_queue.h"

enum {
  ASSIGN_DEFAULT = 1,
  NODE_IS_CONDITIONAL = 13,
  KIND_IS_IF = 0,
  CAPTURE_RELAXED = 2,
  SINCE_DRIVER = 12030,
  TWO_SIDES_SINCE = 12080
};

/* ---- handles ---- */

/* They outlive their graphs, for queued commands may still ask them. */
typedef struct handle {
  CUgraph graph; /* whose node it is for; NULL once that is there */
  bool starts, holds;
} handle;
static handle *handles; /* handle h is handles[h - 1] */
static size_t n_handles;

__attribute__((destructor)) static void free_handles(void) {
  free(handles);
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *out, CUgraph graph,
                                        CUcontext context, unsigned int value,
                                        unsigned int flags) {
  CUresult result = mock_begin();
  if (result == CUDA_SUCCESS && (context != mock_current || flags != ASSIGN_DEFAULT ||
                                 mock_state.version < SINCE_DRIVER))
    result = INVALID_VALUE;
  if (result == CUDA_SUCCESS) {
    handles = realloc(handles, (n_handles + 1) * sizeof *handles);
    handles[n_handles++] = (handle){.graph = graph, .starts = value != 0};
    *out = n_handles;
  }
  return mock_end(result);
}

void mock_tell(CUgraphConditionalHandle told, bool holds) {
  handles[told - 1].holds = holds;
}

/* ---- nodes ---- */

static bool is_choice(const ga_cuda_choice_node *p, CUgraph graph) {
  return p->type == NODE_IS_CONDITIONAL && p->kind == KIND_IS_IF && p->size == 2 &&
         p->context == mock_current && mock_state.version >= TWO_SIDES_SINCE &&
         p->handle > 0 && p->handle <= n_handles &&
         handles[p->handle - 1].graph == graph;
}

CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
                        const void *edges, size_t n_after,
                        ga_cuda_choice_node *parameters) {
  CUresult result = mock_begin();
  if (result == CUDA_SUCCESS && (edges != NULL || !is_choice(parameters, graph)))
    result = INVALID_VALUE;
  if (result == CUDA_SUCCESS) {
    command c = {.handle = parameters->handle};
    for (int side = 0; side < 2; side++) {
      c.bodies[side] = calloc(1, sizeof *c.bodies[side]);
      c.bodies[side]->is_body = true;
    }
    handles[c.handle - 1].graph = NULL;
    *node = mock_add_node(graph, &c, n_after, after);
    parameters->bodies = graph->commands.items[graph->commands.n - 1].bodies;
  }
  return mock_end(result);
}

/* ---- recording ---- */

static _Thread_local int recordings, mode;

static void settle(void) {
  mock_is_recording = recordings > 0 && mode != CAPTURE_RELAXED;
}

int mock_count_recordings(int change) {
  recordings += change;
  settle();
  return recordings;
}

CUresult cuThreadExchangeStreamCaptureMode(int *wanted) {
  CUresult result = mock_begin_anywhere();
  if (result == CUDA_SUCCESS && (*wanted < 0 || *wanted > CAPTURE_RELAXED))
    result = INVALID_VALUE;
  if (result == CUDA_SUCCESS) {
    const int before = mode;
    mode = *wanted;
    *wanted = before;
    settle();
  }
  return mock_end(result);
}

/* Only into a body that nothing was recorded in. */
CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
                                     const CUgraphNode *after, const void *edges,
                                     size_t n_after, int capture_mode) {
  CUresult result = mock_begin();
  (void)capture_mode;
  if (result == CUDA_SUCCESS &&
      (stream->graph != NULL || !graph->is_body || graph->is_open ||
       graph->commands.n > 0 || after != NULL || edges != NULL || n_after > 0))
    result = INVALID_VALUE;
  if (result == CUDA_SUCCESS) {
    stream->graph = graph;
    graph->is_open = true;
    mock_count_recordings(1);
  }
  return mock_end(result);
}

/* ---- running ---- */

static void run_default(command *c, CUstream stream) {
  (void)stream;
  handles[c->handle - 1].holds = handles[c->handle - 1].starts;
}

/* Passes over `size` commands. */
static void run_pass(command *c, CUstream stream) {
  stream->done += c->size;
}

static void run_choice(command *c, CUstream stream) {
  mock_state.choices++;
  if (!handles[c->handle - 1].holds)
    run_pass(c, stream);
}

void mock_flatten_default(command_list *list, const command *c) {
  mock_append(list, &(command){.run = run_default, .handle = c->handle});
}

void mock_flatten_choice(command_list *list, const command *c) {
  const size_t choice = list->n;
  mock_append(list, &(command){.run = run_choice, .handle = c->handle});
  mock_flatten(list, c->bodies[0]);
  const size_t pass = list->n;
  mock_append(list, &(command){.run = run_pass});
  mock_flatten(list, c->bodies[1]);
  list->items[choice].size = pass - choice;
  list->items[pass].size = list->n - pass - 1;
}
