/* arange from 0, by a kernel, so that plans can record it. */
#include "c/index/count.h"

#include "c/index/kernels/count.inc"
#include "c/program/kernel_table.h"
#include "c/program/kernel_text.h"

int ga__count_source(ga_source *out) {
  ga_strbuf text = {0};
  ga__strbuf_add(&text, "#define COUNT_KERNEL KERNEL\n");
  ga__strbuf_add(&text, count_text);
  GA_TRY(ga__text_finish_named(out, "count", NULL, "#define COUNT_NAME %\n", &text));
  out->is_closed = true;
  return GA_NO_ERROR;
}

static int write_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  (void)ctx;
  (void)spec;
  return ga__count_source(out);
}

static int launch(const GpuArray *out, size_t n) {
  static const char spec = 0;
  gpucontext *ctx = out->data->context;
  gpukernel *kernel;
  ga_args args = {0};
  GA_TRY(ga__kernel_kept(&kernel, ctx, write_source, &spec, sizeof spec));
  ga__args_pointer(&args, out->data, out->offset, false);
  ga__args_u64(&args, n);
  return ga__kernel_launch_items(kernel, &args, n, ctx->info.is_cpu ? 16 : 256,
                                 128 * (size_t)ctx->info.processors);
}

int ga__count(GpuArray *out, gpucontext *ctx, size_t n) {
  GA_TRY(GpuArray_empty(out, ctx, GA_LONG, 1, &n, GA_C_ORDER));
  int status = n > 0 ? launch(out, n) : GA_NO_ERROR;
  if (status != GA_NO_ERROR)
    GpuArray_clear(out);
  return status;
}
