/* Convolutions: the arrays, and the choice of a kernel. */
#include "c/convolution/conv_choice.h"
#include "c/convolution/conv_map.h"
#include "c/convolution/conv_tiles.h"

#include <string.h>

#include "c/base/dtype.h"

static const char *const role_names[] = {"conv", "conv_grad_image",
                                         "conv_grad_filters"};
static const char *const array_names[] = {"result", "image", "filters"};

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
  char given[GA_ARRAY_TEXT], expected[GA_SHAPE_TEXT];
  size_t dims[2 + GA_CONV_AXES] = {o->image->dimensions[0], o->filters->dimensions[0]};
  for (unsigned int i = 0; i < c->nd; i++)
    dims[2 + i] = axes[GA_CONV_AXES - c->nd + i].result;
  if (ga__array_has_shape(o->result, o->result->nd, dims))
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR, "%s: the result is %s, expected the shape %s",
                 operation, ga__array_text(given, o->result),
                 ga__shape_text(expected, 2 + c->nd, dims));
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

int ga__conv_mapped(GpuArray *out, enum ga_conv_role role, const GpuArray *a,
                    const GpuArray *b, const gpuconv *c, const ga_mapping *map) {
  const operands list[] = {/* result, image, filters, out, like */
                           {out, a, b, out, a},
                           {a, out, b, out, a},
                           {b, a, out, out, a}};
  ga_conv call;
  GA_TRY(describe(&call, &list[role], c, role));
  if (!ga__conv_map_fits(map, &call) || !ga__conv_tiles_map(&call) ||
      !ga__conv_is_own(&call, run_own))
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
