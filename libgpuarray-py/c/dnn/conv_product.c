/* Convolutions by filters of one element: products of matrices, on processors. */
#include "c/base/dtype.h"
#include "c/blas/blas.h"
#include "c/dnn/conv.h"

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

bool ga__conv_product_takes(const ga_conv *c) {
  size_t places;
  ssize_t stride;
  if (!c->context->info.is_cpu || c->is_unshared || ga__conv_count(c) == 0)
    return false;
  for (int i = 0; i < GA_CONV_AXES; i++) {
    const ga_conv_axis *a = &c->axes[i];
    if (a->filter != 1 || a->before != 0 || a->image != a->result)
      return false;
  }
  if (!merge(c, &c->image, &places, &stride) || !merge(c, &c->result, &places, &stride))
    return false;
  /* Each product is worth a call: filters' gradients add those of a batch, which 16
   * bits are too few for. */
  if (c->role == GA_CONV_FILTERS && c->batch > 1 &&
      ga__dtype_work(c->typecode) != c->typecode)
    return false;
  const double work = (double)c->results * (double)c->channels * (double)places *
                      (c->role == GA_CONV_FILTERS ? 1 : (double)c->batch);
  return work >= 1 << 18 && c->results >= 8 && c->channels >= 8;
}

/* Of a group: `a` has an entry for each image, from channel `first` on. */
static ga_factor images(const ga_conv *c, const ga_conv_array *a, size_t first,
                        size_t channels) {
  ga_factor f = {.data = a->data, .si = a->outer[1], .step = a->outer[0]};
  merge(c, a, &f.n, &f.sj);
  f.m = channels;
  f.offset = a->offset + first * (size_t)a->outer[1] * gpuarray_get_elsize(c->typecode);
  return f;
}

static int group_product(const ga_conv *c, size_t group) {
  const size_t row = group * c->results;
  const ga_factor x = images(c, &c->image, group * c->channels, c->channels);
  const ga_factor y = images(c, &c->result, row, c->results);
  const ga_factor w = {.data = c->filters.data,
                       .offset =
                           c->filters.offset + row * (size_t)c->filters.outer[0] *
                                                   gpuarray_get_elsize(c->typecode),
                       .m = c->results,
                       .n = c->channels,
                       .si = c->filters.outer[0],
                       .sj = c->filters.outer[1]};
  ga_product p = {.operation = "conv",
                  .names = {"filters", "image", "result"},
                  .context = c->context,
                  .typecode = c->typecode,
                  .epilogue = GA_BLAS_PLAIN,
                  .alpha = {1, 0},
                  .batch = c->batch};
  if (c->role == GA_CONV_RESULT)
    p.a = w, p.b = x, p.c = y;
  else
    p.a = ga__factor_transposed(w), p.b = y, p.c = x;
  if (c->role != GA_CONV_FILTERS)
    return ga__product(&p, 0);
  p.batch = 1;
  p.a = y, p.b = ga__factor_transposed(x), p.c = w;
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
