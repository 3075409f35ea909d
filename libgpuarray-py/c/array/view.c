/* Views of a GpuArray: slices, axes in another order, broadcasts. None
 * allocates device memory or moves an element. */
#include "c/array/array.h"

#include <string.h>

int ga__array_give_view(GpuArray *r, GpuArray *made, const char *operation) {
  if (r == NULL)
    return GA_FAIL(GA_VALUE_ERROR, "%s: got no output array", operation);
  GpuArray_fix_flags(made);
  gpudata_retain(made->data);
  *r = *made;
  return GA_NO_ERROR;
}

/* ---- slices ---- */

/* The length of start:stop:step of an axis of `dim` elements; false if it reaches
 * outside the axis. */
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

/* Slices one axis of the view under construction. */
static int index_axis(GpuArray *made, const GpuArray *a, unsigned int axis,
                      ssize_t start, ssize_t stop, ssize_t step) {
  size_t dim = a->dimensions[axis];
  if (step == 0) {
    if (start < 0 || start >= (ssize_t)dim)
      return GA_FAIL(GA_VALUE_ERROR,
                     "index: %zd is out of bounds for axis %u of length %zu", start,
                     axis, dim);
    made->offset += (size_t)(start * a->strides[axis]);
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
    made->offset += (size_t)(start * a->strides[axis]);
  made->dimensions[made->nd] = length;
  /* An axis of one element is never walked, so a huge step may overflow. */
  if (__builtin_mul_overflow(a->strides[axis], step, &made->strides[made->nd]))
    made->strides[made->nd] = a->strides[axis];
  made->nd++;
  return GA_NO_ERROR;
}

static int index_metadata(GpuArray *made, const GpuArray *a, const ssize_t *starts,
                          const ssize_t *stops, const ssize_t *steps) {
  GA_TRY(ga__array_check(a, "index"));
  if (a->nd > 0 && (starts == NULL || stops == NULL || steps == NULL))
    return GA_FAIL(GA_VALUE_ERROR, "index: got no list of %s, expected %u numbers",
                   starts == NULL  ? "starts"
                   : stops == NULL ? "stops"
                                   : "steps",
                   a->nd);
  made->data = a->data;
  made->offset = a->offset;
  made->nd = 0;
  made->flags = a->flags;
  made->typecode = a->typecode;
  for (unsigned int i = 0; i < a->nd; i++)
    GA_TRY(index_axis(made, a, i, starts[i], stops[i], steps[i]));
  return GA_NO_ERROR;
}

int GpuArray_index(GpuArray *r, const GpuArray *a, const ssize_t *starts,
                   const ssize_t *stops, const ssize_t *steps) {
  GpuArray made;
  GA_TRY(index_metadata(&made, a, starts, stops, steps));
  return ga__array_give_view(r, &made, "index");
}

int GpuArray_index_inplace(GpuArray *a, const ssize_t *starts, const ssize_t *stops,
                           const ssize_t *steps) {
  GpuArray made;
  GA_TRY(index_metadata(&made, a, starts, stops, steps));
  GpuArray_fix_flags(&made);
  *a = made;
  return GA_NO_ERROR;
}

/* ---- axes ---- */

/* Metadata of a view whose axis i is axis pattern[i] of `a`, or new where that is -1.
 */
static int shuffle_metadata(GpuArray *made, const GpuArray *a, unsigned int nd,
                            const int *pattern, const char *operation) {
  if (nd > GA_MAX_NDIM || (nd > 0 && pattern == NULL))
    return GA_FAIL(GA_VALUE_ERROR, "%s: got %u axes%s, expected at most %d", operation,
                   nd, pattern == NULL ? " without a pattern" : "", GA_MAX_NDIM);
  made->data = a->data;
  made->offset = a->offset;
  made->nd = nd;
  made->flags = a->flags;
  made->typecode = a->typecode;
  bool used[GA_MAX_NDIM] = {false};
  for (unsigned int i = 0; i < nd; i++) {
    int axis = pattern[i];
    if (axis < -1 || axis >= (int)a->nd)
      return GA_FAIL(GA_VALUE_ERROR, "%s: got axis %d of an array of %u axes",
                     operation, axis, a->nd);
    if (axis >= 0 && used[axis])
      return GA_FAIL(GA_VALUE_ERROR, "%s: axis %d is named twice", operation, axis);
    if (axis >= 0)
      used[axis] = true;
    made->dimensions[i] = axis < 0 ? 1 : a->dimensions[axis];
    made->strides[i] = axis < 0 ? 0 : a->strides[axis];
  }
  for (unsigned int i = 0; i < a->nd; i++)
    if (!used[i] && a->dimensions[i] != 1)
      return GA_FAIL(GA_VALUE_ERROR,
                     "%s: axis %u of length %zu is left out, only axes of length 1 may "
                     "be",
                     operation, i, a->dimensions[i]);
  return GA_NO_ERROR;
}

static int transpose_metadata(GpuArray *made, const GpuArray *a,
                              const unsigned int *new_axes) {
  GA_TRY(ga__array_check(a, "transpose"));
  int pattern[GA_MAX_NDIM];
  for (unsigned int i = 0; i < a->nd; i++) {
    unsigned int axis = new_axes == NULL ? a->nd - 1 - i : new_axes[i];
    if (axis >= a->nd)
      return GA_FAIL(GA_VALUE_ERROR, "transpose: got axis %u of an array of %u axes",
                     axis, a->nd);
    pattern[i] = (int)axis;
  }
  return shuffle_metadata(made, a, a->nd, pattern, "transpose");
}

int GpuArray_transpose(GpuArray *res, const GpuArray *a, const unsigned int *new_axes) {
  GpuArray made;
  GA_TRY(transpose_metadata(&made, a, new_axes));
  return ga__array_give_view(res, &made, "transpose");
}

int GpuArray_transpose_inplace(GpuArray *a, const unsigned int *new_axes) {
  GpuArray made;
  GA_TRY(transpose_metadata(&made, a, new_axes));
  GpuArray_fix_flags(&made);
  *a = made;
  return GA_NO_ERROR;
}

int GpuArray_dimshuffle(GpuArray *res, const GpuArray *a, unsigned int nd,
                        const int *pattern) {
  GpuArray made;
  GA_TRY(ga__array_check(a, "dimshuffle"));
  GA_TRY(shuffle_metadata(&made, a, nd, pattern, "dimshuffle"));
  return ga__array_give_view(res, &made, "dimshuffle");
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
  GpuArray made;
  made.data = a->data;
  made.offset = a->offset;
  made.nd = nd;
  made.flags = a->flags & ~GA_WRITEABLE;
  made.typecode = a->typecode;
  unsigned int added = nd - a->nd;
  for (unsigned int i = 0; i < nd; i++) {
    size_t own = i < added ? 1 : a->dimensions[i - added];
    if (own != dims[i] && own != 1)
      return GA_FAIL(GA_VALUE_ERROR,
                     "broadcast: %s does not broadcast to %s: axis %u has length %zu, "
                     "expected 1 or %zu",
                     ga__array_text(text, a), ga__shape_text(shape, nd, dims),
                     i - added, own, dims[i]);
    made.dimensions[i] = dims[i];
    made.strides[i] = own != dims[i] || i < added ? 0 : a->strides[i - added];
  }
  return ga__array_give_view(res, &made, "broadcast");
}
