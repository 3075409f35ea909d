/* FFTs by the vendor's library: checks and dispatch. */
#include <gpuarray/fft.h>

#include "c/array/array.h"
#include "c/system/ending.h"

static const ga_fft *fft_of(gpucontext *ctx) {
  const ga_fft *fft = ctx->backend->fft;
  return fft && ga__vendor_opens(fft->open, ctx->device) ? fft : NULL;
}

int gpuarray_transforms(gpucontext *ctx) {
  return ga__context_check(ctx) == GA_NO_ERROR && fft_of(ctx) != NULL;
}

static bool is_complex(const GpuArray *a) {
  return ga__dtype_kind(a->typecode) == 'c';
}

static bool is_double(const GpuArray *a) {
  return a->typecode == GA_DOUBLE || a->typecode == GA_CDOUBLE;
}

static int check_one(const GpuArray *a, unsigned int rank) {
  char text[GA_ARRAY_TEXT];
  const int t = a->typecode;
  if (t != GA_FLOAT && t != GA_DOUBLE && t != GA_CFLOAT && t != GA_CDOUBLE)
    return GA_FAIL(GA_INVALID_ERROR,
                   "fft: got %s, expected float32, float64, complex64 or complex128",
                   ga__array_text(text, a));
  if (rank < 1 || rank > 3 || a->nd < rank)
    return GA_FAIL(GA_VALUE_ERROR, "fft: over %u axes of %s, expected 1 to 3 of them",
                   rank, ga__array_text(text, a));
  if (!GpuArray_IS_C_CONTIGUOUS(a))
    return GA_FAIL(GA_VALUE_ERROR, "fft: %s is not C-contiguous; copy it",
                   ga__array_text(text, a));
  if (!GpuArray_ISALIGNED(a))
    return GA_FAIL(GA_UNALIGNED_ERROR, "fft: %s is not aligned; copy it",
                   ga__array_text(text, a));
  if (a->data->tape != NULL)
    return GA_FAIL(GA_UNSUPPORTED_ERROR, "fft: a plan that is being bound cannot "
                                         "record it; call it beside the plan");
  return GA_NO_ERROR;
}

/* Same shape, except for the half spectrum: a complex side has n / 2 + 1 elements for n
 * real ones. */
static bool shapes_fit(const GpuArray *out, const GpuArray *a) {
  if (out->nd != a->nd)
    return false;
  for (unsigned int i = 0; i + 1 < a->nd; i++)
    if (out->dimensions[i] != a->dimensions[i])
      return false;
  const size_t to = out->dimensions[a->nd - 1], from = a->dimensions[a->nd - 1];
  return !is_complex(a)     ? to == from / 2 + 1
         : !is_complex(out) ? from == to / 2 + 1
                            : to == from;
}

static int check_both(const GpuArray *out, const GpuArray *a, unsigned int rank) {
  char to[GA_ARRAY_TEXT], from[GA_ARRAY_TEXT];
  GA_TRY(check_one(out, rank));
  GA_TRY(check_one(a, rank));
  GA_TRY(ga__array_same_context(out, a, "fft"));
  GA_TRY(ga__array_writeable(out, "fft"));
  if (!is_complex(a) || !is_complex(out))
    GA_TRY(ga__array_writeable(a, "fft"));
  if (is_double(a) != is_double(out) || (!is_complex(a) && !is_complex(out)) ||
      !shapes_fit(out, a))
    return GA_FAIL(GA_VALUE_ERROR,
                   "fft: %s of %s: expected types of one precision, one of them "
                   "complex at least, and one shape (n / 2 + 1 complex elements for n "
                   "real ones)",
                   ga__array_text(to, out), ga__array_text(from, a));
  return GA_NO_ERROR;
}

static ga_fft_call make_call(const GpuArray *out, const GpuArray *a, unsigned int rank,
                             int inverse) {
  const GpuArray *whole = is_complex(a) ? out : a;
  ga_fft_call call = {.from_type = a->typecode,
                      .to_type = out->typecode,
                      .is_inverse = inverse != 0,
                      .rank = rank,
                      .batch = 1,
                      .from = {.buffer = a->data, .offset = a->offset},
                      .to = {.buffer = out->data, .offset = out->offset}};
  const unsigned int first = a->nd - rank;
  for (unsigned int i = 0; i < first; i++)
    call.batch *= a->dimensions[i];
  for (unsigned int i = 0; i < rank; i++)
    call.n[i] = whole->dimensions[first + i];
  return call;
}

static int queue_call(gpucontext *ctx, const ga_fft *fft, const ga_fft_call *call) {
  ga_use uses[3] = {{call->from.buffer, true}, {call->to.buffer, true}};
  unsigned int n = 2;
  void *device;
  if (call->work)
    uses[n++] = (ga_use){call->work, true};
  GA_TRY(ga__context_status(ctx, ga__queue_begin(&device, ctx, n, uses)));
  gpuqueue *q = ga__queue_current(ctx);
  const char *name = "fft of the vendor's library";
  ga__launches_add(&ctx->errors.launches, name, q->place);
  ga_span span = ga__profile_begin(ctx, device);
  int status = fft->call(device, call);
  ga__profile_end(&span, name, GPUARRAY_SPAN_LIBRARY, 0);
  if (status == GA_NO_ERROR && ctx->is_blocking)
    status = ga__queue_wait(q);
  ga__queue_end(ctx, n, uses);
  return ga__context_status(ctx, status);
}

static int ask_workspace(ga_fft_call *call, const ga_fft *fft, gpucontext *ctx) {
  GA_TRY(ga__vendor_enter());
  int status = fft->workspace(&call->work_size, ga__queue_device(ctx), call);
  ga__vendor_leave();
  return status;
}

int GpuArray_fft(GpuArray *out, GpuArray *a, unsigned int rank, int inverse) {
  if (out == NULL || a == NULL)
    return ga__fail_null("fft", "array");
  GA_TRY(ga__array_check(out, "fft"));
  GA_TRY(ga__array_check(a, "fft"));
  GA_TRY(check_both(out, a, rank));
  gpucontext *ctx = GpuArray_context(a);
  GA_TRY(ga__context_check(ctx));
  const ga_fft *fft = fft_of(ctx);
  if (fft == NULL)
    return GA_FAIL(
        GA_DEVSUP_ERROR,
        "fft: %s has no installed vendor library for it; see python -m gpuarray.doctor",
        ctx->name);
  ga_fft_call call = make_call(out, a, rank, inverse);
  if (ga__array_count(out) == 0 || ga__array_count(a) == 0)
    return GA_NO_ERROR;
  GA_TRY(ask_workspace(&call, fft, ctx));
  if (call.work_size > 0)
    GA_TRY(ga__buffer_new(&call.work, ctx, call.work_size));
  int status = queue_call(ctx, fft, &call);
  if (call.work)
    gpudata_release(call.work);
  return status;
}
