/* Layers of neural networks. */
#include "c/convolution/conv_call.h"
#include "c/device/context.h"
#include "c/routines/calls.h"

#include <gpuarray/dnn.h>

/* ---- convolutions ---- */

static gpuconv conv_of(const ga_routine_call *c) {
  const long long *p = c->params + 3;
  gpuconv conv;
  gpuconv_init(&conv, (unsigned int)as_int(c->params[0]));
  conv.groups = (unsigned int)as_int(c->params[1]);
  conv.flags = as_int(c->params[2]);
  for (int i = 0; i < 3; i++) {
    conv.stride[i] = (size_t)p[i];
    conv.dilation[i] = (size_t)p[3 + i];
    conv.before[i] = (size_t)p[6 + i];
    conv.after[i] = (size_t)p[9 + i];
  }
  return conv;
}

static int empty_output(ga_routine_call *c, unsigned int nd, const size_t *dims) {
  return GpuArray_empty(c->outs[0], c->context, c->ins[0]->typecode, nd, dims,
                        GA_C_ORDER);
}

/* GA_VALUE_ERROR unless the arrays have the axes that the description asks for. */
static int check_ranks(const ga_routine_call *c, const gpuconv *conv,
                       bool has_filters) {
  const unsigned int nd = 2 + conv->nd;
  const unsigned int more = conv->flags & GA_CONV_UNSHARED ? conv->nd : 0;
  if (conv->nd >= 1 && conv->nd <= 3 && c->ins[0]->nd == nd &&
      c->ins[1]->nd == (has_filters ? nd + more : nd))
    return GA_NO_ERROR;
  return GA_FAIL(GA_VALUE_ERROR,
                 "conv: arrays of %u and %u axes for %u spatial axes, expected 2 more",
                 c->ins[0]->nd, c->ins[1]->nd, conv->nd);
}

/* Spatial lengths of the output, which are the integers behind the two arrays. */
static int conv_lengths(size_t *dims, const ga_routine_call *c, const gpuconv *conv) {
  if (c->n_in != 2 + conv->nd)
    return GA_FAIL(GA_VALUE_ERROR, "conv: %u lengths for %u spatial axes", c->n_in - 2,
                   conv->nd);
  for (unsigned int i = 0; i < conv->nd; i++) {
    if (c->ints[2 + i] < 0)
      return GA_FAIL(GA_VALUE_ERROR, "conv: length %lld of spatial axis %u",
                     c->ints[2 + i], i);
    dims[i] = (size_t)c->ints[2 + i];
  }
  return GA_NO_ERROR;
}

int ga__conv_shape(unsigned int *nd, size_t *dims, const ga_routine_call *c) {
  const gpuconv conv = conv_of(c);
  GA_TRY(check_ranks(c, &conv, true));
  *nd = 2 + conv.nd;
  return gpuconv_shape(dims, &conv, c->ins[0]->dimensions, c->ins[1]->dimensions);
}

int ga__conv_grad_image_shape(unsigned int *nd, size_t *dims,
                              const ga_routine_call *c) {
  const gpuconv conv = conv_of(c);
  GA_TRY(check_ranks(c, &conv, true));
  *nd = 2 + conv.nd;
  dims[0] = c->ins[0]->dimensions[0];
  dims[1] = c->ins[1]->dimensions[c->ins[1]->nd - 1 - conv.nd] * conv.groups;
  return conv_lengths(dims + 2, c, &conv);
}

int ga__conv_grad_filters_shape(unsigned int *nd, size_t *dims,
                                const ga_routine_call *c) {
  const gpuconv conv = conv_of(c);
  unsigned int n = 0;
  GA_TRY(check_ranks(c, &conv, false));
  dims[n++] = c->ins[1]->dimensions[1];
  for (unsigned int i = 0; conv.flags & GA_CONV_UNSHARED && i < conv.nd; i++)
    dims[n++] = c->ins[1]->dimensions[2 + i];
  dims[n++] = conv.groups > 0 ? c->ins[0]->dimensions[1] / conv.groups : 0;
  *nd = n + conv.nd;
  return conv_lengths(dims + n, c, &conv);
}

typedef int (*conv_function)(GpuArray *, const GpuArray *, const GpuArray *,
                             const gpuconv *);

typedef int (*conv_shape)(unsigned int *, size_t *, const ga_routine_call *);

