/* Views: slices, transposes, broadcasts. No device memory, no element is moved. */
#include "c/array/array.h"

#include <string.h>

int ga__array_give_view(GpuArray *r, GpuArray *view, const char *operation) {
  if (r == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "%s: got no output array", operation);
  GpuArray_fix_flags(view);
  gpudata_retain(view->data);
  *r = *view;
  return GA_NO_ERROR;
}

/* ---- slices ---- */

/* Length of start:stop:step on an axis of `dim` elements; false if out of range. */
static bool slice_length(size_t *length, size_t dim, ssize_t start, ssize_t stop,
                         ssize_t step) {
  ssize_t end = (ssize_t)dim;
  if (start < -1 || start > end || stop < -1 || stop > end)
    return false;
  if (step > 0 && start == -1)
    return false;
  if ((stop - start) / step < 0)
    return false;
  bool forward = step > 0 ? stop > start : stop < start;
  if (!forward) {
    *length = 0;
    return true;
  }
  size_t distance = (size_t)(step > 0 ? stop - start : start - stop);
  size_t stride = step > 0 ? (size_t)step : 0 - (size_t)step;
  *length = (distance - 1) / stride + 1;
  return step > 0 || start < end;
}

/* Slices one axis. */
static int index_axis(GpuArray *view, const GpuArray *a, unsigned int axis,
                      ssize_t start, ssize_t stop, ssize_t step) {
  size_t dim = a->dimensions[axis];
  if (step == 0) {
    if (start < 0 || start >= (ssize_t)dim)
      return GA_FAIL(GA_VALUE_ERROR,
                     "index: %zd is out of bounds for axis %u of length %zu", start,
                     axis, dim);
    view->offset += (size_t)(start * a->strides[axis]);
    return GA_NO_ERROR;
  }
  size_t length;
  if (!slice_length(&length, dim, start, stop, step))
    return GA_FAIL(GA_VALUE_ERROR,
                   "index: the slice (%zd, %zd, %zd) does not fit axis %u of length "
                   "%zu; start and stop are counted from the front, and a step away "
                   "from stop is refused",
                   start, stop, step, axis, dim);
  if (length > 0)
    view->offset += (size_t)(start * a->strides[axis]);
  view->dimensions[view->nd] = length;
  /* A single element's stride is never used, so an overflow is harmless. */
  if (__builtin_mul_overflow(a->strides[axis], step, &view->strides[view->nd]))
    view->strides[view->nd] = a->strides[axis];
  view->nd++;
  return GA_NO_ERROR;
}

static int index_metadata(GpuArray *view, const GpuArray *a, const ssize_t *starts,
                          const ssize_t *stops, const ssize_t *steps) {
  GA_TRY(ga__array_check(a, "index"));
  if (a->nd > 0 && (starts == NULL || stops == NULL || steps == NULL))
    return GA_FAIL(GA_VALUE_ERROR, "index: got no list of %s, expected %u numbers",
                   starts == NULL  ? "starts"
                   : stops == NULL ? "stops"
                                   : "steps",
                   a->nd);
  view->data = a->data;
  view->offset = a->offset;
  view->nd = 0;
  view->flags = a->flags;
  view->typecode = a->typecode;
  for (unsigned int i = 0; i < a->nd; i++)
    GA_TRY(index_axis(view, a, i, starts[i], stops[i], steps[i]));
  return GA_NO_ERROR;
}

int GpuArray_index(GpuArray *r, const GpuArray *a, const ssize_t *starts,
                   const ssize_t *stops, const ssize_t *steps) {
  GpuArray view;
  GA_TRY(index_metadata(&view, a, starts, stops, steps));
  return ga__array_give_view(r, &view, "index");
}

int GpuArray_index_inplace(GpuArray *a, const ssize_t *starts, const ssize_t *stops,
                           const ssize_t *steps) {
  GpuArray view;
  GA_TRY(index_metadata(&view, a, starts, stops, steps));
  GpuArray_fix_flags(&view);
  *a = view;
  return GA_NO_ERROR;
}

/* ---- axes ---- */

