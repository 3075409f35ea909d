/* The mock's graphs. A graph runs its nodes as late as they may: what a node ought to
 * wait for and does not, it runs before. */
#include <stdlib.h>

#include "mock_queue.h"

struct ga_cuda_graph_exec_ {
  command_list commands;
};

enum { SET_DEPENDENCIES = 1 };

static CUgraphNode node_of(size_t i) {
  return (CUgraphNode)(uintptr_t)(i + 1);
}

void mock_record(CUgraph graph, const command *c) {
  const size_t i = graph->commands.n;
  if (i == MOCK_NODES)
    abort();
  mock_append(&graph->commands, c);
  for (size_t k = 0; k < graph->n_waited; k++) {
    const size_t j = (size_t)(uintptr_t)graph->waited[k] - 1;
    graph->before[i] |= graph->before[j] | (uint64_t)1 << j;
  }
  mock_state.branches += i > 0 && !(graph->before[i] >> (i - 1) & 1);
  graph->waited[0] = node_of(i);
  graph->n_waited = 1;
}

static void free_graph(CUgraph graph) {
  free(graph->commands.items);
  free(graph);
}

CUresult cuStreamBeginCapture(CUstream stream, int mode) {
  (void)mode;
  CUresult result = mock_begin_unrecorded();
  if (result == CUDA_SUCCESS) {
    stream->graph = calloc(1, sizeof *stream->graph);
    mock_is_recording = true;
  }
  return mock_end(result);
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  CUresult result = mock_begin();
  mock_is_recording = false;
  if (result == CUDA_SUCCESS) {
    *graph = stream->graph;
    mock_state.graphs++;
  } else if (stream->graph) {
    free_graph(stream->graph);
  }
  stream->graph = NULL;
  return mock_end(result);
}

CUresult cuStreamGetCaptureInfo(CUstream stream, int *status, uint64_t *id,
                                CUgraph *graph, const CUgraphNode **nodes,
                                size_t *n_nodes) {
  CUresult result = mock_begin();
  (void)id, (void)graph;
  *status = stream->graph != NULL;
  if (result == CUDA_SUCCESS && stream->graph) {
    *nodes = stream->graph->waited;
    *n_nodes = stream->graph->n_waited;
  }
  return mock_end(result);
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

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
                                     unsigned long long flags) {
  CUresult result = mock_begin();
  uint64_t run = 0;
  (void)flags;
  if (result == CUDA_SUCCESS) {
    *exec = calloc(1, sizeof **exec);
    for (size_t n = 0; n < graph->commands.n; n++) {
      size_t i = graph->commands.n - 1; /* the latest that waits for nothing more */
      while (run >> i & 1 || (graph->before[i] & ~run) != 0)
        i--;
      mock_append(&(*exec)->commands, &graph->commands.items[i]);
      run |= (uint64_t)1 << i;
    }
    mock_state.shared += count_shared(graph);
    mock_state.graphs++;
  }
  return mock_end(result);
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  CUresult result = mock_begin();
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
