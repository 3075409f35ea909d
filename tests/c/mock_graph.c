/* The mock's graphs. A graph runs its nodes as late as they may: what a node ought to
 * wait for and does not, it runs before. */
#include <stdlib.h>

#include "mock_queue.h"

struct ga_cuda_graph_exec_ {
  command_list commands;
  CUgraph graph; /* with nodes that choose, which are to stay; else NULL */
};

enum { SET_DEPENDENCIES = 1 };
enum { KERNEL_NODE = 0, COPY_NODE = 1, CHOICE_NODE = 13 };

static CUgraphNode node_of(size_t i) {
  return (CUgraphNode)(uintptr_t)(i + 1);
}

CUgraphNode mock_add_node(CUgraph graph, const command *c, size_t n_after,
                          const CUgraphNode *after) {
  const size_t i = graph->commands.n;
  if (i == MOCK_NODES)
    abort();
  mock_append(&graph->commands, c);
  for (size_t k = 0; k < n_after; k++) {
    const size_t j = (size_t)(uintptr_t)after[k] - 1;
    graph->before[i] |= graph->before[j] | (uint64_t)1 << j;
  }
  mock_state.branches += i > 0 && !(graph->before[i] >> (i - 1) & 1);
  return node_of(i);
}

void mock_record(CUgraph graph, const command *c) {
  graph->waited[0] = mock_add_node(graph, c, graph->n_waited, graph->waited);
  graph->n_waited = 1;
}

static bool chooses(const command *c) {
  return c->bodies[0] != NULL;
}

static void free_graph(CUgraph graph) {
  for (size_t i = 0; i < graph->commands.n; i++)
    for (int side = 0; side < 2 && chooses(&graph->commands.items[i]); side++)
      free_graph(graph->commands.items[i].bodies[side]);
  free(graph->commands.items);
  free(graph);
}

CUresult cuStreamBeginCapture(CUstream stream, int mode) {
  (void)mode;
  CUresult result = mock_begin_unrecorded();
  if (result == CUDA_SUCCESS) {
    stream->graph = calloc(1, sizeof *stream->graph);
    stream->graph->is_open = true;
    mock_count_recordings(1);
  }
  return mock_end(result);
}

/* A body stays with its node, and one whose recording does not end well stays open.
 * What is around it may not end before it. */
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  CUresult result = mock_begin();
  CUgraph ended = stream->graph;
  stream->graph = NULL;
  if (mock_count_recordings(-1) > 0 && ended && !ended->is_body)
    abort();
  if (result == CUDA_SUCCESS) {
    ended->is_open = false;
    *graph = ended;
    mock_state.graphs += !ended->is_body;
  } else if (ended && !ended->is_body) {
    free_graph(ended);
  }
  return mock_end(result);
}

static _Thread_local CUgraph asked;

CUresult cuStreamGetCaptureInfo(CUstream stream, int *status, uint64_t *id,
                                CUgraph *graph, const CUgraphNode **nodes,
                                size_t *n_nodes) {
  CUresult result = mock_begin();
  (void)id;
  *status = stream->graph != NULL;
  if (result == CUDA_SUCCESS && stream->graph) {
    if (graph)
      *graph = stream->graph;
    *nodes = stream->graph->waited;
    *n_nodes = stream->graph->n_waited;
    asked = stream->graph;
  }
  return mock_end(result);
}

/* A product is a kernel. */
static int type_of(CUgraph graph, CUgraphNode node) {
  const command *c = &graph->commands.items[(size_t)(uintptr_t)node - 1];
  return chooses(c) ? CHOICE_NODE : c->to != NULL ? COPY_NODE : KERNEL_NODE;
}

/* Of the graph that the thread last asked about: a node is a number. */
CUresult cuGraphNodeGetType(CUgraphNode node, int *type) {
  CUresult result = mock_begin();
  if (result == CUDA_SUCCESS)
    *type = type_of(asked, node);
  return mock_end(result);
}

bool mock_follows_kernel(CUgraph graph) {
  return graph != NULL && graph->n_waited == 1 &&
         type_of(graph, graph->waited[0]) == KERNEL_NODE;
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *nodes,
                                           size_t n_nodes, unsigned int flags) {
  CUresult result = mock_begin();
  if (result == CUDA_SUCCESS &&
      (flags != SET_DEPENDENCIES || stream->graph == NULL || n_nodes > MOCK_NODES))
    result = INVALID_VALUE;
  for (size_t i = 0; result == CUDA_SUCCESS && i < n_nodes; i++)
    stream->graph->waited[i] = nodes[i];
  if (result == CUDA_SUCCESS)
    stream->graph->n_waited = n_nodes;
  return mock_end(result);
}

/* Pairs of products that may run at once in the same workspace. */
static long count_shared(const struct ga_cuda_graph_ *graph) {
  long n = 0;
  for (size_t i = 0; i < graph->commands.n; i++)
    for (size_t j = 0; j < i; j++)
      n += graph->commands.items[i].workspace != NULL &&
           graph->commands.items[i].workspace == graph->commands.items[j].workspace &&
           !(graph->before[i] >> j & 1);
  return n;
}

/* A driver was seen to fall over a graph whose recording was not ended. */
void mock_flatten(command_list *list, CUgraph graph) {
  const command *all = graph->commands.items;
  uint64_t run = 0;
  if (graph->is_open)
    abort();
  for (size_t i = 0; i < graph->commands.n; i++)
    if (chooses(&all[i]))
      mock_flatten_default(list, &all[i]);
  for (size_t n = 0; n < graph->commands.n; n++) {
    size_t i = graph->commands.n - 1; /* the latest that waits for nothing more */
    while (run >> i & 1 || (graph->before[i] & ~run) != 0)
      i--;
    if (chooses(&all[i]))
      mock_flatten_choice(list, &all[i]);
    else
      mock_append(list, &all[i]);
    run |= (uint64_t)1 << i;
  }
  mock_state.shared += count_shared(graph);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
                                     unsigned long long flags) {
  CUresult result = mock_begin();
  (void)flags;
  if (result == CUDA_SUCCESS) {
    *exec = calloc(1, sizeof **exec);
    mock_flatten(&(*exec)->commands, graph);
    for (size_t i = 0; i < graph->commands.n; i++)
      if (chooses(&graph->commands.items[i]))
        (*exec)->graph = graph;
    mock_state.graphs++;
  }
  return mock_end(result);
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  CUresult result = mock_begin();
  if (result == CUDA_SUCCESS && exec->graph && exec->graph->is_body)
    result = INVALID_VALUE;
  if (result == CUDA_SUCCESS) {
    for (size_t i = 0; i < exec->commands.n; i++)
      mock_append(&stream->commands, &exec->commands.items[i]);
    mock_state.graph_launches++;
  }
  return mock_end(result);
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  mock_lock();
  free(exec->commands.items);
  free(exec);
  mock_state.graphs--;
  return mock_end(CUDA_SUCCESS);
}

CUresult cuGraphDestroy(CUgraph graph) {
  mock_lock();
  free_graph(graph);
  mock_state.graphs--;
  return mock_end(CUDA_SUCCESS);
}