static int run_conv(ga_routine_call *c, conv_shape shape, conv_function function) {
  const gpuconv conv = conv_of(c);
  unsigned int nd;
  size_t dims[GA_MAX_NDIM];
  GA_TRY(shape(&nd, dims, c));
  GA_TRY(empty_output(c, nd, dims));
  return or_clear(c, function(c->outs[0], c->ins[0], c->ins[1], &conv));
}

int ga__run_conv(ga_routine_call *c) {
  return run_conv(c, ga__conv_shape, GpuArray_conv);
}

int ga__run_conv_grad_image(ga_routine_call *c) {
  return run_conv(c, ga__conv_grad_image_shape, GpuArray_conv_grad_image);
}

int ga__run_conv_grad_filters(ga_routine_call *c) {
  return run_conv(c, ga__conv_grad_filters_shape, GpuArray_conv_grad_filters);
}

/* Places of inputs, from 1 on, are those of arguments: there is one output. */
static unsigned int place_of(long long place) {
  return place > 0 && place < GA_MAPPED_ARGS ? (unsigned int)place : 0;
}

static ga_conv_reader reader_of(const ga_routine_call *c) {
  const long long *p = c->params + GA_CONV_PARAMS;
  if (c->n_params < GA_CONV_RESULT_PARAMS)
    return (ga_conv_reader){0};
  return (ga_conv_reader){.is_known = p[0] == 1 || p[0] == 2,
                          .is_relu = p[0] == 2,
                          .bias = place_of(p[1]),
                          .residual = place_of(p[2]),
                          .scale = place_of(p[3]),
                          .centre = place_of(p[4])};
}

/* A vendor's library may read the residual after it has written results. */
bool ga__conv_apart(const ga_routine_call *c) {
  return c->context->backend->dnn != NULL && reader_of(c).residual > 0;
}

static int map_conv(GpuArray *out, enum ga_conv_role role, const ga_routine_call *c,
                    const ga_mapping *map) {
  const gpuconv conv = conv_of(c);
  const ga_conv_reader reader = reader_of(c);
  return ga__conv_mapped(out, role, c->ins[0], c->ins[1], &conv, map, &reader);
}

int ga__map_conv(GpuArray *out, const ga_routine_call *c, const ga_mapping *map) {
  return map_conv(out, GA_CONV_RESULT, c, map);
}

int ga__map_conv_grad_image(GpuArray *out, const ga_routine_call *c,
                            const ga_mapping *map) {
  return map_conv(out, GA_CONV_IMAGE, c, map);
}

int ga__map_conv_grad_filters(GpuArray *out, const ga_routine_call *c,
                              const ga_mapping *map) {
  return map_conv(out, GA_CONV_FILTERS, c, map);
}

/* ---- neighbourhoods ---- */

/* Lengths behind `first` integers: of a neighbourhood, then of steps. */
static int neighbours_of(gpuneighbours *n, const ga_routine_call *c,
                         const size_t *image, unsigned int first) {
  size_t lengths[4];
  for (unsigned int i = 0; i < 4; i++) {
    if (c->ints[first + i] < 0)
      return GA_FAIL(GA_VALUE_ERROR, "neighbours: length %lld, expected 1 or more",
                     c->ints[first + i]);
    lengths[i] = (size_t)c->ints[first + i];
  }
  return gpuneighbours_init(n, as_int(c->params[0]), image, lengths, lengths + 2);
}

int ga__run_images_to_neighbours(ga_routine_call *c) {
  const GpuArray *images = c->ins[0];
  gpuneighbours n;
  if (images->nd != 4)
    return GA_FAIL(GA_VALUE_ERROR, "neighbours: images of %u axes, expected 4",
                   images->nd);
  GA_TRY(neighbours_of(&n, c, images->dimensions + 2, 1));
  const size_t dims[] = {images->dimensions[0] * images->dimensions[1] * n.count[0] *
                             n.count[1],
                         n.shape[0] * n.shape[1]};
  GA_TRY(empty_output(c, 2, dims));
  return or_clear(c, GpuArray_images_to_neighbours(c->outs[0], images, &n));
}

int ga__run_neighbours_to_images(ga_routine_call *c) {
  size_t dims[4];
  gpuneighbours n;
  for (unsigned int i = 0; i < 4; i++)
    dims[i] = c->ints[1 + i] < 0 ? 0 : (size_t)c->ints[1 + i];
  GA_TRY(neighbours_of(&n, c, dims + 2, 5));
  GA_TRY(empty_output(c, 4, dims));
  return or_clear(c, GpuArray_neighbours_to_images(c->outs[0], c->ins[0], &n));
}

