/* Interoperability with other users of OpenCL (DLPack): a stream is a cl_command_queue.
 * Objects are valid within one cl_context; drivers refuse others. */
#include "opencl/share.h"

enum { DL_OPENCL = 4 };

static int stream_of(intptr_t *out, void *device) {
  cl_command_queue queue;
  GA_TRY(ga__opencl_fixed_queue(&queue, device));
  *out = (intptr_t)queue;
  return GA_NO_ERROR;
}

/* Makes later work on `second` wait for the work queued on `first`. */
static int order(ga_opencl_device *d, cl_command_queue first, cl_command_queue second) {
  cl_event event = NULL;
  if (first == second)
    return GA_NO_ERROR;
  cl_int code = d->api->clEnqueueMarkerWithWaitList(first, 0, NULL, &event);
  if (code != CL_SUCCESS)
    return ga__opencl_fail(code, "clEnqueueMarkerWithWaitList");
  /* waiting on an event does not flush its queue */
  code = d->api->clFlush(first);
  if (code == CL_SUCCESS)
    code = d->api->clEnqueueBarrierWithWaitList(second, 1, &event, NULL);
  d->api->clReleaseEvent(event);
  return code == CL_SUCCESS ? GA_NO_ERROR
                            : ga__opencl_fail(code, "clEnqueueBarrierWithWaitList");
}

static int publish(void *device, intptr_t stream) {
  ga_opencl_device *d = device;
  if (stream == 0)
    return ga__opencl_wait(d);
  ga__opencl_enter(d);
  int status = order(d, d->queue, (cl_command_queue)stream);
  ga__opencl_leave(d);
  return status;
}

static int follow(void *device, intptr_t stream) {
  ga_opencl_device *d = device;
  if (stream == 0) /* the caller has waited for its work */
    return GA_NO_ERROR;
  ga__opencl_enter(d);
  int status = order(d, (cl_command_queue)stream, d->queue);
  ga__opencl_note(d);
  ga__opencl_leave(d);
  return status;
}

static int check(size_t *size, void *device, void *memory) {
  const ga_opencl_device *d = device;
  cl_context context = NULL;
  OPENCL_TRY(d->api, clGetMemObjectInfo, memory, CL_MEM_CONTEXT, sizeof context,
             &context, NULL);
  if (context != d->context)
    return GA_FAIL(GA_INVALID_ERROR,
                   "the memory is of another cl_context than this context's; only "
                   "memory of the same one can be shared");
  OPENCL_TRY(d->api, clGetMemObjectInfo, memory, CL_MEM_SIZE, sizeof *size, size, NULL);
  return GA_NO_ERROR;
}

/* A sub-buffer is a part of its parent. */
static void whole(void **memory, size_t *offset, void *device) {
  const ga_opencl_device *d = device;
  cl_mem parent = NULL;
  size_t origin = 0;
  if (d->api->clGetMemObjectInfo(*memory, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent,
                                 &parent, NULL) != CL_SUCCESS ||
      parent == NULL ||
      d->api->clGetMemObjectInfo(*memory, CL_MEM_OFFSET, sizeof origin, &origin,
                                 NULL) != CL_SUCCESS)
    return;
  *memory = parent;
  *offset = origin;
}

const ga_sharing ga__opencl_sharing = {.device_type = DL_OPENCL,
                                       .is_address = false,
                                       .stream = stream_of,
                                       .publish = publish,
                                       .follow = follow,
                                       .check = check,
                                       .whole = whole};
