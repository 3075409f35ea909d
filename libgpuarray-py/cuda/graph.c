/* Graphs: work recorded once and queued again in one call.
 *
 * A thread records on a stream apart, so that what other threads queue meanwhile is
 * neither caught nor kept waiting. It holds the BLAS handle until it is done. Where a
 * graph branches, the nodes that a command ends with are written down, and those of the
 * commands that the next one waits for become what the stream's next node waits for. */
#include "cuda/graph.h"

#include "cuda/conditional.h"
#include "cuda/library/blas.h"

enum { NON_BLOCKING = 1, CAPTURE_THREAD_LOCAL = 1, SET_DEPENDENCIES = 1 };

/* A recording with branches. Command i ends with nodes[firsts[i]] up to
 * nodes[firsts[i + 1] - 1]; that of the last one is not known yet. */
struct ga_cuda_recording {
  CUdeviceptr workspace[GA_CUDA_LANES - 1];
  CUgraphNode *nodes, *waited; /* `waited` is what the next command waits for */
  size_t *firsts;
  size_t n_nodes, n_waited, n_commands;
  size_t node_capacity, waited_capacity, command_capacity;
  unsigned int lane;
  bool has_begun; /* a command */
};

/* ---- workspace ---- */

/* Has products take the workspace of a lane; the first lane's is cuBLAS's own, which a
 * change of streams brings back. */
static int use_lane(ga_cuda_device *d, unsigned int lane) {
  if (lane == d->recording->lane)
    return GA_NO_ERROR;
  d->recording->lane = lane;
  if (lane == 0)
    return ga__cuda_blas_move(d, d->capture);
  return ga__cuda_blas_workspace(d, d->recording->workspace[lane - 1],
                                 ga__cuda_blas_workspace_size(d));
}

/* Gets ready for branches, with a workspace for each lane but the first. */
static int prepare(ga_cuda_device *d, unsigned int lanes) {
  if (ga__cuda.cuStreamGetCaptureInfo == NULL ||
      ga__cuda.cuStreamUpdateCaptureDependencies == NULL ||
      (lanes > 1 && ga__cuda.cublasSetWorkspace == NULL))
    return GA_FAIL(GA_DEVSUP_ERROR, "cuda: this driver has no branches in graphs");
  if (d->recording == NULL)
    d->recording = ga__alloc(1, sizeof *d->recording);
  if (d->recording == NULL)
    return GA_MEMORY_ERROR;
  struct ga_cuda_recording *r = d->recording;
  r->n_nodes = r->n_commands = 0;
  r->lane = 0;
  r->has_begun = false;
  for (unsigned int i = 0; i + 1 < lanes; i++)
    if (r->workspace[i] == 0)
      CUDA_TRY(cuMemAlloc, &r->workspace[i], ga__cuda_blas_workspace_size(d));
  return GA_NO_ERROR;
}

void ga__cuda_graph_close(ga_cuda_device *d) {
  struct ga_cuda_recording *r = d->recording;
  ga__cuda_choice_close(d);
  if (d->capture)
    ga__cuda.cuStreamDestroy(d->capture);
  for (unsigned int i = 0; r != NULL && i + 1 < GA_CUDA_LANES; i++)
    if (r->workspace[i] != 0)
      ga__cuda.cuMemFree(r->workspace[i]);
  if (r != NULL) {
    ga__free(r->nodes);
    ga__free(r->waited);
    ga__free(r->firsts);
  }
  ga__free(r);
  d->capture = NULL;
  d->recording = NULL;
}

/* ---- branches ---- */

/* Adds nodes to a list. */
static int add_nodes(CUgraphNode **list, size_t *n, size_t *capacity, size_t count,
                     const CUgraphNode *added) {
  if (*n + count > *capacity) {
    const size_t wanted = 2 * (*n + count);
    CUgraphNode *more = ga__realloc(*list, wanted, sizeof *more);
    if (more == NULL)
      return GA_MEMORY_ERROR;
    *list = more;
    *capacity = wanted;
  }
  for (size_t i = 0; i < count; i++)
    (*list)[(*n)++] = added[i];
  return GA_NO_ERROR;
}

/* Writes down the nodes that the latest command ends with. */
static int end_command(const ga_cuda_device *d) {
  struct ga_cuda_recording *r = d->recording;
  const CUgraphNode *ends = NULL;
  size_t n = 0;
  int state = 0;
  if (r->n_commands + 2 > r->command_capacity) {
    const size_t wanted = 2 * (r->n_commands + 2);
    size_t *more = ga__realloc(r->firsts, wanted, sizeof *more);
    if (more == NULL)
      return GA_MEMORY_ERROR;
    r->firsts = more;
    r->command_capacity = wanted;
  }
  CUDA_TRY(cuStreamGetCaptureInfo, d->capture, &state, NULL, NULL, &ends, &n);
  r->firsts[r->n_commands] = r->n_nodes;
  GA_TRY(add_nodes(&r->nodes, &r->n_nodes, &r->node_capacity, n, ends));
  r->firsts[++r->n_commands] = r->n_nodes;
  return GA_NO_ERROR;
}

