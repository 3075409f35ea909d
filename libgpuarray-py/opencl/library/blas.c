/* Matrix products by the host's BLAS on devices that share its memory, by CLBlast on
 * others.
 *
 * The host's BLAS is enqueued as a native kernel, so it runs in queue order without a
 * wait. With an idle queue a small product runs in the calling thread, as enqueuing
 * would take longer. */
#include "opencl/library/blas.h"

#include <stdint.h>

#include "c/system/host_blas.h"
#include "opencl/library/clblast.h"
#include "opencl/transfer.h"

#define AT_ONCE ((double)(1 << 20)) /* multiply-adds of a product of some 20 us */

int ga__opencl_blas_open(void *device, bool with_epilogues) {
  (void)with_epilogues;
  const ga_opencl_device *d = device;
  return d->shares_memory ? ga__host_blas_open() : ga__clblast_open(device);
}

void ga__opencl_blas_report(ga_strbuf *out) {
  ga__host_blas_report(out);
  ga__clblast_report(out);
}

static double terms_of(const ga_blas_call *call) {
  return (double)call->m * (double)call->n * (double)call->k * (double)call->batch;
}

static ga_host_product host_product(const ga_blas_call *call) {
  return (ga_host_product){.typecode = call->typecode,
                           .ta = call->ta,
                           .tb = call->tb,
                           .m = call->m,
                           .n = call->n,
                           .k = call->k,
                           .batch = call->batch,
                           .alpha = {call->alpha[0], call->alpha[1]},
                           .beta = {call->beta[0], call->beta[1]},
                           .lda = call->a.ld,
                           .ldb = call->b.ld,
                           .ldc = call->c.ld,
                           .a_step = call->a.step,
                           .b_step = call->b.step,
                           .c_step = call->c.step};
}

static bool opencl_serves(void *device, const ga_blas_call *call) {
  const ga_opencl_device *d = device;
  const bool is_short = call->typecode == GA_HALF || call->typecode == GA_BFLOAT16;
  if (call->routine != GA_BLAS_GEMM || call->epilogue != GA_BLAS_PLAIN)
    return false;
  if (!d->shares_memory)
    return ga__clblast_serves(device, call);
  const ga_host_product p = host_product(call);
  return !is_short && ga__host_blas_counts(&p);
}

/* On two cores, OpenBLAS against our kernels: 16 us against 25 for 16 x 16, which is
 * call overhead, and half the time from 256 x 256 on. */
static bool opencl_prefers(void *device, const ga_blas_call *call) {
  const ga_opencl_device *d = device;
  (void)call;
  return d->shares_memory;
}

static void run_product(void *argument) {
  ga__host_blas_product(argument);
}

/* Maps foreign memory, which has no host address otherwise. Waits for the queue. */
static int map_operand(char **out, ga_opencl_device *d, const ga_blas_operand *o) {
  cl_mem memory = ga__buffer_memory(o->buffer);
  size_t size = 0;
  cl_int code = CL_SUCCESS;
  OPENCL_TRY(d->api, clGetMemObjectInfo, memory, CL_MEM_SIZE, sizeof size, &size, NULL);
  char *mapped = d->api->clEnqueueMapBuffer(
      d->queue, memory, 1, CL_MAP_READ | CL_MAP_WRITE, 0, size, 0, NULL, NULL, &code);
  if (code != CL_SUCCESS)
    return ga__opencl_fail(code, "clEnqueueMapBuffer");
  *out = mapped + o->offset;
  return GA_NO_ERROR;
}

static int product_of_mapped(ga_opencl_device *d, const ga_blas_call *call,
                             ga_host_product *p) {
  const ga_blas_operand *const operands[] = {&call->a, &call->b, &call->c};
  char *bytes[3] = {NULL, NULL, NULL};
  int status = GA_NO_ERROR;
  for (int i = 0; i < 3 && status == GA_NO_ERROR; i++)
    status = map_operand(&bytes[i], d, operands[i]);
  if (status == GA_NO_ERROR) {
    p->a = bytes[0];
    p->b = bytes[1];
    p->c = bytes[2];
    ga__host_blas_product(p);
  }
  for (int i = 0; i < 3; i++) {
    cl_int code = CL_SUCCESS;
    if (bytes[i] == NULL)
      continue;
    OPENCL_QUEUE(&code, d, clEnqueueUnmapMemObject,
                 ga__buffer_memory(operands[i]->buffer), bytes[i] - operands[i]->offset,
                 0, NULL, NULL);
    if (code != CL_SUCCESS && status == GA_NO_ERROR)
      status = ga__opencl_fail(code, "clEnqueueUnmapMemObject");
  }
  return status;
}

static int host_call(ga_opencl_device *d, const ga_blas_call *call) {
  ga_host_product p = host_product(call);
  p.a = ga__opencl_host_bytes(d, ga__buffer_memory(call->a.buffer), call->a.offset);
  p.b = ga__opencl_host_bytes(d, ga__buffer_memory(call->b.buffer), call->b.offset);
  p.c = ga__opencl_host_bytes(d, ga__buffer_memory(call->c.buffer), call->c.offset);
  if (p.a == NULL || p.b == NULL || p.c == NULL)
    return product_of_mapped(d, call, &p);
  if (terms_of(call) <= AT_ONCE && ga__opencl_is_idle(d)) {
    ga__host_blas_product(&p);
    return GA_NO_ERROR;
  }
  OPENCL_QUEUE_TRY(d, clEnqueueNativeKernel, run_product, &p, sizeof p, 0, NULL, NULL,
                   0, NULL, ga__opencl_event_place(d));
  return ga__opencl_bound(d);
}

static int opencl_product(void *device, const ga_blas_call *call) {
  ga_opencl_device *d = device;
  return d->shares_memory ? host_call(d, call) : ga__clblast_product(d, call);
}

const ga_blas ga__opencl_blas = {
    .serves = opencl_serves, .prefers = opencl_prefers, .call = opencl_product};
