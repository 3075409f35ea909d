/* Routines that make, index and check arrays. */
#include "c/routines/calls.h"

#include <gpuarray/index.h>

#include "c/index/count.h"
#include "c/index/mask.h"
#include "c/random/random.h"
#include "c/sort/search.h"

/* ---- indexing and search ---- */

int ga__run_join(ga_routine_call *c) {
  return GpuArray_concatenate(c->outs[0], c->ins, c->n_in,
                              (unsigned int)as_int(c->params[0]), c->types[0].typecode);
}

int ga__run_nonzero(ga_routine_call *c) {
  return ga__nonzero_bounded(c->outs[0], c->ins[0]);
}

int ga__run_take(ga_routine_call *c) {
  return GpuArray_take(c->outs[0], c->ins[0], c->n_in - 1, c->ins + 1,
                       (unsigned int)as_int(c->params[0]), GA_INDEX_RAISE);
}

/* In place: the result is a view of the first input. */
int ga__run_put(ga_routine_call *c) {
  GA_TRY(GpuArray_view(c->outs[0], c->ins[0]));
  return or_clear(c, GpuArray_put(c->outs[0], c->n_in - 2, c->ins + 1,
                                  (unsigned int)as_int(c->params[0]),
                                  c->ins[c->n_in - 1], GA_INDEX_RAISE));
}

int ga__run_add_at(ga_routine_call *c) {
  GA_TRY(GpuArray_view(c->outs[0], c->ins[0]));
  return or_clear(c, GpuArray_add_at(c->outs[0], c->n_in - 2, c->ins + 1,
                                     (unsigned int)as_int(c->params[0]),
                                     c->ins[c->n_in - 1], GA_INDEX_RAISE));
}

int ga__run_assign(ga_routine_call *c) {
  GA_TRY(GpuArray_view(c->outs[0], c->ins[0]));
  return or_clear(c, GpuArray_setarray(c->outs[0], c->ins[1]));
}

int ga__run_search(ga_routine_call *c) {
  return ga__search(c->outs[0], c->ins[0], c->ins[1], c->params[0] != 0);
}

/* ---- creation, casts, checks ---- */

static int check_lengths(size_t *dims, const ga_routine_call *c, const char *name) {
  if (c->n_in > GA_MAX_NDIM)
    return GA_FAIL(GA_VALUE_ERROR, "%s: got %u lengths, expected at most %d", name,
                   c->n_in, GA_MAX_NDIM);
  for (unsigned int i = 0; i < c->n_in; i++) {
    if (c->ints[i] < 0)
      return GA_FAIL(GA_VALUE_ERROR,
                     "%s: got length %lld for axis %u, expected 0 or more", name,
                     c->ints[i], i);
    dims[i] = (size_t)c->ints[i];
  }
  return GA_NO_ERROR;
}

int ga__run_empty(ga_routine_call *c) {
  size_t dims[GA_MAX_NDIM];
  GA_TRY(check_lengths(dims, c, "empty"));
  return GpuArray_empty(c->outs[0], c->context, c->types[0].typecode, c->n_in, dims,
                        GA_C_ORDER);
}

int ga__run_zeros(ga_routine_call *c) {
  size_t dims[GA_MAX_NDIM];
  GA_TRY(check_lengths(dims, c, "zeros"));
  return GpuArray_zeros(c->outs[0], c->context, c->types[0].typecode, c->n_in, dims,
                        GA_C_ORDER);
}

int ga__run_arange(ga_routine_call *c) {
  const size_t n = c->ints[0] > 0 ? (size_t)c->ints[0] : 0;
  GpuArray counted = {0};
  if (c->types[0].typecode == GA_LONG)
    return ga__count(c->outs[0], c->context, n);
  GA_TRY(ga__count(&counted, c->context, n));
  int status = GpuArray_astype(c->outs[0], &counted, c->types[0].typecode, GA_C_ORDER);
  GpuArray_clear(&counted);
  return status;
}

int ga__source_of_count(ga_source *out, const char *const *texts) {
  (void)texts;
  return ga__count_source(out);
}

int ga__run_random(ga_routine_call *c) {
  const GpuArray *const words[] = {c->ins[0], c->ins[1], c->ins[2]};
  double values[4];
  for (size_t k = 0; k < 4; k++)
    values[k] = as_double(c->params[k]);
  GA_TRY(empty_like(c, 0, c->ins[3], c->types[0].typecode));
  return or_clear(c, ga__random_draw_by(c->outs[0], words, c->texts[0], values));
}

