/* Convolutions: the arrays, and the choice of a kernel. */
#include "c/convolution/conv_choice.h"
#include "c/convolution/conv_gpu.h"
#include "c/convolution/conv_map.h"
#include "c/dnn/normalization.h"

#include <string.h>

#include "c/base/dtype.h"

static const char *const role_names[] = {"conv", "conv_grad_image",
                                         "conv_grad_filters"};
static const char *const array_names[] = {"result", "image", "filters"};

/* Elements of a result for each of the filters from which on these are scaled rather
 * than the result: both are read and written, and the filters take two more launches.
 */
#define FOLD_GAINS 8

/* ---- arrays ---- */

static int check_array(const GpuArray *a, const GpuArray *out, int typecode,
                       unsigned int nd, const char *operation, const char *role) {
  char text[GA_ARRAY_TEXT];
  if (a == NULL)
    return ga__fail_null(operation, role);
  GA_TRY(ga__array_fits(a, GpuArray_context(out), typecode, operation, role));
  if (a->nd != nd)
    return GA_FAIL(GA_VALUE_ERROR, "%s: the %s is %s, expected %u axes", operation,
                   role, ga__array_text(text, a), nd);
  return GA_NO_ERROR;
}

static int check_type(const GpuArray *a, const char *operation) {
  char text[GA_ARRAY_TEXT];
  if (ga__dtype_kind(a->typecode) != 'f')
    return GA_FAIL(GA_INVALID_ERROR,
                   "%s: the output is %s, expected float16, bfloat16, float32 or "
                   "float64",
                   operation, ga__array_text(text, a));
  return ga__context_supports(GpuArray_context(a), a->typecode, operation);
}

static ssize_t stride_of(const GpuArray *a, unsigned int axis) {
  return a->dimensions[axis] > 1 ? a->strides[axis] / (ssize_t)GpuArray_ITEMSIZE(a) : 0;
}

static ga_conv_array memory_of(const GpuArray *a, unsigned int channel,
                               unsigned int first, unsigned int nd) {
  ga_conv_array m = {.data = a->data,
                     .offset = a->offset,
                     .outer = {stride_of(a, 0), stride_of(a, channel)}};
  for (unsigned int i = 0; i < nd; i++)
    m.inner[GA_CONV_AXES - nd + i] = stride_of(a, first + i);
  return m;
}

/* Turns the filters around: a view. */
static void flip(ga_conv_array *m, const ga_conv_axis axes[GA_CONV_AXES],
                 size_t itemsize) {
  for (int i = 0; i < GA_CONV_AXES; i++) {
    m->offset += (axes[i].filter - 1) * (size_t)m->inner[i] * itemsize;
    m->inner[i] = -m->inner[i];
  }
}

/* The three arrays by role; `out` is one of them. All have the type of `like`, but for
 * an output that an epilogue writes. */
typedef struct operands {
  const GpuArray *result, *image, *filters, *out, *like;
} operands;

static int check_operands(const operands *o, const gpuconv *c, const char *operation) {
  const GpuArray *const list[] = {o->result, o->image, o->filters};
  if (o->out == NULL)
    return ga__fail_null(operation, "output");
  GA_TRY(ga__array_check(o->out, operation));
  GA_TRY(ga__context_check(GpuArray_context(o->out)));
  GA_TRY(check_type(o->like, operation));
  for (unsigned int i = 0; i < 3; i++)
    GA_TRY(check_array(list[i], o->out,
                       list[i] == o->out ? o->out->typecode : o->like->typecode,
                       i == 2 ? ga__conv_first_axis(c) + c->nd : 2 + c->nd, operation,
                       array_names[i]));
  GA_TRY(ga__array_writeable(o->out, operation));
  for (unsigned int i = 0; i < 3; i++)
    if (list[i] != o->out && GpuArray_share(list[i], o->out))
      return GA_FAIL(GA_VALUE_ERROR, "%s: the output shares memory with the %s",
                     operation, array_names[i]);
  return GA_NO_ERROR;
}

