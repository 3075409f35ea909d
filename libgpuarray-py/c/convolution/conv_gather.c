/* Convolutions and their gradients as one gather. */
#include "c/convolution/conv_gather.h"

static ga_gather begin(const ga_conv *c, const ga_conv_array *a, const ga_conv_array *b,
                       const ga_conv_array *out) {
  ga_gather g = {.context = c->context,
                 .typecode = c->typecode,
                 .groups = c->groups,
                 .map = c->map,
                 .out = {.row_axis = c->role != GA_CONV_FILTERS, .step = {1, 1, 1}}};
  const ga_conv_array *const list[] = {a, b, out};
  for (int i = 0; i < 3; i++) {
    g.data[i] = list[i]->data;
    g.offsets[i] = list[i]->offset;
  }
  return g;
}

static ga_gather of_result(const ga_conv *c) {
  ga_gather g = begin(c, &c->filters, &c->image, &c->result);
  g.rows = c->results, g.columns = c->batch, g.terms = c->channels;
  g.a_row = c->filters.outer[0], g.a_term = c->filters.outer[1];
  g.b_column = c->image.outer[0], g.b_term = c->image.outer[1];
  g.c_row = c->result.outer[1], g.c_column = c->result.outer[0];
  g.a_group = (ssize_t)c->results * g.a_row;
  g.b_group = (ssize_t)c->channels * g.b_term;
  g.c_group = (ssize_t)c->results * g.c_row;
  for (int i = 0; i < GA_CONV_AXES; i++) {
    const ga_conv_axis *x = &c->axes[i];
    g.axes[i] = (ga_gather_axis){.columns = x->result,
                                 .terms = x->filter,
                                 .length = x->image,
                                 .step = (ssize_t)x->stride,
                                 .first = -(ssize_t)x->before,
                                 .by = (ssize_t)x->dilation,
                                 .a = c->filters.inner[i],
                                 .b = c->image.inner[i],
                                 .c = c->result.inner[i]};
  }
  return g;
}

static ga_gather of_filters(const ga_conv *c) {
  ga_gather g = begin(c, &c->result, &c->image, &c->filters);
  g.rows = c->results, g.columns = c->channels, g.terms = c->batch;
  g.a_row = c->result.outer[1], g.a_term = c->result.outer[0];
  g.b_column = c->image.outer[1], g.b_term = c->image.outer[0];
  g.c_row = c->filters.outer[0], g.c_column = c->filters.outer[1];
  g.a_group = (ssize_t)c->results * g.a_row;
  g.b_group = (ssize_t)c->channels * g.b_column;
  g.c_group = (ssize_t)c->results * g.c_row;
  for (int i = 0; i < GA_CONV_AXES; i++) {
    const ga_conv_axis *x = &c->axes[i];
    g.out.first[i] = c->is_flipped ? (ssize_t)x->filter - 1 : 0;
    g.out.step[i] = c->is_flipped ? -1 : 1;
    g.axes[i] = (ga_gather_axis){.columns = x->filter,
                                 .terms = x->result,
                                 .length = x->image,
                                 .step = (ssize_t)x->dilation,
                                 .first = -(ssize_t)x->before,
                                 .by = (ssize_t)x->stride,
                                 .a = c->result.inner[i],
                                 .b = c->image.inner[i],
                                 .c = c->filters.inner[i]};
  }
  return g;
}

