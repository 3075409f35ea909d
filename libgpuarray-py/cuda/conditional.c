/* Conditional nodes in CUDA graphs.
 *
 * A kernel of one thread reads the condition's bytes and sets the node's handle. The
 * node has two bodies, each a graph that is captured on a stream of its own in place of
 * the outer one. A body may contain work that never ran before, so that libraries
 * allocate while it is captured: hence the relaxed capture mode. */
#include "cuda/conditional.h"

#include <string.h>

#include "cuda/library/blas.h"
#include "cuda/tell.inc"

enum {
  NON_BLOCKING = 1,
  CAPTURE_THREAD_LOCAL = 1,
  CAPTURE_RELAXED = 2,
  SET_DEPENDENCIES = 1,
  ASSIGN_DEFAULT = 1,
  NODE_IS_CONDITIONAL = 13,
  KIND_IS_IF = 0,
  SINCE_DRIVER = 12080,
  SINCE_CAPABILITY = 75
};
#define MAX_DEPTH 8 /* nested conditionals */

struct ga_cuda_choices {
  /* On the device: shared by its queues, for graphs outlive the queue that captured
   * them. A queue has a copy of `tell` only. */
  bool is_tried;
  CUmodule module;
  CUfunction tell;
  CUstream streams[MAX_DEPTH]; /* by depth; NULL until first used */
  /* Open conditionals: the outer stream, and the bodies. */
  CUstream around[MAX_DEPTH];
  CUgraph bodies[MAX_DEPTH][2];
  unsigned int depth;
  /* Of the current capture: whether it has conditionals, and one that is incomplete;
   * the thread's former capture mode. */
  bool has_chosen, has_failed;
  int mode;
  CUdeviceptr workspace; /* cuBLAS workspace for bodies; 0 until first used */
};

/* ---- support by the driver ---- */

static bool is_known(const ga_cuda_device *d) {
  int version = 0;
  return ga__cuda.cuGraphConditionalHandleCreate != NULL &&
         ga__cuda.cuGraphAddNode != NULL &&
         ga__cuda.cuStreamBeginCaptureToGraph != NULL &&
         ga__cuda.cuThreadExchangeStreamCaptureMode != NULL &&
         ga__cuda.cuStreamGetCaptureInfo != NULL &&
         ga__cuda.cuStreamUpdateCaptureDependencies != NULL &&
         ga__cuda.cuDriverGetVersion(&version) == CUDA_SUCCESS &&
         version >= SINCE_DRIVER && d->capability >= SINCE_CAPABILITY;
}

static int load(struct ga_cuda_choices *c) {
  CUDA_TRY(cuModuleLoadData, &c->module, tell_text);
  CUDA_TRY(cuModuleGetFunction, &c->tell, c->module, "tell");
  return GA_NO_ERROR;
}

static struct ga_cuda_choices *choices_of(ga_cuda_device *d) {
  if (d->choices == NULL)
    d->choices = ga__alloc(1, sizeof *d->choices);
  return d->choices;
}

/* The kernel; NULL if unsupported. The device is current. */
static CUfunction load_once(ga_cuda_device *owner) {
  CUfunction tell = NULL;
  pthread_mutex_lock(&owner->blas_lock);
  struct ga_cuda_choices *c = choices_of(owner);
  if (c != NULL && !c->is_tried) {
    c->is_tried = true;
    if (is_known(owner) && load(c) != GA_NO_ERROR)
      c->tell = NULL;
  }
  if (c != NULL)
    tell = c->tell;
  pthread_mutex_unlock(&owner->blas_lock);
  return tell;
}

bool ga__cuda_graph_chooses(void *device) {
  ga_cuda_device *d = device, *owner = d->owner != NULL ? d->owner : d;
  CUcontext previous;
  if (ga__cuda_enter(&previous, d) != GA_NO_ERROR)
    return false;
  CUfunction tell = load_once(owner);
  ga__cuda_leave(d, previous);
  if (d == owner)
    return tell != NULL;
  pthread_mutex_lock(&d->blas_lock);
  struct ga_cuda_choices *c = choices_of(d);
  if (c != NULL)
    c->tell = tell;
  pthread_mutex_unlock(&d->blas_lock);
  return c != NULL && tell != NULL;
}

/* ---- capture ---- */

/* Adds the kernel and the conditional node after the stream's last node. */
static int add_node(const ga_cuda_device *d, CUgraph bodies[2], CUdeviceptr at,
                    unsigned int size) {
  ga_cuda_choice_node node = {.type = NODE_IS_CONDITIONAL,
                              .kind = KIND_IS_IF,
                              .size = 2,
                              .context = d->context};
  CUgraph graph = NULL;
  CUgraphNode added;
  const CUgraphNode *ends = NULL;
  size_t n = 0;
  int state = 0;
  void *arguments[] = {&node.handle, &at, &size};
  CUDA_TRY(cuStreamGetCaptureInfo, d->capture, &state, NULL, &graph, &ends, &n);
  CUDA_TRY(cuGraphConditionalHandleCreate, &node.handle, graph, d->context, 0,
           ASSIGN_DEFAULT);
  CUDA_TRY(cuLaunchKernel, d->choices->tell, 1, 1, 1, 1, 1, 1, 0, d->capture, arguments,
           NULL);
  CUDA_TRY(cuStreamGetCaptureInfo, d->capture, &state, NULL, &graph, &ends, &n);
  CUDA_TRY(cuGraphAddNode, &added, graph, ends, NULL, n, &node);
  CUDA_TRY(cuStreamUpdateCaptureDependencies, d->capture, &added, 1, SET_DEPENDENCIES);
  bodies[0] = node.bodies[0];
  bodies[1] = node.bodies[1];
  return GA_NO_ERROR;
}

