/* Convolutions by filters of one element: products of matrices. */
#include "c/base/dtype.h"
#include "c/blas/products.h"
#include "c/convolution/conv_call.h"

enum { LEAST_PLACES = 64 }; /* of an image, on GPUs */

/* The places as one axis: their number and its stride. False if memory does not allow
 * that. */
static bool merge(const ga_conv *c, const ga_conv_array *a, size_t *places,
                  ssize_t *stride) {
  *places = 1;
  *stride = 0;
  for (int i = GA_CONV_AXES - 1; i >= 0; i--) {
    const size_t length = c->axes[i].result;
    if (length == 1)
      continue;
    if (*places == 1)
      *stride = a->inner[i];
    else if (a->inner[i] != *stride * (ssize_t)*places)
      return false;
    *places *= length;
  }
  return true;
}

static bool is_pointwise(const ga_conv *c) {
  if (c->is_unshared || ga__conv_count(c) == 0)
    return false;
  for (int i = 0; i < GA_CONV_AXES; i++) {
    const ga_conv_axis *a = &c->axes[i];
    if (a->filter != 1 || a->before != 0 || a->image != a->result)
      return false;
  }
  return true;
}

/* Multiply-adds of a group that are worth a call. On GPUs calls queue several launches,
 * and ours have few to spare. */
static double least_work(const ga_conv *c) {
  return c->context->info.is_cpu ? 1 << 18 : 1 << 26;
}

static size_t count_places(const ga_conv *c) {
  return c->axes[0].result * c->axes[1].result * c->axes[2].result;
}

bool ga__conv_product_takes(const ga_conv *c) {
  size_t places;
  ssize_t stride;
  if (!is_pointwise(c) || !merge(c, &c->image, &places, &stride) ||
      !merge(c, &c->result, &places, &stride))
    return false;
  /* Each product is worth a call: filters' gradients add those of a batch, which 16
   * bits are too few for. On GPUs a call has the whole batch, of matrices that load as
   * vectors. */
  const bool is_sum = c->role == GA_CONV_FILTERS && c->batch > 1;
  if (is_sum && ga__dtype_work(c->typecode) != c->typecode)
    return false;
  if (!c->context->info.is_cpu &&
      (c->role == GA_CONV_FILTERS || c->batch == 1 || !ga__conv_is_narrow(c) ||
       places < LEAST_PLACES || places % 4 != 0))
    return false;
  const double work = (double)c->results * (double)c->channels * (double)places *
                      (c->role == GA_CONV_FILTERS ? 1 : (double)c->batch);
  return work >= least_work(c) && c->results >= 8 && c->channels >= 8;
}

bool ga__conv_columns_takes(const ga_conv *c) {
  const double work = (double)c->results * (double)c->channels * (double)c->batch *
                      (double)count_places(c);
  return !c->context->info.is_cpu && is_pointwise(c) && ga__conv_is_narrow(c) &&
         work >= least_work(c) && c->results >= 8 && c->channels >= 8;
}

/* ---- a product for each image ---- */

/* Of a group: `a` has an entry for each image, from channel `first` on. */
static ga_factor images(const ga_conv *c, const ga_conv_array *a, size_t first,
                        size_t channels) {
  ga_factor f = {.data = a->data, .si = a->outer[1], .step = a->outer[0]};
  merge(c, a, &f.n, &f.sj);
  f.m = channels;
  f.offset = a->offset + first * (size_t)a->outer[1] * gpuarray_get_elsize(c->typecode);
  return f;
}

/* Filters of a group, as a matrix. */
static ga_factor filters_of(const ga_conv *c, size_t group) {
  const size_t first = group * c->results * (size_t)c->filters.outer[0];
  return (ga_factor){.data = c->filters.data,
                     .offset =
                         c->filters.offset + first * gpuarray_get_elsize(c->typecode),
                     .m = c->results,
                     .n = c->channels,
                     .si = c->filters.outer[0],
                     .sj = c->filters.outer[1]};
}

/* The product by role: of filters w, and columns x of an image and y of the result. */
static ga_product product_of(const ga_conv *c, ga_factor w, ga_factor x, ga_factor y) {
  ga_product p = {.operation = "conv",
                  .names = {"filters", "image", "result"},
                  .context = c->context,
                  .typecode = c->typecode,
                  .epilogue = GA_BLAS_PLAIN,
                  .alpha = {1, 0},
                  .batch = 1};
  if (c->role == GA_CONV_RESULT)
    p.a = w, p.b = x, p.c = y;
  else if (c->role == GA_CONV_IMAGE)
    p.a = ga__factor_transposed(w), p.b = y, p.c = x;
  else
    p.a = y, p.b = ga__factor_transposed(x), p.c = w;
  return p;
}

