/* Interoperability with OpenCL programs: the "cl_" functions of
 * gpuarray/extension.h. */

#include "c/device/buffer.h"
#include "opencl/device_state.h"
#include "opencl/share.h"

static ga_opencl_device *device_of(gpucontext *ctx, const char *operation) {
  if (ctx && ctx->backend == &ga__opencl_backend)
    return ga__queue_device(ctx);
  ga__fail(GA_INVALID_ERROR, "%s: %s is not an OpenCL context", operation,
           ctx ? ctx->name : "NULL");
  return NULL;
}

static gpucontext *make_ctx(cl_context native, gpucontext_props *props) {
  gpucontext *ctx = NULL;
  if (native == NULL) {
    ga__fail_null("cl_make_ctx", "cl_context");
    return NULL;
  }
  if (ga__context_adopt(&ctx, &ga__opencl_backend, native, props) != GA_NO_ERROR)
    return NULL;
  return ctx;
}

static cl_command_queue get_stream(gpucontext *ctx) {
  ga_opencl_device *d = device_of(ctx, "cl_get_stream");
  cl_command_queue queue = NULL;
  if (d && ga__opencl_fixed_queue(&queue, d) != GA_NO_ERROR)
    return NULL;
  return queue;
}

static int use_stream(gpucontext *ctx, cl_command_queue queue) {
  ga_opencl_device *d = device_of(ctx, "cl_use_stream");
  if (d == NULL)
    return GA_INVALID_ERROR;
  if (queue == NULL)
    return ga__fail_null("cl_use_stream", "queue");
  GA_TRY(gpucontext_sync(ctx));
  int status = ga__opencl_take_queue(ctx->device, queue);
  return status == GA_NO_ERROR ? status : ga__fail_within(status, "cl_use_stream");
}

/* A reference to the application's memory. */
typedef struct reference {
  const ga_opencl_device *device;
  cl_mem memory;
} reference;

static void drop_reference(void *owner) {
  reference *r = owner;
  r->device->api->clReleaseMemObject(r->memory);
  ga__free(r);
}

static int retain(reference **out, const ga_opencl_device *d, cl_mem memory) {
  reference *r = ga__alloc(1, sizeof *r);
  GA_TRY_MEMORY(r);
  r->device = d;
  r->memory = memory;
  cl_int code = d->api->clRetainMemObject(memory);
  if (code != CL_SUCCESS) {
    ga__free(r);
    return ga__opencl_fail(code, "clRetainMemObject");
  }
  *out = r;
  return GA_NO_ERROR;
}

static int wrap(gpudata **out, gpucontext *ctx, cl_mem memory) {
  size_t size;
  reference *r = NULL;
  int status = ga__opencl_sharing.check(&size, ctx->device, memory);
  if (status == GA_INVALID_ERROR)
    return GA_FAIL(GA_VALUE_ERROR, "cl_make_buf: %s", gpuarray_error_text());
  GA_TRY(status);
  GA_TRY(retain(&r, ctx->device, memory));
  status = ga__buffer_wrap(out, ctx, memory, size, drop_reference, r);
  if (status != GA_NO_ERROR)
    drop_reference(r);
  return status;
}

static gpudata *make_buf(gpucontext *ctx, cl_mem memory) {
  gpudata *buffer = NULL;
  if (device_of(ctx, "cl_make_buf") == NULL)
    return NULL;
  if (memory == NULL) {
    ga__fail_null("cl_make_buf", "cl_mem");
    return NULL;
  }
  return wrap(&buffer, ctx, memory) == GA_NO_ERROR ? buffer : NULL;
}

static cl_mem get_buf(gpudata *b) {
  if (b && b->context->backend == &ga__opencl_backend && b->tape == NULL)
    return b->memory;
  ga__fail(GA_INVALID_ERROR, "cl_get_buf: got a buffer that is not OpenCL's");
  return NULL;
}

#define ENTRY(name, function) {name, (void (*)(void))(function)}
const ga_extension ga__opencl_extensions[] = {
    ENTRY("cl_make_ctx", make_ctx),     ENTRY("cl_get_stream", get_stream),
    ENTRY("cl_use_stream", use_stream), ENTRY("cl_make_buf", make_buf),
    ENTRY("cl_get_buf", get_buf),       {NULL, NULL},
};
