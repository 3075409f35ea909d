/* Split into views along an axis, and concatenation. */
#include "c/array/array.h"

/* ---- split ---- */

static int check_points(const GpuArray *a, size_t n, const size_t *p,
                        unsigned int axis) {
  char text[GA_ARRAY_TEXT];
  if (axis >= a->nd)
    return GA_FAIL(GA_VALUE_ERROR, "split: axis %u is out of range for %s of %u axes",
                   axis, ga__array_text(text, a), a->nd);
  for (size_t i = 0; i < n; i++) {
    if (i > 0 && p[i] < p[i - 1])
      return GA_FAIL(GA_VALUE_ERROR,
                     "split: point %zu is %zu, after %zu; points must ascend", i, p[i],
                     p[i - 1]);
    if (p[i] > a->dimensions[axis])
      return GA_FAIL(GA_VALUE_ERROR, "split: point %zu is %zu, beyond axis %u of %s", i,
                     p[i], axis, ga__array_text(text, a));
  }
  return GA_NO_ERROR;
}

int GpuArray_split(GpuArray **rs, const GpuArray *a, size_t n, size_t *p,
                   unsigned int axis) {
  GA_TRY(ga__array_check(a, "split"));
  if (rs == NULL || (n > 0 && p == NULL))
    return GA_FAIL(GA_VALUE_ERROR, "split: got no %s",
                   rs == NULL ? "output arrays" : "points");
  for (size_t i = 0; i <= n; i++)
    if (rs[i] == NULL)
      return GA_FAIL(GA_VALUE_ERROR, "split: got no array for part %zu of %zu", i,
                     n + 1);
  GA_TRY(check_points(a, n, p, axis));
  GpuArray whole = *a; /* a part may be `a` itself */
  for (size_t i = 0; i <= n; i++) {
    size_t start = i == 0 ? 0 : p[i - 1];
    size_t stop = i == n ? whole.dimensions[axis] : p[i];
    GpuArray part = whole;
    part.dimensions[axis] = stop - start;
    if (stop > start)
      part.offset += start * (size_t)whole.strides[axis];
    GpuArray_fix_flags(&part);
    gpudata_retain(part.data);
    *rs[i] = part;
  }
  return GA_NO_ERROR;
}

/* ---- concatenate ---- */

/* Checks that array `i` matches the first; adds its length to *length. */
static int check_piece(size_t *length, const GpuArray *const *as, size_t i,
                       unsigned int axis) {
  char text[GA_ARRAY_TEXT], first[GA_ARRAY_TEXT];
  GA_TRY(ga__array_check(as[i], "concatenate"));
  GA_TRY(ga__array_same_context(as[0], as[i], "concatenate"));
  const GpuArray *a = as[i];
  if (axis >= a->nd)
    return GA_FAIL(GA_VALUE_ERROR,
                   "concatenate: axis %u is out of range for array %zu, %s, of %u axes",
                   axis, i, ga__array_text(text, a), a->nd);
  bool fits = a->nd == as[0]->nd;
  for (unsigned int k = 0; fits && k < a->nd; k++)
    fits = k == axis || a->dimensions[k] == as[0]->dimensions[k];
  if (!fits)
    return GA_FAIL(GA_VALUE_ERROR,
                   "concatenate: array %zu is %s, expected %s but for the length of "
                   "axis %u",
                   i, ga__array_text(text, a), ga__array_text(first, as[0]), axis);
  if (__builtin_add_overflow(*length, a->dimensions[axis], length))
    return GA_FAIL(
        GA_XLARGE_ERROR,
        "concatenate: axis %u would have more elements than can be addressed", axis);
  return GA_NO_ERROR;
}

/* Moves the arrays to their offsets along `axis` of `r`. */
static int fill_pieces(const GpuArray *r, const GpuArray *const *as, size_t n,
                       unsigned int axis) {
  GpuArray part = *r;
  for (size_t i = 0; i < n; i++) {
    part.dimensions[axis] = as[i]->dimensions[axis];
    GpuArray_fix_flags(&part);
    GA_TRY(GpuArray_move(&part, as[i]));
    part.offset += part.dimensions[axis] * (size_t)part.strides[axis];
  }
  return GA_NO_ERROR;
}

int GpuArray_concatenate(GpuArray *r, const GpuArray **as, size_t n, unsigned int axis,
                         int restype) {
  if (r == NULL || as == NULL || n == 0)
    return GA_FAIL(GA_VALUE_ERROR, "concatenate: got no %s",
                   r == NULL ? "output array" : "arrays");
  size_t length = 0;
  for (size_t i = 0; i < n; i++)
    GA_TRY(check_piece(&length, as, i, axis));
  size_t dims[GA_MAX_NDIM];
  for (unsigned int k = 0; k < as[0]->nd; k++)
    dims[k] = k == axis ? length : as[0]->dimensions[k];
  GpuArray joined;
  int status = GpuArray_empty(&joined, as[0]->data->context, restype, as[0]->nd, dims,
                              GA_C_ORDER);
  if (status == GA_NO_ERROR) {
    status = fill_pieces(&joined, as, n, axis);
    if (status != GA_NO_ERROR)
      GpuArray_clear(&joined);
  }
  if (status != GA_NO_ERROR)
    return ga__fail_within(status, "concatenate");
  *r = joined;
  return GA_NO_ERROR;
}
