/* OpenCL queues: waits, events, back pressure. */
#include "opencl/device_state.h"

int ga__opencl_wait(void *device) {
  ga_opencl_device *d = device;
  unsigned long queued = atomic_load_explicit(&d->queued, memory_order_acquire);
  ga__opencl_enter(d);
  cl_int code = d->api->clFinish(d->queue);
  ga__opencl_leave(d);
  if (code != CL_SUCCESS) {
    ga__opencl_fail(code, "clFinish");
    return ga__fail_within(GA_RUN_ERROR, "earlier work on the queue failed");
  }
  atomic_store_explicit(&d->done, queued, memory_order_release);
  return GA_NO_ERROR;
}

int ga__opencl_settle(ga_opencl_device *device) {
  return ga__opencl_is_idle(device) ? GA_NO_ERROR : ga__opencl_wait(device);
}

/* The lock is held. */
static cl_int replace_queue(ga_opencl_device *d) {
  cl_int code = CL_SUCCESS;
  if (d->keeps_times)
    return CL_SUCCESS;
  cl_command_queue timed =
      d->api->clCreateCommandQueue(d->context, d->id, CL_QUEUE_PROFILING_ENABLE, &code);
  if (timed == NULL)
    return code;
  code = d->api->clFinish(d->queue);
  d->api->clReleaseCommandQueue(d->queue);
  d->queue = timed;
  d->keeps_times = true;
  return code;
}

static int keep_times(ga_opencl_device *d) {
  pthread_mutex_lock(&d->queue_lock);
  cl_int code = replace_queue(d);
  pthread_mutex_unlock(&d->queue_lock);
  return code == CL_SUCCESS ? GA_NO_ERROR
                            : ga__opencl_fail(code, "clCreateCommandQueue");
}

int ga__opencl_fixed_queue(cl_command_queue *out, ga_opencl_device *device) {
  if (device->is_gpu)
    GA_TRY(keep_times(device));
  atomic_store(&device->is_lent, true);
  *out = device->queue;
  return GA_NO_ERROR;
}

static int check_queue(cl_ulong *properties, const ga_opencl_device *d,
                       cl_command_queue queue) {
  cl_context context = NULL;
  cl_device_id id = NULL;
  OPENCL_TRY(d->api, clGetCommandQueueInfo, queue, CL_QUEUE_CONTEXT, sizeof context,
             &context, NULL);
  OPENCL_TRY(d->api, clGetCommandQueueInfo, queue, CL_QUEUE_DEVICE, sizeof id, &id,
             NULL);
  OPENCL_TRY(d->api, clGetCommandQueueInfo, queue, CL_QUEUE_PROPERTIES,
             sizeof *properties, properties, NULL);
  if (context != d->context || id != d->id)
    return GA_FAIL(GA_VALUE_ERROR,
                   "the queue is of another cl_context or device than this context");
  if (*properties & CL_QUEUE_OUT_OF_ORDER)
    return GA_FAIL(GA_VALUE_ERROR,
                   "the queue is out of order; expected an in-order queue");
  return GA_NO_ERROR;
}

int ga__opencl_take_queue(ga_opencl_device *d, cl_command_queue queue) {
  cl_ulong properties = 0;
  GA_TRY(check_queue(&properties, d, queue));
  OPENCL_TRY(d->api, clRetainCommandQueue, queue);
  ga__opencl_enter(d);
  d->api->clReleaseCommandQueue(d->queue);
  d->queue = queue;
  d->keeps_times = true; /* even if it has no profiling: it is not replaced */
  atomic_store(&d->is_lent, true);
  ga__opencl_leave(d);
  return GA_NO_ERROR;
}

int ga__opencl_event(void **event, void *device, bool timed) {
  ga_opencl_device *d = device;
  cl_event marker;
  if (d->is_gpu && timed)
    GA_TRY(keep_times(d));
  OPENCL_QUEUE_TRY(d, clEnqueueMarkerWithWaitList, 0, NULL, &marker);
  ga__opencl_enter(d);
  d->api->clFlush(d->queue);
  ga__opencl_leave(d);
  *event = marker;
  return GA_NO_ERROR;
}

int ga__opencl_event_order(void *device, void *event) {
  ga_opencl_device *d = device;
  cl_event one = event;
  OPENCL_QUEUE_TRY(d, clEnqueueBarrierWithWaitList, 1, &one, NULL);
  return GA_NO_ERROR;
}

