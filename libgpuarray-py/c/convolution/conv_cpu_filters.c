/* Gradient of a convolution by its filters, on processors. */
#include "c/base/counts.h"
#include "c/base/dtype.h"
#include "c/convolution/conv_cpu_call.h"

/* How the work is divided: `jobs` blocks of results, in `groups` and, where these are
 * few, parts of the rows or places; a group goes through its part by `chunk`, and
 * through rows by `channels`. */
typedef struct division {
  enum ga_conv_cpu_kernel kernel;
  unsigned int lanes;
  ga_conv_block block;
  size_t groups, parts, chunk, channels;
} division;

static size_t busy_groups(const ga_conv *c) {
  return 4 * (size_t)c->context->info.processors;
}

/* Vectors along rows; `copies` of the image are read. */
static division divide_rows(const ga_conv *c, size_t copies) {
  const size_t rows = c->batch * c->axes[0].result * c->axes[1].result;
  const size_t taps = c->axes[0].filter * c->axes[1].filter * c->axes[2].filter;
  const size_t busy = busy_groups(c), width = c->axes[2].result;
  const unsigned int lanes = ga__conv_lanes(c, width);
  division d = {.kernel = GA_CONV_CPU_FILTERS,
                .lanes = lanes,
                .block = ga__conv_block(c, lanes, c->results, c->channels * taps)};
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

/* ---- panels ---- */

/* Two or three vectors of results, whichever pads them less. */
static division divide_panels(const ga_conv *c) {
  const size_t places =
      c->batch * c->axes[0].result * c->axes[1].result * c->axes[2].result;
  const size_t chunks = ga__ceil_div(places, GA_CONV_PLACES), busy = busy_groups(c);
  const unsigned int lanes = ga__conv_most_lanes(c);
  const size_t by_two = ga__ceil_div(c->results, 2 * (size_t)lanes);
  const size_t by_three = ga__ceil_div(c->results, 3 * (size_t)lanes);
  const bool is_two = 2 * by_two <= 3 * by_three;
  const size_t jobs = c->groups * (is_two ? by_two : by_three);
  division d = {.kernel = GA_CONV_CPU_PANELS,
                .lanes = lanes,
                .block = is_two ? (ga_conv_block){6, 2} : (ga_conv_block){4, 3},
                .groups = jobs < 4 * busy ? jobs : 4 * busy,
                .parts = 1,
                .chunk = GA_CONV_PLACES};
  if (d.groups < busy) {
    d.parts = ga__ceil_div(busy, d.groups);
    d.parts = d.parts < chunks ? d.parts : chunks > 0 ? chunks : 1;
  }
  return d;
}

/* True if vectors of results take less time than those along rows, which begin anew in
 * each row, and copy the image for each element of a row of filters where rows join; a
 * panel's element is copied in the time of 25 multiplications. ResNet-18's gradients by
 * filters, for 8 images of 224x224: 370 ms of a core with AVX, instead of 520. */
static bool pays_by_panels(const ga_conv *c) {
  const division d = divide_panels(c);
  const unsigned int lanes = ga__conv_lanes(c, ga__conv_row(c));
  const size_t row = ga__conv_row(c), width = (size_t)d.block.broad * d.lanes;
  const size_t taps = c->axes[0].filter * c->axes[1].filter * c->axes[2].filter;
  const double by_rows = (double)((ga__ceil_div(row, lanes) + 1) * lanes) /
                         (double)row * (ga__conv_is_flat(c) ? 1.3 : 1);
  const double by_panels =
      (double)(ga__ceil_div(c->results, width) * width) / (double)c->results;
  return by_panels * (1 + 25 / (double)(c->channels * taps)) < by_rows;
}

/* ---- launches ---- */

static int launch_parts(const ga_conv *c, const division *d, const ga_conv_rows *x,
                        const ga_conv_rows *y, const ga_conv_array *w, ssize_t part) {
  gpukernel *kernel;
  ga_args args = {0};
  GA_TRY(ga__conv_cpu_kernel(&kernel, c, d->kernel, d->lanes, d->block));
  ga__args_pointer(&args, w->data, w->offset, false);
  ga__args_pointer(&args, x->array.data, x->array.offset, true);
  ga__args_pointer(&args, y->array.data, y->array.offset, true);
  ga__conv_taps_args(&args, c, x, w);
  ga__conv_args(&args, 4,
                (ssize_t[]){(ssize_t)c->batch, (ssize_t)c->groups, (ssize_t)c->channels,
                            (ssize_t)c->results});
  for (int i = 0; i < GA_CONV_AXES; i++)
    ga__args_i32(&args, (int32_t)c->axes[i].result);
  ga__args_i32(&args, (int32_t)d->chunk);
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
  ga__args_i32(&args, d->kernel == GA_CONV_CPU_PANELS ? (int32_t)y->array.inner[2]
                                                      : (int32_t)d->channels);
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

static int run_parts(const ga_conv *c, const division *d, const ga_conv_rows *x,
                     const ga_conv_rows *y) {
  return d->parts > 1 || ga__dtype_work(c->typecode) != c->typecode
             ? run_in_parts(c, d, x, y)
             : launch_parts(c, d, x, y, &c->filters, 0);
}

static int run_panels(const ga_conv *c) {
  const division d = divide_panels(c);
  const ga_conv_rows y = {.array = c->result};
  ga_conv_rows x = {.copy = NULL};
  int status = ga__conv_image_places(&x, c);
  GA_THEN(status, run_parts(c, &d, &x, &y));
  gpudata_release(x.copy);
  return status;
}

static int run_rows(const ga_conv *c) {
  const bool is_flat = ga__conv_is_flat(c);
  const ga_conv flat = is_flat ? ga__conv_flattened(c) : *c;
  const division d = divide_rows(&flat, is_flat ? c->axes[2].filter : 1);
  ga_conv_rows x = {.copy = NULL}, y = {.copy = NULL};
  ga_conv_window window;
  int status = ga__conv_image_rows(&x, &window, c);
  GA_THEN(status, ga__conv_result_rows(&y, &window, c));
  GA_THEN(status, run_parts(&flat, &d, &x, &y));
  gpudata_release(x.copy);
  gpudata_release(y.copy);
  return status;
}

int ga__conv_cpu_filters(const ga_conv *c) {
  return pays_by_panels(c) ? run_panels(c) : run_rows(c);
}