/* Metadata of a transpose: axis i is axis pattern[i] of `a`, or a new one for -1. */
static int shuffle_metadata(GpuArray *view, const GpuArray *a, unsigned int nd,
                            const int *pattern, const char *operation) {
  if (nd > GA_MAX_NDIM || (nd > 0 && pattern == NULL))
    return GA_FAIL(GA_VALUE_ERROR, "%s: got %u axes%s, expected at most %d", operation,
                   nd, pattern == NULL ? " without a pattern" : "", GA_MAX_NDIM);
  view->data = a->data;
  view->offset = a->offset;
  view->nd = nd;
  view->flags = a->flags;
  view->typecode = a->typecode;
  bool used[GA_MAX_NDIM] = {false};
  for (unsigned int i = 0; i < nd; i++) {
    int axis = pattern[i];
    if (axis < -1 || axis >= (int)a->nd)
      return GA_FAIL(GA_VALUE_ERROR,
                     "%s: axis %d is out of range for an array of %u axes", operation,
                     axis, a->nd);
    if (axis >= 0 && used[axis])
      return GA_FAIL(GA_VALUE_ERROR,
                     "%s: axis %d is given twice, expected each axis once", operation,
                     axis);
    if (axis >= 0)
      used[axis] = true;
    view->dimensions[i] = axis < 0 ? 1 : a->dimensions[axis];
    view->strides[i] = axis < 0 ? 0 : a->strides[axis];
  }
  for (unsigned int i = 0; i < a->nd; i++)
    if (!used[i] && a->dimensions[i] != 1)
      return GA_FAIL(
          GA_VALUE_ERROR,
          "%s: axis %u of length %zu is dropped; only axes of length 1 can be dropped",
          operation, i, a->dimensions[i]);
  return GA_NO_ERROR;
}

static int transpose_metadata(GpuArray *view, const GpuArray *a,
                              const unsigned int *new_axes) {
  GA_TRY(ga__array_check(a, "transpose"));
  int pattern[GA_MAX_NDIM];
  for (unsigned int i = 0; i < a->nd; i++) {
    unsigned int axis = new_axes == NULL ? a->nd - 1 - i : new_axes[i];
    if (axis >= a->nd)
      return GA_FAIL(GA_VALUE_ERROR,
                     "transpose: axis %u is out of range for an array of %u axes", axis,
                     a->nd);
    pattern[i] = (int)axis;
  }
  return shuffle_metadata(view, a, a->nd, pattern, "transpose");
}

int GpuArray_transpose(GpuArray *res, const GpuArray *a, const unsigned int *new_axes) {
  GpuArray view;
  GA_TRY(transpose_metadata(&view, a, new_axes));
  return ga__array_give_view(res, &view, "transpose");
}

int GpuArray_transpose_inplace(GpuArray *a, const unsigned int *new_axes) {
  GpuArray view;
  GA_TRY(transpose_metadata(&view, a, new_axes));
  GpuArray_fix_flags(&view);
  *a = view;
  return GA_NO_ERROR;
}

int GpuArray_dimshuffle(GpuArray *res, const GpuArray *a, unsigned int nd,
                        const int *pattern) {
  GpuArray view;
  GA_TRY(ga__array_check(a, "dimshuffle"));
  GA_TRY(shuffle_metadata(&view, a, nd, pattern, "dimshuffle"));
  return ga__array_give_view(res, &view, "dimshuffle");
}

int GpuArray_broadcast_to(GpuArray *res, const GpuArray *a, unsigned int nd,
                          const size_t *dims) {
  GA_TRY(ga__array_check(a, "broadcast"));
  char text[GA_ARRAY_TEXT], shape[GA_SHAPE_TEXT];
  if (nd > GA_MAX_NDIM || (nd > 0 && dims == NULL) || nd < a->nd)
    return GA_FAIL(GA_VALUE_ERROR,
                   "broadcast: got %u axes%s for %s, expected at least its own and at "
                   "most %d",
                   nd, nd > 0 && dims == NULL ? " without dimensions" : "",
                   ga__array_text(text, a), GA_MAX_NDIM);
  size_t bytes;
  int status = ga__shape_bytes(&bytes, a->typecode, nd, dims);
  if (status != GA_NO_ERROR)
    return ga__fail_within(status, "broadcast");
  GpuArray view;
  view.data = a->data;
  view.offset = a->offset;
  view.nd = nd;
  view.flags = a->flags & ~GA_WRITEABLE;
  view.typecode = a->typecode;
  unsigned int added = nd - a->nd;
  for (unsigned int i = 0; i < nd; i++) {
    size_t own = i < added ? 1 : a->dimensions[i - added];
    if (own != dims[i] && own != 1)
      return GA_FAIL(GA_VALUE_ERROR,
                     "broadcast: %s does not broadcast to %s: axis %u has length %zu, "
                     "expected 1 or %zu",
                     ga__array_text(text, a), ga__shape_text(shape, nd, dims),
                     i - added, own, dims[i]);
    view.dimensions[i] = dims[i];
    view.strides[i] = own != dims[i] || i < added ? 0 : a->strides[i - added];
  }
  return ga__array_give_view(res, &view, "broadcast");
}