/* GA_VALUE_ERROR unless the result has the shape that follows from the others. */
static int check_result(const operands *o, const gpuconv *c,
                        const ga_conv_axis axes[GA_CONV_AXES], const char *operation) {
  char given[GA_ARRAY_TEXT], expected[GA_SHAPE_TEXT], image[GA_SHAPE_TEXT];
  size_t dims[2 + GA_CONV_AXES] = {o->image->dimensions[0], o->filters->dimensions[0]};
  for (unsigned int i = 0; i < c->nd; i++)
    dims[2 + i] = axes[GA_CONV_AXES - c->nd + i].result;
  if (ga__array_has_shape(o->result, o->result->nd, dims))
    return GA_NO_ERROR;
  return GA_FAIL(
      GA_VALUE_ERROR,
      "%s: the result, which a transposed convolution reads, is %s, expected "
      "the shape %s of an image of %s",
      operation, ga__array_text(given, o->result),
      ga__shape_text(expected, 2 + c->nd, dims),
      ga__shape_text(image, 2 + c->nd, o->image->dimensions));
}

static int describe(ga_conv *out, const operands *o, const gpuconv *c,
                    enum ga_conv_role role) {
  const char *operation = role_names[role];
  GA_TRY(ga__conv_check(c, operation));
  GA_TRY(check_operands(o, c, operation));
  const size_t *image = o->image->dimensions, *filters = o->filters->dimensions;
  *out = (ga_conv){.role = role,
                   .context = GpuArray_context(o->out),
                   .typecode = o->like->typecode,
                   .batch = image[0],
                   .groups = c->groups,
                   .is_unshared = c->flags & GA_CONV_UNSHARED,
                   .is_flipped = c->flags & GA_CONV_FLIP,
                   .is_deterministic = !(c->flags & GA_CONV_ANY_ORDER)};
  GA_TRY(ga__conv_geometry(out->axes, c, image, filters, operation));
  GA_TRY(check_result(o, c, out->axes, operation));
  const unsigned int first = ga__conv_first_axis(c);
  out->channels = filters[first - 1];
  out->results = filters[0] / c->groups;
  out->image = memory_of(o->image, 1, 2, c->nd);
  out->result = memory_of(o->result, 1, 2, c->nd);
  out->filters = memory_of(o->filters, first - 1, first, c->nd);
  for (unsigned int i = 0; out->is_unshared && i < c->nd; i++)
    out->places[GA_CONV_AXES - c->nd + i] = stride_of(o->filters, 1 + i);
  if (out->is_flipped)
    flip(&out->filters, out->axes, GpuArray_ITEMSIZE(o->filters));
  return GA_NO_ERROR;
}

/* ---- entries ---- */

/* By our own kernels: the first that takes it, the fastest first. */
static int run_own(const ga_conv *c) {
  if (ga__conv_tiles_serve(c))
    return ga__conv_tiles(c);
  if (ga__conv_product_takes(c))
    return ga__conv_product(c);
  if (ga__conv_cpu_takes(c)) {
    const int status = ga__conv_cpu(c);
    if (status != GA_MEMORY_ERROR) /* out of memory: without copies */
      return status;
  }
  return ga__conv_direct(c);
}

static int run(const operands *o, const gpuconv *c, enum ga_conv_role role) {
  ga_conv call;
  bool done;
  GA_TRY(describe(&call, o, c, role));
  GA_TRY(ga__conv_vendor(&done, &call, run_own));
  return done ? GA_NO_ERROR : run_own(&call);
}

/* ---- with what reads the result ---- */

/* Filters times the scale, and bias less the scaled centre, as new arrays. */
static int fold(GpuArray *w, GpuArray *bias, const GpuArray *filters,
                const ga_mapping *map, const ga_conv_reader *r) {
  const GpuArray *scale = map->values[r->scale];
  const GpuArray *const of_bias[] = {bias, map->values[r->bias], map->values[r->centre],
                                     scale};
  GpuArray by_result = *filters; /* the scale, along the first axis */
  const size_t n = filters->dimensions[0];
  size_t dims[2 + GA_CONV_AXES] = {1, n, 1, 1, 1};
  for (unsigned int i = 0; i < filters->nd; i++)
    by_result.dimensions[i] = i == 0 ? scale->dimensions[1] : 1;
  by_result.strides[0] = scale->strides[1];
  by_result.data = scale->data;
  by_result.offset = scale->offset;
  by_result.typecode = scale->typecode;
  GpuArray_fix_flags(&by_result);
  GA_TRY(GpuArray_empty(w, GpuArray_context(filters), filters->typecode, filters->nd,
                        filters->dimensions, GA_C_ORDER));
  GA_TRY(ga__norm_pass(GA_NORM_FILTERS, GA_FLOAT,
                       (const GpuArray *[]){w, filters, &by_result}, NULL));
  if (r->centre == 0)
    return GA_NO_ERROR;
  GA_TRY(GpuArray_empty(bias, GpuArray_context(filters), filters->typecode, scale->nd,
                        dims, GA_C_ORDER));
  return ga__norm_pass(GA_NORM_BIAS, GA_FLOAT, of_bias, NULL);
}

