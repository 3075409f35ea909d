/* Geometry of convolutions: lengths, checks and sizes. */
#include "c/convolution/conv_call.h"

void gpuconv_init(gpuconv *c, unsigned int nd) {
  if (c == NULL)
    return;
  *c = (gpuconv){.size = sizeof *c, .nd = nd, .groups = 1};
  for (int i = 0; i < GA_CONV_AXES; i++)
    c->stride[i] = c->dilation[i] = 1;
}

/* ---- geometry ---- */

int ga__conv_check(const gpuconv *c, const char *operation) {
  const int flags =
      GA_CONV_FLIP | GA_CONV_UNSHARED | GA_CONV_HALF | GA_CONV_FULL | GA_CONV_ANY_ORDER;
  GA_TRY(ga__check_filled(c, sizeof *c, operation, "description", "gpuconv_init"));
  if (c->nd < 1 || c->nd > GA_CONV_AXES)
    return GA_FAIL(GA_VALUE_ERROR, "%s: %u spatial axes, expected 1 to %d", operation,
                   c->nd, GA_CONV_AXES);
  if ((c->flags & ~flags) != 0 ||
      ((c->flags & GA_CONV_HALF) != 0 && (c->flags & GA_CONV_FULL) != 0))
    return GA_FAIL(GA_INVALID_ERROR,
                   "%s: flags 0x%x, expected a sum of 0x%x, with half or full padding, "
                   "not both",
                   operation, (unsigned int)c->flags, (unsigned int)flags);
  if (c->groups == 0)
    return GA_FAIL(GA_VALUE_ERROR, "%s: 0 groups, expected 1 or more", operation);
  for (unsigned int i = 0; i < c->nd; i++)
    if (c->stride[i] == 0 || c->dilation[i] == 0)
      return GA_FAIL(
          GA_VALUE_ERROR,
          "%s: stride %zu and dilation %zu of spatial axis %u, expected 1 or "
          "more",
          operation, c->stride[i], c->dilation[i], i);
  return GA_NO_ERROR;
}

/* Limits that keep every sum of a place, a filter's extent and padding far from
 * overflow. */
#define LONGEST ((size_t)1 << 40)

/* Fills in one axis, but for the length of the result, from its lengths. */
static int fill_axis(ga_conv_axis *a, const gpuconv *c, unsigned int axis, size_t image,
                     size_t filter, const char *operation) {
  if (filter == 0)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: filters of length 0 along spatial axis %u, expected 1 or more",
                   operation, axis);
  if (image > LONGEST || filter > LONGEST || c->stride[axis] > LONGEST ||
      c->dilation[axis] > LONGEST / filter || c->before[axis] > LONGEST ||
      c->after[axis] > LONGEST)
    return GA_FAIL(GA_VALUE_ERROR, "%s: spatial axis %u is longer than 2^40 elements",
                   operation, axis);
  const size_t extent = (filter - 1) * c->dilation[axis] + 1;
  const bool half = c->flags & GA_CONV_HALF, full = c->flags & GA_CONV_FULL;
  const size_t both = half ? extent / 2 : extent - 1;
  const size_t before = half || full ? both : c->before[axis];
  const size_t after = half || full ? both : c->after[axis];
  const size_t padded = image + before + after;
  *a = (ga_conv_axis){.image = image,
                      .filter = filter,
                      .stride = c->stride[axis],
                      .dilation = c->dilation[axis],
                      .before = before};
  if (padded < extent)
    return GA_FAIL(
        GA_VALUE_ERROR,
        "%s: filters of extent %zu along spatial axis %u, of %zu elements at "
        "dilation %zu, do not fit an image of %zu with padding %zu and %zu",
        operation, extent, axis, filter, a->dilation, image, before, after);
  a->result = (padded - extent) / a->stride + 1;
  return GA_NO_ERROR;
}

static int fill_axes(ga_conv_axis axes[GA_CONV_AXES], const gpuconv *c,
                     const size_t *image, const size_t *filters,
                     const char *operation) {
  for (unsigned int i = 0; i < GA_CONV_AXES; i++)
    axes[i] = (ga_conv_axis){1, 1, 1, 1, 1, 0};
  for (unsigned int i = 0; i < c->nd; i++)
    GA_TRY(fill_axis(&axes[GA_CONV_AXES - c->nd + i], c, i, image[2 + i],
                     filters[ga__conv_first_axis(c) + i], operation));
  return GA_NO_ERROR;
}