int ga__run_cast(ga_routine_call *c) {
  if (c->ins[0]->typecode == c->types[0].typecode)
    return GpuArray_view(c->outs[0], c->ins[0]);
  return GpuArray_astype(c->outs[0], c->ins[0], c->types[0].typecode, GA_C_ORDER);
}

int ga__run_contiguous(ga_routine_call *c) {
  return GpuArray_IS_C_CONTIGUOUS(c->ins[0])
             ? GpuArray_view(c->outs[0], c->ins[0])
             : GpuArray_copy(c->outs[0], c->ins[0], GA_C_ORDER);
}

int ga__run_diagonal(ga_routine_call *c) {
  const GpuArray *a = c->ins[0];
  unsigned int first = 0, second = 0, nd = 0;
  GA_TRY(check_axis(&first, a, c->params[1], "diagonal"));
  GA_TRY(check_axis(&second, a, c->params[2], "diagonal"));
  if (first == second)
    return GA_FAIL(GA_VALUE_ERROR, "diagonal: axis %u is given twice", first);
  const long long shift = as_int(c->params[0]);
  const size_t down = shift < 0 ? (size_t)-shift : 0,
               right = shift > 0 ? (size_t)shift : 0;
  const size_t rows = a->dimensions[first], columns = a->dimensions[second];
  const size_t high = rows > down ? rows - down : 0;
  const size_t wide = columns > right ? columns - right : 0;
  GpuArray *r = c->outs[0];
  GA_TRY(GpuArray_view(r, a));
  for (unsigned int i = 0; i < a->nd; i++)
    if (i != first && i != second) {
      r->dimensions[nd] = a->dimensions[i];
      r->strides[nd++] = a->strides[i];
    }
  r->dimensions[nd] = high < wide ? high : wide;
  r->strides[nd] = a->strides[first] + a->strides[second];
  if (r->dimensions[nd] > 0)
    r->offset += down * (size_t)a->strides[first] + right * (size_t)a->strides[second];
  r->nd = nd + 1;
  GpuArray_fix_flags(r);
  return GA_NO_ERROR;
}

/* Identity, or a failure with the step's text where an integer is zero. */
static int run_check(ga_routine_call *c, int status) {
  for (unsigned int i = 1; i < c->n_in; i++)
    if (c->ints[i] == 0)
      return GA_FAIL(status, "%s", c->texts[0]);
  return GpuArray_view(c->outs[0], c->ins[0]);
}

int ga__run_require(ga_routine_call *c) {
  return run_check(c, GA_VALUE_ERROR);
}

/* Identity, or a failure where the first integer differs from the second. */
int ga__run_length(ga_routine_call *c) {
  if (c->ints[1] != c->ints[2])
    return GA_FAIL(GA_VALUE_ERROR, "%s %lld, expected %lld", c->texts[0], c->ints[1],
                   c->ints[2]);
  return GpuArray_view(c->outs[0], c->ins[0]);
}

/* Identity, or a failure where there are more rows than the second integer. */
int ga__run_at_most(ga_routine_call *c) {
  if (c->ints[1] > c->ints[2])
    return GA_FAIL(GA_INDEX_ERROR,
                   "index %lld is out of bounds for axis 0 of length %lld",
                   c->ints[1] - 1, c->ints[2]);
  return GpuArray_view(c->outs[0], c->ins[0]);
}

/* The array itself, or a failure where its axes from one on are not as long as a
 * mask's. */
int ga__run_mask(ga_routine_call *c) {
  const GpuArray *a = c->ins[0], *mask = c->ins[1];
  const unsigned int axis = (unsigned int)as_int(c->params[0]);
  for (unsigned int k = 0; k < mask->nd; k++)
    if (axis + k >= a->nd || a->dimensions[axis + k] != mask->dimensions[k]) {
      char shape[GA_SHAPE_TEXT];
      return GA_FAIL(GA_INDEX_ERROR,
                     "index: a mask of shape %s does not fit axis %u of length %zu",
                     ga__shape_text(shape, mask->nd, mask->dimensions), axis + k,
                     axis + k < a->nd ? a->dimensions[axis + k] : 0);
    }
  return GpuArray_view(c->outs[0], a);
}

int ga__run_assert(ga_routine_call *c) {
  return run_check(c, GA_ASSERT_ERROR);
}