/* ---- connectionist temporal classification ---- */

int ga__run_ctc(ga_routine_call *c) {
  const GpuArray *activations = c->ins[0];
  const int work = activations->typecode == GA_DOUBLE ? GA_DOUBLE : GA_FLOAT;
  if (activations->nd != 3)
    return GA_FAIL(GA_VALUE_ERROR, "ctc: activations of %u axes, expected 3",
                   activations->nd);
  GA_TRY(GpuArray_empty(c->outs[0], c->context, work, 1, activations->dimensions + 1,
                        GA_C_ORDER));
  if (c->n_out > 1) {
    const int status = empty_like(c, 1, activations, activations->typecode);
    if (status != GA_NO_ERROR)
      return or_clear(c, status);
  }
  return or_clear(c, GpuArray_ctc(c->outs[0], c->n_out > 1 ? c->outs[1] : NULL,
                                  activations, c->ins[1], c->ins[2]));
}

/* ---- pooling ---- */

/* Reads the mode and flags, and after the arrays four integers for each spatial axis:
 * windows, strides, padding before and after. */
static int pool_of(gpupool *p, const ga_routine_call *c, const char *name) {
  const unsigned int n_arrays = count_arrays(c), n = c->n_in - n_arrays;
  gpupool_init(p, n / 4, (gpupool_mode)as_int(c->params[0]), NULL);
  p->flags = as_int(c->params[1]);
  if (n % 4 != 0 || n / 4 > GA_POOL_MAX_AXES)
    return GA_FAIL(GA_VALUE_ERROR, "%s: got %u integers, expected 4, 8 or 12", name, n);
  for (unsigned int i = 0; i < n; i++) {
    static const char *const names[] = {"window", "stride", "padding", "padding"};
    size_t *const lists[] = {p->window, p->stride, p->before, p->after};
    const unsigned int which = i / p->nd, axis = i % p->nd;
    const long long number = c->ints[n_arrays + i], least = which < 2 ? 1 : 0;
    if (number < least)
      return GA_FAIL(GA_VALUE_ERROR,
                     "%s: %s %lld of spatial axis %u, expected %lld or more", name,
                     names[which], number, axis, least);
    lists[which][axis] = (size_t)number;
  }
  return GA_NO_ERROR;
}

/* Makes an array of a result's shape. */
static int empty_pooled(ga_routine_call *c, const gpupool *p, const char *name) {
  const GpuArray *a = c->ins[0];
  size_t dims[GA_MAX_NDIM];
  if (a->nd < p->nd)
    return GA_FAIL(GA_VALUE_ERROR, "%s: an array of %u axes, expected %u or more", name,
                   a->nd, p->nd);
  const unsigned int outer = a->nd - p->nd;
  memcpy(dims, a->dimensions, a->nd * sizeof *dims);
  GA_TRY(gpupool_shape(dims + outer, p, a->dimensions + outer));
  return GpuArray_empty(c->outs[0], c->context, a->typecode, a->nd, dims, GA_C_ORDER);
}

int ga__run_pool(ga_routine_call *c) {
  gpupool p;
  GA_TRY(pool_of(&p, c, "pool"));
  GA_TRY(empty_pooled(c, &p, "pool"));
  return or_clear(c, GpuArray_pool(c->outs[0], c->ins[0], &p));
}

int ga__run_pool_grad(ga_routine_call *c) {
  const bool is_max = count_arrays(c) == 3;
  gpupool p;
  GA_TRY(pool_of(&p, c, "pool_grad"));
  GA_TRY(empty_like(c, 0, c->ins[0], c->ins[0]->typecode));
  return or_clear(c,
                  GpuArray_pool_grad(c->outs[0], c->ins[0], is_max ? c->ins[1] : NULL,
                                     c->ins[is_max ? 2 : 1], &p));
}

int ga__run_pool_at_maxima(ga_routine_call *c) {
  gpupool p;
  GA_TRY(pool_of(&p, c, "pool_at_maxima"));
  GA_TRY(empty_pooled(c, &p, "pool_at_maxima"));
  return or_clear(
      c, GpuArray_pool_at_maxima(c->outs[0], c->ins[0], c->ins[1], c->ins[2], &p));
}