int ga__opencl_event_done(bool *out, void *device, void *event) {
  const ga_opencl_device *d = device;
  cl_int state = 0; /* negative: an error code; 0: complete */
  OPENCL_TRY(d->api, clGetEventInfo, event, CL_EVENT_COMMAND_EXECUTION_STATUS,
             sizeof state, &state, NULL);
  if (state < 0) {
    ga__opencl_fail(state, "clGetEventInfo");
    return ga__fail_within(GA_RUN_ERROR, "earlier work on the queue failed");
  }
  *out = state == 0;
  return GA_NO_ERROR;
}

int ga__opencl_event_wait(void *device, void *event) {
  ga_opencl_device *d = device;
  cl_event one = event;
  cl_int code = d->api->clWaitForEvents(1, &one);
  if (code == CL_SUCCESS)
    return GA_NO_ERROR;
  ga__opencl_fail(code, "clWaitForEvents");
  return ga__fail_within(GA_RUN_ERROR, "earlier work on the queue failed");
}

int ga__opencl_event_seconds(double *out, void *device, void *start, void *end) {
  ga_opencl_device *d = device;
  cl_ulong from = 0, to = 0; /* nanoseconds */
  OPENCL_TRY(d->api, clGetEventProfilingInfo, start, CL_PROFILING_COMMAND_END,
             sizeof from, &from, NULL);
  OPENCL_TRY(d->api, clGetEventProfilingInfo, end, CL_PROFILING_COMMAND_END, sizeof to,
             &to, NULL);
  *out = to > from ? (double)(to - from) * 1e-9 : 0.0;
  return GA_NO_ERROR;
}

void ga__opencl_event_free(void *device, void *event) {
  ga_opencl_device *d = device;
  if (event)
    d->api->clReleaseEvent(event);
}

/* ---- back pressure ---- */

#define MOST_QUEUED 4096 /* about how many commands may be unfinished */

/* Enqueues a new marker; waits for the previous one, half as many commands ago. */
static int move_bound(ga_opencl_device *d, unsigned long queued) {
  void *behind = NULL;
  cl_event before = d->bound;
  GA_TRY(ga__opencl_event(&behind, d, false));
  d->bound = behind;
  atomic_store(&d->bounded, queued);
  if (before == NULL)
    return GA_NO_ERROR;
  int status = ga__opencl_event_wait(d, before);
  d->api->clReleaseEvent(before);
  return status;
}

int ga__opencl_bound(ga_opencl_device *d) {
  unsigned long queued = atomic_load_explicit(&d->queued, memory_order_relaxed);
  if (queued - atomic_load_explicit(&d->bounded, memory_order_relaxed) <
      MOST_QUEUED / 2)
    return GA_NO_ERROR;
  pthread_mutex_lock(&d->bound_lock);
  /* another thread may have moved the bound further */
  bool is_due = (long)(queued - atomic_load(&d->bounded)) >= MOST_QUEUED / 2;
  int status = is_due ? move_bound(d, queued) : GA_NO_ERROR;
  pthread_mutex_unlock(&d->bound_lock);
  return status;
}

/* ---- events of commands ---- */

static _Thread_local bool watches;
static _Thread_local cl_event seen; /* of the latest command since */

cl_event *ga__opencl_event_place(const ga_opencl_device *d) {
  if (!watches)
    return NULL;
  if (seen)
    d->api->clReleaseEvent(seen);
  seen = NULL;
  return &seen;
}

/* A failure means no event; the command reports it. */
void ga__opencl_watch(void *device) {
  ga_opencl_device *d = device;
  seen = NULL;
  watches = !d->is_gpu || keep_times(d) == GA_NO_ERROR;
}

void *ga__opencl_watched(void *device) {
  (void)device;
  watches = false;
  return seen;
}

int ga__opencl_event_span(double *start, double *end, void *device, void *origin,
                          void *event) {
  ga_opencl_device *d = device;
  cl_ulong zero = 0, from = 0, to = 0; /* nanoseconds */
  OPENCL_TRY(d->api, clGetEventProfilingInfo, origin, CL_PROFILING_COMMAND_END,
             sizeof zero, &zero, NULL);
  OPENCL_TRY(d->api, clGetEventProfilingInfo, event, CL_PROFILING_COMMAND_START,
             sizeof from, &from, NULL);
  OPENCL_TRY(d->api, clGetEventProfilingInfo, event, CL_PROFILING_COMMAND_END,
             sizeof to, &to, NULL);
  *start = from > zero ? (double)(from - zero) * 1e-9 : 0.0;
  *end = *start + (to > from ? (double)(to - from) * 1e-9 : 0.0);
  return GA_NO_ERROR;
}
