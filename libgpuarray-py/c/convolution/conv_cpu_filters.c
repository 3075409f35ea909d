/* Gradient of a convolution by its filters, on processors. */
#include "c/base/counts.h"
#include "c/base/dtype.h"
#include "c/convolution/conv_cpu.h"

/* How the work is divided: `jobs` blocks of results, in `groups` and, where these are
 * few, parts of the rows; a group goes through its part by `chunk` rows, and through
 * these by `channels`. */
typedef struct division {
  ga_conv_block block;
  size_t groups, parts, chunk, channels;
} division;

/* `copies` of the image are read. */
static division divide(const ga_conv *c, size_t copies) {
  const size_t rows = c->batch * c->axes[0].result * c->axes[1].result;
  const size_t taps = c->axes[0].filter * c->axes[1].filter * c->axes[2].filter;
  const size_t busy = 4 * (size_t)c->context->info.processors;
  const size_t width = c->axes[2].result;
  const unsigned int lanes = ga__conv_lanes(c, width);
  division d = {.block = ga__conv_block(c, lanes, c->results, c->channels * taps)};
  d.chunk = 1024 / width;
  d.chunk = d.chunk < 1 ? 1 : d.chunk > GA_CONV_ROWS ? GA_CONV_ROWS : d.chunk;
  d.channels = ga__ceil_div(GA_CONV_CACHE, d.chunk * width * copies);
  const size_t jobs = c->groups * ga__ceil_div(c->results, d.block.tall);
  d.groups = jobs < 4 * busy ? jobs : 4 * busy;
  d.parts = 1;
  /* Each group reads the image, each part writes the filters: LeNet's second layer
   * takes 95 ms of a core for 500 images by groups, 65 ms by parts. */
  const size_t chunks = ga__ceil_div(rows, d.chunk);
  const double image = (double)rows * (double)(width * c->channels * copies);
  const double filters = (double)c->results * (double)(c->channels * taps);
  if (chunks >= 2 * busy && (double)d.groups * image > 4 * (double)busy * filters)
    d.groups = 1;
  if (d.groups < busy) {
    d.parts = ga__ceil_div(busy, d.groups);
    d.parts = d.parts < chunks ? d.parts : chunks > 0 ? chunks : 1;
    while (d.chunk > 1 && d.parts * d.groups < c->context->info.processors &&
           rows >= 2 * d.parts)
      d.chunk = (d.chunk + 1) / 2, d.parts *= 2;
  }
  return d;
}

static int launch_parts(const ga_conv *c, const division *d, const ga_conv_rows *x,
                        const ga_conv_rows *y, const ga_conv_array *w, ssize_t part) {
  gpukernel *kernel;
  ga_args args = {0};
  GA_TRY(ga__conv_cpu_kernel(&kernel, c, GA_CONV_CPU_FILTERS,
                             ga__conv_lanes(c, c->axes[2].result), d->block));
  ga__args_pointer(&args, w->data, w->offset, false);
  ga__args_pointer(&args, x->array.data, x->array.offset, true);
  ga__args_pointer(&args, y->array.data, y->array.offset, true);
  ga__conv_taps_args(&args, c, x, w);
  ga__conv_args(&args, 4,
                (ssize_t[]){(ssize_t)c->batch, (ssize_t)c->groups, (ssize_t)c->channels,
                            (ssize_t)c->results});
  for (int i = 0; i < GA_CONV_AXES; i++)
    ga__args_i32(&args, (int32_t)c->axes[i].result);
  ga__conv_args(&args, 2, (ssize_t[]){(ssize_t)d->chunk, (ssize_t)d->channels});
  ga__conv_args(&args, 3,
                (ssize_t[]){x->array.outer[0], (ssize_t)c->channels * x->array.outer[1],
                            x->array.outer[1]});
  ga__conv_args(&args, 3,
                (ssize_t[]){y->array.outer[0], (ssize_t)c->results * y->array.outer[1],
                            y->array.outer[1]});
  ga__conv_args(&args, 2, y->array.inner);
  ga__conv_args(
      &args, 4,
      (ssize_t[]){part, (ssize_t)c->results * w->outer[0], w->outer[0], w->outer[1]});
  return ga__conv_cpu_launch(kernel, &args, d->groups, d->parts);
}

/* ---- sum of the parts ---- */

static int launch_sum(const ga_conv *c, const division *d, gpudata *parts) {
  const ga_conv_array *w = &c->filters;
  const size_t count = ga__conv_count(c);
  gpukernel *kernel;
  ga_args args = {0};
  GA_TRY(ga__conv_cpu_kernel(&kernel, c, GA_CONV_CPU_PARTS, ga__conv_most_lanes(c),
                             (ga_conv_block){0}));
  ga__args_pointer(&args, w->data, w->offset, false);
  ga__args_pointer(&args, parts, 0, true);
  ga__conv_args(&args, 3,
                (ssize_t[]){(ssize_t)count, (ssize_t)d->parts, (ssize_t)c->channels});
  for (int i = 0; i < GA_CONV_AXES; i++)
    ga__args_i32(&args, (int32_t)c->axes[i].filter);
  ga__conv_args(&args, 2, w->outer);
  ga__conv_args(&args, GA_CONV_AXES, w->inner);
  return ga__kernel_launch_items(kernel, &args, count, 16,
                                 GA_CPU_GROUPS * (size_t)c->context->info.processors);
}

/* Sums to an array of its own for each part, then the parts. */
static int run_in_parts(const ga_conv *c, const division *d, const ga_conv_rows *x,
                        const ga_conv_rows *y) {
  const size_t count = ga__conv_count(c);
  ga_conv_array w = {.data = NULL};
  ssize_t stride = 1;
  for (int i = GA_CONV_AXES - 1; i >= 0; i--) {
    w.inner[i] = stride;
    stride *= (ssize_t)c->axes[i].filter;
  }
  w.outer[1] = stride;
  w.outer[0] = stride * (ssize_t)c->channels;
  GA_TRY(ga__buffer_new(&w.data, c->context,
                        d->parts * count *
                            gpuarray_get_elsize(ga__dtype_work(c->typecode))));
  int status = launch_parts(c, d, x, y, &w, (ssize_t)count);
  GA_THEN(status, launch_sum(c, d, w.data));
  gpudata_release(w.data);
  return status;
}

int ga__conv_cpu_filters(const ga_conv *c) {
  const bool is_flat = ga__conv_is_flat(c);
  const ga_conv flat = is_flat ? ga__conv_flattened(c) : *c;
  const division d = divide(&flat, is_flat ? c->axes[2].filter : 1);
  ga_conv_rows x = {.copy = NULL}, y = {.copy = NULL};
  ga_conv_window window;
  int status = ga__conv_image_rows(&x, &window, c);
  GA_THEN(status, ga__conv_result_rows(&y, &window, c));
  if (d.parts > 1 || ga__dtype_work(c->typecode) != c->typecode) {
    GA_THEN(status, run_in_parts(&flat, &d, &x, &y));
  } else {
    GA_THEN(status, launch_parts(&flat, &d, &x, &y, &c->filters, 0));
  }
  gpudata_release(x.copy);
  gpudata_release(y.copy);
  return status;
}