int ga__run_pool_at_first(ga_routine_call *c) {
  gpupool p;
  GA_TRY(pool_of(&p, c, "pool_at_first"));
  GA_TRY(empty_pooled(c, &p, "pool_at_first"));
  return or_clear(c, GpuArray_pool_at_first(c->outs[0], c->ins[0], c->ins[1], &p));
}

/* ---- batch normalisation ---- */

static gpubatchnorm norm_of(const ga_routine_call *c) {
  return (gpubatchnorm){.size = sizeof(gpubatchnorm),
                        .axes = (unsigned int)c->params[0],
                        .epsilon = as_double(c->params[1]),
                        .factor = as_double(c->params[2])};
}

/* Makes results that are like an array, or for NULL statistics of the first input. */
static int empty_results(ga_routine_call *c, unsigned int axes,
                         const GpuArray *const *likes) {
  const GpuArray *x = c->ins[0];
  const int work = x->typecode == GA_DOUBLE ? GA_DOUBLE : GA_FLOAT;
  size_t dims[GA_MAX_NDIM];
  for (unsigned int i = 0; i < x->nd; i++)
    dims[i] = axes >> i & 1 ? 1 : x->dimensions[i];
  int status = GA_NO_ERROR;
  for (unsigned int i = 0; i < c->n_out; i++)
    GA_THEN(status, likes[i] != NULL ? empty_like(c, i, likes[i], likes[i]->typecode)
                                     : GpuArray_empty(c->outs[i], c->context, work,
                                                      x->nd, dims, GA_C_ORDER));
  return status == GA_NO_ERROR ? status : or_clear(c, status);
}

int ga__run_batch_norm_train(ga_routine_call *c) {
  const GpuArray *const *ins = (const GpuArray *const *)c->ins;
  const gpubatchnorm b = norm_of(c);
  const bool has_averages = c->n_in == 5;
  if ((c->n_in != 3 && !has_averages) || c->n_out != c->n_in)
    return GA_FAIL(GA_VALUE_ERROR,
                   "batch_norm_train: %u arrays and %u results, expected 3 or 5",
                   c->n_in, c->n_out);
  const GpuArray *likes[5] = {ins[0], NULL, NULL};
  for (unsigned int i = 3; i < c->n_in; i++)
    likes[i] = ins[i];
  GA_TRY(empty_results(c, b.axes, likes));
  int status = GA_NO_ERROR;
  for (unsigned int i = 3; i < c->n_in; i++)
    GA_THEN(status, GpuArray_move(c->outs[i], ins[i]));
  GA_THEN(status, GpuArray_batch_norm_train(c->outs[0], c->outs[1], c->outs[2],
                                            has_averages ? c->outs[3] : NULL,
                                            has_averages ? c->outs[4] : NULL, ins[0],
                                            ins[1], ins[2], &b));
  return or_clear(c, status);
}

int ga__run_batch_norm(ga_routine_call *c) {
  const GpuArray *const *ins = (const GpuArray *const *)c->ins;
  const gpubatchnorm b = norm_of(c);
  GA_TRY(empty_like(c, 0, ins[0], ins[0]->typecode));
  return or_clear(
      c, GpuArray_batch_norm(c->outs[0], ins[0], ins[1], ins[2], ins[3], ins[4], &b));
}

int ga__run_batch_norm_grad(ga_routine_call *c) {
  const GpuArray *const *ins = (const GpuArray *const *)c->ins;
  const gpubatchnorm b = norm_of(c);
  const GpuArray *const likes[] = {ins[0], ins[2], ins[2]};
  if (c->n_out != 3)
    return GA_FAIL(GA_VALUE_ERROR, "batch_norm_grad: %u results, expected 3", c->n_out);
  GA_TRY(empty_results(c, b.axes, likes));
  return or_clear(c,
                  GpuArray_batch_norm_grad(c->outs[0], c->outs[1], c->outs[2], ins[0],
                                           ins[1], ins[2], ins[3], ins[4], &b));
}

/* ---- upsampling, spatial transformer ---- */

/* Reads `n` lengths, which are the integers behind the arrays. */
static int read_lengths(size_t *dims, unsigned int n, const ga_routine_call *c,
                        const char *name) {
  const unsigned int first = count_arrays(c);
  for (unsigned int i = 0; i < n; i++) {
    if (c->ints[first + i] < 0)
      return GA_FAIL(GA_VALUE_ERROR, "%s: length %lld, expected 0 or more", name,
                     c->ints[first + i]);
    dims[i] = (size_t)c->ints[first + i];
  }
  return GA_NO_ERROR;
}