static size_t common_divisor(size_t a, size_t b) {
  while (b > 0) {
    const size_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* One phase of an axis: places `at`, at + stride, ... of the image. Elements of the
 * filters `first`, first + every, ... reach them. Moves the offsets of a and c. */
static ga_gather_axis phase_of(ga_gather *g, const ga_conv *c, int i, size_t at) {
  const ga_conv_axis *x = &c->axes[i];
  const size_t every = x->stride / common_divisor(x->dilation, x->stride);
  const size_t itemsize = gpuarray_get_elsize(c->typecode);
  const size_t place = at + x->before;
  size_t first = 0;
  while (first < every && (place + first * (x->stride - 1) * x->dilation) % x->stride)
    first++; /* first * dilation is place, modulo the stride */
  const bool has_terms = first < every && first < x->filter;
  if (has_terms)
    g->offsets[0] += first * (size_t)c->filters.inner[i] * itemsize;
  g->out.first[i] = (ssize_t)at;
  g->out.step[i] = (ssize_t)x->stride;
  if (at < x->image)
    g->offsets[2] += at * (size_t)c->image.inner[i] * itemsize;
  const ssize_t behind = (ssize_t)place - (ssize_t)(first * x->dilation);
  return (ga_gather_axis){.columns =
                              at < x->image ? (x->image - at - 1) / x->stride + 1 : 0,
                          .terms = has_terms ? (x->filter - first - 1) / every + 1 : 0,
                          .length = x->result,
                          .step = 1,
                          .first = has_terms ? behind / (ssize_t)x->stride : 0,
                          .by = -(ssize_t)(x->dilation * every / x->stride),
                          .a = (ssize_t)every * c->filters.inner[i],
                          .b = c->result.inner[i],
                          .c = (ssize_t)x->stride * c->image.inner[i]};
}

static ga_gather of_image(const ga_conv *c, size_t phase) {
  ga_gather g = begin(c, &c->filters, &c->result, &c->image);
  g.rows = c->channels, g.columns = c->batch, g.terms = c->results;
  g.a_row = c->filters.outer[1], g.a_term = c->filters.outer[0];
  g.b_column = c->result.outer[0], g.b_term = c->result.outer[1];
  g.c_row = c->image.outer[1], g.c_column = c->image.outer[0];
  g.a_group = (ssize_t)c->results * g.a_term;
  g.b_group = (ssize_t)c->results * g.b_term;
  g.c_group = (ssize_t)c->channels * g.c_row;
  for (int i = 0; i < GA_CONV_AXES; i++) {
    g.axes[i] = phase_of(&g, c, i, phase % c->axes[i].stride);
    phase /= c->axes[i].stride;
  }
  return g;
}

ga_gather ga__gather_of(const ga_conv *c, size_t phase) {
  return c->role == GA_CONV_RESULT  ? of_result(c)
         : c->role == GA_CONV_IMAGE ? of_image(c, phase)
                                    : of_filters(c);
}

size_t ga__gather_phases(const ga_conv *c) {
  size_t n = 1;
  for (int i = 0; c->role == GA_CONV_IMAGE && i < GA_CONV_AXES; i++)
    n *= c->axes[i].stride;
  return n;
}

ga_gather_sizes ga__gather_sizes(const ga_gather *g) {
  ga_gather_sizes s = {g->rows, g->columns, g->terms};
  for (int i = 0; i < GA_CONV_AXES; i++) {
    s.n *= g->axes[i].columns;
    s.k *= g->axes[i].terms;
  }
  return s;
}

/* ---- arguments ---- */

void ga__gather_add_arrays(ga_args *args, const ga_gather *g) {
  ga__args_pointer(args, g->data[2], g->offsets[2], false);
  ga__args_pointer(args, g->data[0], g->offsets[0], true);
  ga__args_pointer(args, g->data[1], g->offsets[1], true);
}

void ga__gather_add(ga_args *args, unsigned int n, const ssize_t *numbers) {
  for (unsigned int i = 0; i < n; i++)
    ga__args_i32(args, (int32_t)numbers[i]);
}

void ga__gather_add_lengths(ga_args *args, const ga_gather *g, bool of_terms) {
  for (int i = 0; i < GA_CONV_AXES; i++) {
    const size_t n = of_terms ? g->axes[i].terms : g->axes[i].columns;
    ga__args_i32(args, n > 0 ? (int32_t)n : 1);
  }
}