/* True where a pass over the result costs more than scaling the filters, and what is
 * folded has the shape that it needs. */
static bool may_fold(const ga_conv *call, const GpuArray *filters,
                     const ga_mapping *map, const ga_conv_reader *r) {
  const unsigned int places[] = {r->scale, r->bias, r->centre};
  size_t n_filters = 1;
  for (unsigned int i = 0; i < filters->nd; i++)
    n_filters *= filters->dimensions[i];
  for (int i = 0; i < (r->centre > 0 ? 3 : 1); i++) {
    const unsigned int k = places[i];
    if (k == 0 || k >= map->ge->n || k == map->made ||
        ga__elemwise_is_scalar(map->ge, k) ||
        map->ge->args[k].typecode != call->typecode ||
        ((const GpuArray *)map->values[k])->nd != filters->nd)
      return false;
  }
  return !call->is_unshared && FOLD_GAINS * n_filters <= ga__conv_count(call);
}

static int run_folded(const operands *o, const gpuconv *c, const ga_mapping *map,
                      const ga_conv_reader *reader) {
  GpuArray w = {0}, bias = {0};
  void *values[GA_MAPPED_ARGS];
  ga_mapping folded = *map;
  ga_conv_reader rest = *reader;
  operands with = *o;
  ga_conv call;
  memcpy(values, map->values, map->ge->n * sizeof *values);
  folded.values = values;
  with.filters = &w;
  int status = fold(&w, &bias, o->filters, map, reader);
  if (reader->centre > 0)
    values[reader->bias] = &bias;
  rest.scale = rest.centre = 0;
  GA_THEN(status, describe(&call, &with, c, GA_CONV_RESULT));
  GA_THEN(status, ga__conv_vendor_mapped(&call, &folded, &rest));
  GpuArray_clear(&w);
  GpuArray_clear(&bias);
  return status;
}

/* By the vendor's library, which has no scale: that is folded into the filters. */
static int run_reader(const operands *o, const ga_conv *call, const gpuconv *c,
                      const ga_mapping *map, const ga_conv_reader *reader) {
  if (!ga__conv_vendor_gains(call, map, reader) ||
      (reader->scale > 0 && !may_fold(call, o->filters, map, reader)))
    return GA_FAIL(GA_DEVSUP_ERROR, "conv: what reads the result is faster apart");
  return reader->scale > 0 ? run_folded(o, c, map, reader)
                           : ga__conv_vendor_mapped(call, map, reader);
}

int ga__conv_mapped(GpuArray *out, enum ga_conv_role role, const GpuArray *a,
                    const GpuArray *b, const gpuconv *c, const ga_mapping *map,
                    const ga_conv_reader *reader) {
  const operands list[] = {/* result, image, filters, out, like */
                           {out, a, b, out, a},
                           {a, out, b, out, a},
                           {b, a, out, out, a}};
  ga_conv call;
  GA_TRY(describe(&call, &list[role], c, role));
  const enum ga_conv_way way = ga__conv_way(&call, run_own);
  const bool is_open = way == GA_CONV_UNDECIDED;
  if ((is_open || way == GA_CONV_BY_VENDOR) && reader->is_known &&
      out->typecode == a->typecode) {
    const int status = run_reader(&list[role], &call, c, map, reader);
    if (!is_open)
      return status;
  }
  if ((!is_open && way != GA_CONV_BY_OWN) || !ga__conv_map_fits(map, &call) ||
      !ga__conv_tiles_map(&call))
    return GA_FAIL(GA_DEVSUP_ERROR, "%s: no kernel stores an expression of this one",
                   role_names[role]);
  call.map = map;
  return ga__conv_tiles(&call);
}

int GpuArray_conv(GpuArray *out, const GpuArray *image, const GpuArray *filters,
                  const gpuconv *c) {
  return run(&(operands){out, image, filters, out, out}, c, GA_CONV_RESULT);
}

int GpuArray_conv_grad_image(GpuArray *out, const GpuArray *grad,
                             const GpuArray *filters, const gpuconv *c) {
  return run(&(operands){grad, out, filters, out, out}, c, GA_CONV_IMAGE);
}

int GpuArray_conv_grad_filters(GpuArray *out, const GpuArray *image,
                               const GpuArray *grad, const gpuconv *c) {
  return run(&(operands){grad, image, out, out, out}, c, GA_CONV_FILTERS);
}
