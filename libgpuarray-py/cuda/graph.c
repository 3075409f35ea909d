/* CUDA graphs by stream capture.
 *
 * A thread captures on a stream of its own, so that other threads' work is neither
 * captured nor delayed; it holds the BLAS handle until the end. For a graph with
 * branches, the end nodes of each command are kept, and become the capture dependencies
 * of the commands that wait for it. */
#include "cuda/graph.h"

#include "cuda/conditional.h"
#include "cuda/library/blas.h"

enum { NON_BLOCKING = 1, CAPTURE_THREAD_LOCAL = 1, SET_DEPENDENCIES = 1 };

/* Capture with branches. The end nodes of command i are nodes[firsts[i]] to
 * nodes[firsts[i + 1] - 1]; those of the last one are not known yet. */
struct ga_cuda_recording {
  CUdeviceptr workspace[GA_CUDA_LANES - 1];
  CUgraphNode *nodes, *waited; /* `waited`: dependencies of the next command */
  size_t *firsts;
  size_t n_nodes, n_waited, n_commands;
  size_t node_capacity, waited_capacity, command_capacity;
  unsigned int lane;
  bool has_begun; /* a command */
};

/* ---- cuBLAS workspace ---- */

/* Switches products to a lane's workspace. Lane 0 uses cuBLAS's own, which
 * cublasSetStream restores. */
static int use_lane(ga_cuda_device *d, unsigned int lane) {
  if (lane == d->recording->lane)
    return GA_NO_ERROR;
  d->recording->lane = lane;
  if (lane == 0)
    return ga__cuda_blas_move(d, d->capture);
  return ga__cuda_blas_workspace(d, d->recording->workspace[lane - 1],
                                 ga__cuda_blas_workspace_size(d));
}

/* Allocates the lanes' workspaces: products that run concurrently must not share
 * one. */
static int prepare(ga_cuda_device *d, unsigned int lanes) {
  if (ga__cuda.cuStreamGetCaptureInfo == NULL ||
      ga__cuda.cuStreamUpdateCaptureDependencies == NULL ||
      (lanes > 1 && ga__cuda.cublasSetWorkspace == NULL))
    return GA_FAIL(GA_DEVSUP_ERROR, "cuda: this driver has no branches in graphs");
  if (d->recording == NULL)
    d->recording = ga__alloc(1, sizeof *d->recording);
  GA_TRY_MEMORY(d->recording);
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

static int add_nodes(CUgraphNode **list, size_t *n, size_t *capacity, size_t count,
                     const CUgraphNode *added) {
  if (*n + count > *capacity) {
    const size_t wanted = 2 * (*n + count);
    CUgraphNode *more = ga__realloc(*list, wanted, sizeof *more);
    GA_TRY_MEMORY(more);
    *list = more;
    *capacity = wanted;
  }
  for (size_t i = 0; i < count; i++)
    (*list)[(*n)++] = added[i];
  return GA_NO_ERROR;
}

/* Keeps the end nodes of the latest command. */
static int end_command(const ga_cuda_device *d) {
  struct ga_cuda_recording *r = d->recording;
  const CUgraphNode *ends = NULL;
  size_t n = 0;
  int state = 0;
  if (r->n_commands + 2 > r->command_capacity) {
    const size_t wanted = 2 * (r->n_commands + 2);
    size_t *more = ga__realloc(r->firsts, wanted, sizeof *more);
    GA_TRY_MEMORY(more);
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

/* ---- capture and launch ---- */

/* Begins the capture, also of products. The thread holds the BLAS handle. */
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

/* An executable graph; `graph` is kept only where its conditional bodies are in use. */
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

static int instantiate(ga_cuda_graph *built, ga_cuda_device *d) {
  bool chooses;
  int status = ga__cuda_choice_end(&chooses, d);
  CUDA_TRY(cuStreamEndCapture, d->capture, &built->graph);
  GA_TRY(status);
  CUDA_TRY(cuGraphInstantiateWithFlags, &built->exec, built->graph, 0);
  if (!chooses) {
    ga__cuda.cuGraphDestroy(built->graph);
    built->graph = NULL;
  }
  return GA_NO_ERROR;
}

/* Ends the capture in every case. */
static int finish(void **graph, ga_cuda_device *d) {
  ga_cuda_graph built = {0}, *owned = NULL;
  int status = instantiate(&built, d);
  if (status == GA_NO_ERROR) {
    owned = ga__alloc(1, sizeof *owned);
    status = owned ? GA_NO_ERROR : GA_MEMORY_ERROR;
  }
  if (status != GA_NO_ERROR) {
    destroy(&built);
    return status;
  }
  *owned = built;
  *graph = owned;
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
    bool chose; /* restores the thread's capture mode */
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