static int next_command(ga_cuda_device *d, unsigned int n, const unsigned int *after,
                        unsigned int lane) {
  struct ga_cuda_recording *r = d->recording;
  if (r->has_begun)
    GA_TRY(end_command(d));
  r->has_begun = true;
  r->n_waited = 0;
  for (unsigned int i = 0; i < n; i++) {
    const size_t first = r->firsts[after[i]], end = r->firsts[after[i] + 1];
    GA_TRY(add_nodes(&r->waited, &r->n_waited, &r->waited_capacity, end - first,
                     r->nodes + first));
  }
  CUDA_TRY(cuStreamUpdateCaptureDependencies, d->capture, r->waited, r->n_waited,
           SET_DEPENDENCIES);
  return use_lane(d, lane);
}

int ga__cuda_graph_next(void *device, unsigned int n, const unsigned int *after,
                        unsigned int lane) {
  ga_cuda_device *d = device;
  CUcontext previous;
  GA_TRY(ga__cuda_enter(&previous, d));
  int status = next_command(d, n, after, lane);
  ga__cuda_leave(d, previous);
  return status;
}

/* ---- recording and running ---- */

/* Starts to record, products too. The thread holds the BLAS handle. */
static int start(ga_cuda_device *d, unsigned int lanes) {
  if (lanes > 0)
    GA_TRY(prepare(d, lanes));
  if (d->capture == NULL)
    CUDA_TRY(cuStreamCreate, &d->capture, NON_BLOCKING);
  GA_TRY(ga__cuda_blas_move(d, d->capture));
  CUDA_TRY(cuStreamBeginCapture, d->capture, CAPTURE_THREAD_LOCAL);
  return GA_NO_ERROR;
}

int ga__cuda_graph_begin(void *device, unsigned int lanes) {
  ga_cuda_device *d = device;
  CUcontext previous;
  if (ga__cuda.cuStreamBeginCapture == NULL || ga__cuda.cuGraphLaunch == NULL ||
      ga__cuda.cuGraphInstantiateWithFlags == NULL)
    return GA_FAIL(GA_DEVSUP_ERROR, "cuda: this driver has no graphs");
  GA_TRY(ga__cuda_enter(&previous, d));
  ga__cuda_blas_hold(d);
  int status = start(d, lanes);
  if (status != GA_NO_ERROR)
    ga__cuda_blas_let_go(d);
  ga__cuda_leave(d, previous);
  if (status == GA_NO_ERROR)
    ga__cuda_record_on(d);
  return status;
}

/* A graph that runs; with what it was made from where choices are parts of that. */
typedef struct ga_cuda_graph {
  CUgraphExec exec;
  CUgraph graph;
} ga_cuda_graph;

static void destroy(const ga_cuda_graph *g) {
  if (g->exec)
    ga__cuda.cuGraphExecDestroy(g->exec);
  if (g->graph)
    ga__cuda.cuGraphDestroy(g->graph);
}

static int instantiate(ga_cuda_graph *made, ga_cuda_device *d) {
  bool chooses;
  int status = ga__cuda_choice_end(&chooses, d);
  CUDA_TRY(cuStreamEndCapture, d->capture, &made->graph);
  GA_TRY(status);
  CUDA_TRY(cuGraphInstantiateWithFlags, &made->exec, made->graph, 0);
  if (!chooses) {
    ga__cuda.cuGraphDestroy(made->graph);
    made->graph = NULL;
  }
  return GA_NO_ERROR;
}

/* Ends the recording, whatever comes of it. */
static int finish(void **graph, ga_cuda_device *d) {
  ga_cuda_graph made = {0}, *kept = NULL;
  int status = instantiate(&made, d);
  if (status == GA_NO_ERROR) {
    kept = ga__alloc(1, sizeof *kept);
    status = kept ? GA_NO_ERROR : GA_MEMORY_ERROR;
  }
  if (status != GA_NO_ERROR) {
    destroy(&made);
    return status;
  }
  *kept = made;
  *graph = kept;
  return GA_NO_ERROR;
}

int ga__cuda_graph_end(void **graph, void *device) {
  ga_cuda_device *d = device;
  CUcontext previous;
  ga__cuda_record_on(NULL);
  int status = ga__cuda_enter(&previous, d);
  if (status == GA_NO_ERROR) {
    status = finish(graph, d);
    ga__cuda_leave(d, previous);
  } else {
    bool chose; /* the thread is to record as before all the same */
    ga__cuda_choice_end(&chose, d);
  }
  ga__cuda_blas_let_go(d);
  return status;
}

int ga__cuda_graph_launch(void *device, void *graph) {
  const ga_cuda_device *d = device;
  const ga_cuda_graph *g = graph;
  CUDA_RETURN(d, cuGraphLaunch, g->exec, d->stream);
}

void ga__cuda_graph_free(void *device, void *graph) {
  const ga_cuda_device *d = device;
  CUcontext previous;
  if (graph == NULL || ga__cuda_enter(&previous, d) != GA_NO_ERROR)
    return;
  destroy(graph);
  ga__free(graph);
  ga__cuda_leave(d, previous);
}
