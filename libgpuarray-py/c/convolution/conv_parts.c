/* Convolutions whose terms are split: partial sums and their sum. */
#include "c/base/dtype.h"
#include "c/convolution/conv_map.h"
#include "c/convolution/kernels/conv_sum.inc"
#include "c/dnn/conv_words.h"
#include "c/program/kernel_table.h"
#include "c/program/kernel_text.h"

enum { THREADS = 256 };

static int write_mapped(ga_source *out, const gpucontext *ctx, const void *spec,
                        const ga_elem_spec *map) {
  ga_strbuf text = {0};
  (void)ctx;
  ga__conv_add_types(&text, *(const unsigned char *)spec, false);
  return ga__conv_finish(out, "conv_sum", "#define CV_NAME %\n", &text, conv_sum_text,
                         map);
}

static int write_sum(ga_source *out, const gpucontext *ctx, const void *spec) {
  return write_mapped(out, ctx, spec, NULL);
}

/* Parts, one behind the other: rows and columns in order. */
static ga_gather gather_of_parts(const ga_gather *g, const ga_gather_sizes *of,
                                 gpudata *data) {
  ga_gather p = *g;
  p.map = NULL;
  p.data[2] = data;
  p.offsets[2] = 0;
  p.c_group = (ssize_t)(of->m * of->n);
  p.c_row = (ssize_t)of->n;
  p.axes[2].c = 1;
  p.axes[1].c = (ssize_t)g->axes[2].columns;
  p.axes[0].c = p.axes[1].c * (ssize_t)g->axes[1].columns;
  p.c_column = p.axes[0].c * (ssize_t)g->axes[0].columns;
  return p;
}

static int launch_sum(const ga_gather *g, const ga_gather_sizes *of, gpudata *data,
                      size_t parts) {
  const unsigned char spec = (unsigned char)g->typecode;
  const size_t count = of->m * of->n * g->groups;
  gpukernel *kernel;
  ga_args args = {0};
  GA_TRY(ga__conv_kernel(&kernel, g, write_mapped, write_sum, &spec, sizeof spec,
                         THREADS));
  ga__args_pointer(&args, g->data[2], g->offsets[2], false);
  ga__args_pointer(&args, data, 0, true);
  ga__gather_add(
      &args, 4,
      (ssize_t[]){(ssize_t)count, (ssize_t)parts, (ssize_t)of->m, (ssize_t)g->columns});
  ga__gather_add_lengths(&args, g, false);
  ga__gather_add(&args, 3, (ssize_t[]){g->c_group, g->c_row, g->c_column});
  GA_GATHER_AXES(&args, g, c);
  ga__conv_add_map(&args, g);
  return ga__kernel_launch_items(kernel, &args, count, THREADS,
                                 16 * (size_t)g->context->info.processors);
}

int ga__gather_in_parts(const ga_gather *g, size_t parts, ga_gather_launch launch,
                        const void *how) {
  const ga_gather_sizes of = ga__gather_sizes(g);
  const size_t size = gpuarray_get_elsize(ga__dtype_work(g->typecode));
  gpudata *data;
  if (parts <= 1)
    return launch(g, 1, how);
  int status =
      ga__buffer_new(&data, g->context, parts * of.m * of.n * g->groups * size);
  if (status == GA_MEMORY_ERROR)
    return launch(g, 1, how);
  GA_TRY(status);
  const ga_gather apart = gather_of_parts(g, &of, data);
  status = launch(&apart, parts, how);
  GA_THEN(status, launch_sum(g, &of, data, parts));
  gpudata_release(data);
  return status;
}