/* Channels and results against groups, and places of unshared filters. */
static int check_channels(const gpuconv *c, const ga_conv_axis axes[GA_CONV_AXES],
                          const size_t *image, const size_t *filters,
                          const char *operation) {
  const size_t channels = filters[ga__conv_first_axis(c) - 1];
  if (image[1] % c->groups != 0 || filters[0] % c->groups != 0)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: %zu channels and %zu filters cannot be split into %u groups",
                   operation, image[1], filters[0], c->groups);
  if (image[1] / c->groups != channels)
    return GA_FAIL(
        GA_VALUE_ERROR,
        "%s: filters of %zu channels, expected %zu: an image of %zu channels "
        "in %u groups",
        operation, channels, image[1] / c->groups, image[1], c->groups);
  for (unsigned int i = 0; c->flags & GA_CONV_UNSHARED && i < c->nd; i++) {
    const size_t places = axes[GA_CONV_AXES - c->nd + i].result;
    if (filters[1 + i] != places)
      return GA_FAIL(GA_VALUE_ERROR,
                     "%s: unshared filters for %zu places along spatial axis %u, "
                     "expected %zu, the length of the result",
                     operation, filters[1 + i], i, places);
  }
  return GA_NO_ERROR;
}

int ga__conv_geometry(ga_conv_axis axes[GA_CONV_AXES], const gpuconv *c,
                      const size_t *image, const size_t *filters,
                      const char *operation) {
  GA_TRY(fill_axes(axes, c, image, filters, operation));
  return check_channels(c, axes, image, filters, operation);
}

int gpuconv_shape(size_t *out, const gpuconv *c, const size_t *image,
                  const size_t *filters) {
  ga_conv_axis axes[GA_CONV_AXES];
  GA_TRY(ga__conv_check(c, "conv"));
  if (out == NULL || image == NULL || filters == NULL)
    return ga__fail_null("conv", "shape");
  GA_TRY(ga__conv_geometry(axes, c, image, filters, "conv"));
  const size_t batch = image[0];
  out[1] = filters[0];
  out[0] = batch;
  for (unsigned int i = 0; i < c->nd; i++)
    out[2 + i] = axes[GA_CONV_AXES - c->nd + i].result;
  return GA_NO_ERROR;
}

/* ---- sizes ---- */

size_t ga__conv_count(const ga_conv *c) {
  size_t n = c->groups * (c->role == GA_CONV_IMAGE ? c->channels : c->results);
  n *= c->role == GA_CONV_FILTERS ? c->channels : c->batch;
  for (int i = 0; i < GA_CONV_AXES; i++) {
    const ga_conv_axis *a = &c->axes[i];
    n *= c->role == GA_CONV_RESULT  ? a->result
         : c->role == GA_CONV_IMAGE ? a->image
                                    : a->filter * (c->is_unshared ? a->result : 1);
  }
  return n;
}

/* Elements between the first and the last along an axis. */
static double distance(size_t n, ssize_t stride) {
  return n > 1 ? (double)(n - 1) * (double)(stride < 0 ? -stride : stride) : 0;
}

static double extent_of(const ga_conv *c, enum ga_conv_role which) {
  const ga_conv_array *const list[] = {&c->result, &c->image, &c->filters};
  const ga_conv_array *a = list[which];
  const size_t channels = c->groups * c->channels, results = c->groups * c->results;
  double n =
      which == GA_CONV_FILTERS
          ? distance(results, a->outer[0]) + distance(c->channels, a->outer[1])
          : distance(c->batch, a->outer[0]) +
                distance(which == GA_CONV_IMAGE ? channels : results, a->outer[1]);
  for (int i = 0; i < GA_CONV_AXES; i++) {
    const ga_conv_axis *x = &c->axes[i];
    n += distance(which == GA_CONV_RESULT  ? x->result
                  : which == GA_CONV_IMAGE ? x->image
                                           : x->filter,
                  a->inner[i]);
    n += which == GA_CONV_FILTERS ? distance(x->result, c->places[i]) : 0;
  }
  return n;
}

/* Numbers of elements and places that kernels count; arrays of stride 0 may be of more
 * than they have memory for. */
static double counted(const ga_conv *c) {
  double n =
      (double)c->batch + (double)c->groups * ((double)c->channels + (double)c->results);
  for (int i = 0; i < GA_CONV_AXES; i++) {
    const ga_conv_axis *x = &c->axes[i];
    n += (double)x->image + (double)x->result * (double)x->stride +
         (double)x->filter * (double)x->dilation + 2 * (double)x->before;
  }
  return n;
}

bool ga__conv_is_narrow(const ga_conv *c) {
  const double most = 1 << 30;
  const double numbers = counted(c);
  return (double)ga__conv_count(c) < most && numbers < most &&
         numbers + extent_of(c, GA_CONV_RESULT) < most &&
         numbers + extent_of(c, GA_CONV_IMAGE) < most &&
         numbers + extent_of(c, GA_CONV_FILTERS) < most;
}
