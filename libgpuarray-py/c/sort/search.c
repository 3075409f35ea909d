/* searchsorted, by a kernel, so that plans can record it. */
#include "c/sort/search.h"

#include "c/program/kernel_table.h"
#include "c/program/kernel_text.h"
#include "c/sort/kernels/search.inc"

typedef struct search_spec {
  unsigned char typecode, right;
} search_spec;

static int write_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  const search_spec *s = spec;
  ga_strbuf text = {0};
  (void)ctx;
  ga__strbuf_addf(&text,
                  "#define SEARCH_KERNEL KERNEL\n#define SEARCH_TYPE %s\n"
                  "#define SEARCH_IS_RIGHT %d\n",
                  ga__dtype_ctype(s->typecode), s->right);
  ga__strbuf_add(&text, search_text);
  out->is_closed = true;
  return ga__text_finish_named(out, "search", NULL, "#define SEARCH_NAME %\n", &text);
}

static int check_arguments(const GpuArray *a, const GpuArray *v) {
  char text[GA_ARRAY_TEXT], other[GA_ARRAY_TEXT];
  const bool is_short = a->typecode == GA_HALF || a->typecode == GA_BFLOAT16;
  if (a->nd == 1 && a->typecode == v->typecode && !is_short &&
      ga__dtype_kind(a->typecode) != 'c')
    return ga__context_supports(a->data->context, a->typecode, "searchsorted");
  return GA_FAIL(GA_VALUE_ERROR,
                 "searchsorted: %s of %s, expected a vector and values of one real "
                 "type",
                 ga__array_text(text, v), ga__array_text(other, a));
}

static int launch(const GpuArray *out, const GpuArray *a, const GpuArray *v,
                  bool right) {
  const search_spec spec = {(unsigned char)a->typecode, right};
  const size_t n = a->dimensions[0], m = ga__array_count(v);
  gpucontext *ctx = a->data->context;
  gpukernel *kernel;
  ga_args args = {0};
  GA_TRY(ga__kernel_kept(&kernel, ctx, write_source, &spec, sizeof spec));
  const GpuArray *list[] = {n > 0 ? a : v, v};
  for (unsigned int i = 0; i < 2; i++) {
    ga__args_pointer(&args, list[i]->data, list[i]->offset, true);
  }
  ga__args_pointer(&args, out->data, out->offset, false);
  ga__args_u64(&args, n);
  ga__args_u64(&args, m);
  return ga__kernel_launch_items(kernel, &args, m, ctx->info.is_cpu ? 16 : 256,
                                 128 * (size_t)ctx->info.processors);
}

int ga__search(GpuArray *out, const GpuArray *a, const GpuArray *v, bool right) {
  GpuArray vector = {0}, values = {0}, result = {0};
  GA_TRY(check_arguments(a, v));
  int status = GpuArray_copy(&vector, a, GA_C_ORDER);
  GA_THEN(status, GpuArray_copy(&values, v, GA_C_ORDER));
  GA_THEN(status, GpuArray_empty(&result, a->data->context, GA_LONG, v->nd,
                                 v->dimensions, GA_C_ORDER));
  if (status == GA_NO_ERROR && ga__array_count(v) > 0)
    status = launch(&result, &vector, &values, right);
  GpuArray_clear(&vector);
  GpuArray_clear(&values);
  return ga__array_return(out, &result, status);
}
