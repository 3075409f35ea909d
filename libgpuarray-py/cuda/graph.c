/* Graphs: work recorded once and queued again in one call.
 *
 * A thread records on a stream apart, so that what other threads queue meanwhile is
 * neither caught nor kept waiting. It holds the BLAS handle until it is done. */
#include "cuda/graph.h"

#include "cuda/blas.h"

enum { NON_BLOCKING = 1, CAPTURE_THREAD_LOCAL = 1 };

/* The device whose graph this thread records, or NULL. */
static _Thread_local const ga_cuda_device *recording;

CUstream ga__cuda_stream(const ga_cuda_device *device) {
  return recording == device ? device->capture : device->stream;
}

/* Starts to record, products too. The thread holds the BLAS handle. */
static int start(ga_cuda_device *d) {
  if (d->capture == NULL)
    CUDA_TRY(cuStreamCreate, &d->capture, NON_BLOCKING);
  GA_TRY(ga__cuda_blas_move(d, d->capture));
  CUDA_TRY(cuStreamBeginCapture, d->capture, CAPTURE_THREAD_LOCAL);
  return GA_NO_ERROR;
}

int ga__cuda_graph_begin(void *device) {
  ga_cuda_device *d = device;
  CUcontext previous;
  if (ga__cuda.cuStreamBeginCapture == NULL || ga__cuda.cuGraphLaunch == NULL ||
      ga__cuda.cuGraphInstantiateWithFlags == NULL)
    return GA_FAIL(GA_DEVSUP_ERROR, "cuda: this driver has no graphs");
  GA_TRY(ga__cuda_enter(&previous, d));
  ga__cuda_blas_hold(d);
  int status = start(d);
  if (status != GA_NO_ERROR)
    ga__cuda_blas_let_go(d);
  ga__cuda_leave(d, previous);
  if (status == GA_NO_ERROR)
    recording = d;
  return status;
}

static int finish(CUgraphExec *exec, const ga_cuda_device *d) {
  CUgraph graph = NULL;
  CUDA_TRY(cuStreamEndCapture, d->capture, &graph);
  CUresult result = ga__cuda.cuGraphInstantiateWithFlags(exec, graph, 0);
  ga__cuda.cuGraphDestroy(graph);
  return result == CUDA_SUCCESS ? GA_NO_ERROR
                                : ga__cuda_fail(result, "cuGraphInstantiateWithFlags");
}

int ga__cuda_graph_end(void **graph, void *device) {
  ga_cuda_device *d = device;
  CUgraphExec exec = NULL;
  CUcontext previous;
  recording = NULL;
  int status = ga__cuda_enter(&previous, d);
  if (status == GA_NO_ERROR) {
    status = finish(&exec, d);
    ga__cuda_leave(d, previous);
  }
  ga__cuda_blas_let_go(d);
  if (status == GA_NO_ERROR)
    *graph = exec;
  return status;
}

int ga__cuda_graph_launch(void *device, void *graph) {
  const ga_cuda_device *d = device;
  CUDA_RETURN(d, cuGraphLaunch, graph, d->stream);
}

void ga__cuda_graph_free(void *device, void *graph) {
  const ga_cuda_device *d = device;
  CUcontext previous;
  if (graph == NULL || ga__cuda_enter(&previous, d) != GA_NO_ERROR)
    return;
  ga__cuda.cuGraphExecDestroy(graph);
  ga__cuda_leave(d, previous);
}