static int check_axes(const GpuArray *a, unsigned int nd, const char *name) {
  return a->nd == nd ? GA_NO_ERROR
                     : GA_FAIL(GA_VALUE_ERROR, "%s: an array of %u axes, expected %u",
                               name, a->nd, nd);
}

/* Numbers below 1 are none that the library takes. */
static gpuupsampling upsampling_of(const ga_routine_call *c) {
  gpuupsampling u;
  gpuupsampling_init(&u, 0, 0);
  for (int i = 0; i < 2; i++) {
    u.up[i] = c->params[i] < 0 ? 0 : (size_t)c->params[i];
    u.down[i] = c->params[2 + i] < 0 ? 0 : (size_t)c->params[2 + i];
  }
  return u;
}

int ga__run_upsample(ga_routine_call *c) {
  const GpuArray *images = c->ins[0];
  const gpuupsampling u = upsampling_of(c);
  GA_TRY(check_axes(images, 4, "upsample"));
  size_t dims[4] = {images->dimensions[0], images->dimensions[1]};
  GA_TRY(gpuupsampling_shape(dims + 2, &u, images->dimensions + 2));
  GA_TRY(empty_output(c, 4, dims));
  return or_clear(c, GpuArray_upsample(c->outs[0], images, &u));
}

int ga__run_upsample_grad(ga_routine_call *c) {
  const GpuArray *grad = c->ins[0];
  const gpuupsampling u = upsampling_of(c);
  GA_TRY(check_axes(grad, 4, "upsample_grad"));
  size_t dims[4] = {grad->dimensions[0], grad->dimensions[1]};
  GA_TRY(read_lengths(dims + 2, 2, c, "upsample_grad"));
  GA_TRY(empty_output(c, 4, dims));
  return or_clear(c, GpuArray_upsample_grad(c->outs[0], grad, &u));
}

int ga__run_affine_grid(ga_routine_call *c) {
  GA_TRY(check_axes(c->ins[0], 3, "affine_grid"));
  size_t dims[4] = {c->ins[0]->dimensions[0], 0, 0, 2};
  GA_TRY(read_lengths(dims + 1, 2, c, "affine_grid"));
  GA_TRY(empty_output(c, 4, dims));
  return or_clear(c, GpuArray_affine_grid(c->outs[0], c->ins[0]));
}

int ga__run_affine_grid_grad(ga_routine_call *c) {
  GA_TRY(check_axes(c->ins[0], 4, "affine_grid_grad"));
  const size_t dims[] = {c->ins[0]->dimensions[0], 2, 3};
  GA_TRY(empty_output(c, 3, dims));
  return or_clear(c, GpuArray_affine_grid_grad(c->outs[0], c->ins[0]));
}

int ga__run_grid_sample(ga_routine_call *c) {
  const GpuArray *images = c->ins[0], *grid = c->ins[1];
  GA_TRY(check_axes(images, 4, "grid_sample"));
  GA_TRY(check_axes(grid, 4, "grid_sample"));
  const size_t dims[] = {images->dimensions[0], images->dimensions[1],
                         grid->dimensions[1], grid->dimensions[2]};
  GA_TRY(empty_output(c, 4, dims));
  return or_clear(c, GpuArray_grid_sample(c->outs[0], images, grid));
}

int ga__run_grid_sample_grad_images(ga_routine_call *c) {
  const GpuArray *grad = c->ins[1];
  GA_TRY(check_axes(grad, 4, "grid_sample_grad_images"));
  size_t dims[] = {grad->dimensions[0], grad->dimensions[1], 0, 0};
  GA_TRY(read_lengths(dims + 2, 2, c, "grid_sample_grad_images"));
  GA_TRY(empty_output(c, 4, dims));
  return or_clear(c, GpuArray_grid_sample_grad_images(c->outs[0], c->ins[0], grad));
}

int ga__run_grid_sample_grad_grid(ga_routine_call *c) {
  GA_TRY(empty_like(c, 0, c->ins[1], c->ins[1]->typecode));
  return or_clear(
      c, GpuArray_grid_sample_grad_grid(c->outs[0], c->ins[0], c->ins[1], c->ins[2]));
}