static int group_product(const ga_conv *c, size_t group) {
  const ga_factor x = images(c, &c->image, group * c->channels, c->channels);
  const ga_factor y = images(c, &c->result, group * c->results, c->results);
  ga_product p = product_of(c, filters_of(c, group), x, y);
  if (c->role != GA_CONV_FILTERS) {
    p.batch = c->batch;
    return ga__product(&p, 0);
  }
  for (size_t b = 0; b < c->batch; b++) {
    p.beta[0] = b > 0;
    GA_TRY(ga__product(&p, 0));
    p.a.offset += (size_t)y.step * gpuarray_get_elsize(c->typecode);
    p.b.offset += (size_t)x.step * gpuarray_get_elsize(c->typecode);
  }
  return GA_NO_ERROR;
}

int ga__conv_product(const ga_conv *c) {
  for (size_t group = 0; group < c->groups; group++)
    GA_TRY(group_product(c, group));
  return GA_NO_ERROR;
}

/* ---- one product for all images ---- */

/* Images, or results, as a matrix of a row for each channel of all groups and a column
 * for each place of each image: `array` itself, or `copy`. */
typedef struct columns {
  ga_factor factor;
  GpuArray array, copy;
} columns;

/* True if memory allows a matrix without a copy. */
static bool are_columns(ga_factor *f, const ga_conv *c, const ga_conv_array *a) {
  size_t places;
  if (!merge(c, a, &places, &f->sj))
    return false;
  if (places == 1)
    f->sj = a->outer[0];
  return places == 1 || c->batch == 1 || a->outer[0] == f->sj * (ssize_t)places;
}

static int view_columns(columns *out, const ga_conv *c, const ga_conv_array *a,
                        size_t channels) {
  const ssize_t size = (ssize_t)gpuarray_get_elsize(c->typecode);
  size_t dims[2 + GA_CONV_AXES] = {channels, c->batch};
  ssize_t strides[2 + GA_CONV_AXES] = {a->outer[1] * size, a->outer[0] * size};
  for (int i = 0; i < GA_CONV_AXES; i++) {
    dims[2 + i] = c->axes[i].result;
    strides[2 + i] = a->inner[i] * size;
  }
  return GpuArray_fromdata(&out->array, a->data, a->offset, c->typecode,
                           2 + GA_CONV_AXES, dims, strides, 1);
}

/* Of an output only the memory is made. */
static int open_columns(columns *out, const ga_conv *c, const ga_conv_array *a,
                        size_t channels) {
  ga_factor *f = &out->factor;
  *f = (ga_factor){.data = a->data,
                   .offset = a->offset,
                   .m = channels,
                   .n = c->batch * count_places(c),
                   .si = a->outer[1]};
  if (are_columns(f, c, a))
    return GA_NO_ERROR;
  GA_TRY(view_columns(out, c, a, channels));
  GA_TRY(GpuArray_empty(&out->copy, c->context, c->typecode, out->array.nd,
                        out->array.dimensions, GA_C_ORDER));
  f->data = out->copy.data;
  f->offset = out->copy.offset;
  f->si = (ssize_t)f->n;
  f->sj = 1;
  return a == ga__conv_output(c) ? GA_NO_ERROR
                                 : GpuArray_setarray(&out->copy, &out->array);
}

static ga_factor rows_of(const ga_conv *c, const ga_factor *f, size_t first, size_t n) {
  ga_factor rows = *f;
  rows.m = n;
  rows.offset += first * (size_t)f->si * gpuarray_get_elsize(c->typecode);
  return rows;
}

static int multiply(const ga_conv *c, const columns *x, const columns *y) {
  for (size_t group = 0; group < c->groups; group++) {
    const ga_product p =
        product_of(c, filters_of(c, group),
                   rows_of(c, &x->factor, group * c->channels, c->channels),
                   rows_of(c, &y->factor, group * c->results, c->results));
    GA_TRY(ga__product(&p, 0));
  }
  return GA_NO_ERROR;
}

int ga__conv_columns(const ga_conv *c) {
  columns x = {0}, y = {0};
  columns *const out = c->role == GA_CONV_IMAGE    ? &x
                       : c->role == GA_CONV_RESULT ? &y
                                                   : NULL;
  int status = open_columns(&x, c, &c->image, c->channels * c->groups);
  GA_THEN(status, open_columns(&y, c, &c->result, c->results * c->groups));
  GA_THEN(status, multiply(c, &x, &y));
  if (out && out->copy.data)
    GA_THEN(status, GpuArray_setarray(&out->array, &out->copy));
  GpuArray *const all[] = {&x.array, &x.copy, &y.array, &y.copy};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    GpuArray_clear(all[i]);
  return status;
}