/* A fixed cuBLAS workspace: a body must not allocate. */
static int use_workspace(ga_cuda_device *d) {
  struct ga_cuda_choices *c = d->choices;
  if (d->blas == NULL || ga__cuda.cublasSetWorkspace == NULL)
    return GA_NO_ERROR;
  if (c->workspace == 0)
    CUDA_TRY(cuMemAlloc, &c->workspace, ga__cuda_blas_workspace_size(d));
  return ga__cuda_blas_workspace(d, c->workspace, ga__cuda_blas_workspace_size(d));
}

/* Continues the capture in a body, on the stream of its depth. */
static int begin_body(ga_cuda_device *d, CUgraph body) {
  struct ga_cuda_choices *c = d->choices;
  CUstream *stream = &c->streams[c->depth - 1];
  if (*stream == NULL)
    CUDA_TRY(cuStreamCreate, stream, NON_BLOCKING);
  CUDA_TRY(cuStreamBeginCaptureToGraph, *stream, body, NULL, NULL, 0,
           CAPTURE_THREAD_LOCAL);
  d->capture = *stream;
  GA_TRY(ga__cuda_blas_move(d, d->capture));
  return use_workspace(d);
}

/* Returns to the outer stream, if the body was begun. */
static int end_body(ga_cuda_device *d) {
  struct ga_cuda_choices *c = d->choices;
  CUgraph body = NULL;
  CUstream stream = d->capture;
  if (stream == c->around[c->depth - 1])
    return GA_NO_ERROR;
  d->capture = c->around[c->depth - 1];
  CUDA_TRY(cuStreamEndCapture, stream, &body);
  return GA_NO_ERROR;
}

static int relax(struct ga_cuda_choices *c) {
  c->mode = CAPTURE_RELAXED;
  CUDA_TRY(cuThreadExchangeStreamCaptureMode, &c->mode);
  c->has_chosen = true;
  return GA_NO_ERROR;
}

static int open_choice(ga_cuda_device *d, CUdeviceptr at, unsigned int size) {
  struct ga_cuda_choices *c = d->choices;
  if (c == NULL || c->tell == NULL)
    return GA_FAIL(GA_DEVSUP_ERROR, "cuda: this driver has no conditional graph nodes");
  if (c->depth == MAX_DEPTH)
    return GA_FAIL(GA_DEVSUP_ERROR, "cuda: more than %d nested conditionals",
                   MAX_DEPTH);
  if (!c->has_chosen)
    GA_TRY(relax(c));
  GA_TRY(add_node(d, c->bodies[c->depth], at, size));
  c->around[c->depth] = d->capture;
  c->depth++;
  return begin_body(d, c->bodies[c->depth - 1][0]);
}

static int go_to_else(ga_cuda_device *d) {
  GA_TRY(end_body(d));
  return begin_body(d, d->choices->bodies[d->choices->depth - 1][1]);
}

static int end_choice(ga_cuda_device *d) {
  GA_TRY(end_body(d));
  d->choices->depth--;
  GA_TRY(ga__cuda_blas_move(d, d->capture));
  return d->choices->depth > 0 ? use_workspace(d) : GA_NO_ERROR;
}

/* Ends a table entry. A failure before the first conditional leaves none incomplete. */
static int leave(ga_cuda_device *d, CUcontext previous, int status) {
  if (status != GA_NO_ERROR && d->choices != NULL)
    d->choices->has_failed = d->choices->has_chosen;
  ga__cuda_leave(d, previous);
  return status;
}

int ga__cuda_graph_if(void *device, void *memory, size_t offset, size_t size) {
  ga_cuda_device *d = device;
  const CUdeviceptr at = (CUdeviceptr)(uintptr_t)memory + offset;
  CUcontext previous;
  GA_TRY(ga__cuda_enter(&previous, d));
  return leave(d, previous, open_choice(d, at, (unsigned int)size));
}

int ga__cuda_graph_else(void *device) {
  ga_cuda_device *d = device;
  CUcontext previous;
  GA_TRY(ga__cuda_enter(&previous, d));
  return leave(d, previous, go_to_else(d));
}

int ga__cuda_graph_end_if(void *device) {
  ga_cuda_device *d = device;
  CUcontext previous;
  GA_TRY(ga__cuda_enter(&previous, d));
  return leave(d, previous, end_choice(d));
}

/* ---- end ---- */

int ga__cuda_choice_end(bool *chose, ga_cuda_device *d) {
  struct ga_cuda_choices *c = d->choices;
  *chose = c != NULL && c->has_chosen;
  if (!*chose)
    return GA_NO_ERROR;
  const bool is_whole = c->depth == 0 && !c->has_failed;
  for (; c->depth > 0; c->depth--)
    end_body(d);
  ga__cuda.cuThreadExchangeStreamCaptureMode(&c->mode);
  c->has_chosen = c->has_failed = false;
  return is_whole
             ? GA_NO_ERROR
             : GA_FAIL(GA_IMPL_ERROR, "cuda: the capture of a conditional did not end");
}

void ga__cuda_choice_close(ga_cuda_device *d) {
  struct ga_cuda_choices *c = d->choices;
  if (c == NULL)
    return;
  for (unsigned int i = 0; i < MAX_DEPTH; i++)
    if (c->streams[i] != NULL)
      ga__cuda.cuStreamDestroy(c->streams[i]);
  if (c->workspace != 0)
    ga__cuda.cuMemFree(c->workspace);
  if (c->module != NULL)
    ga__cuda.cuModuleUnload(c->module);
  ga__free(c);
  d->choices = NULL;
}
