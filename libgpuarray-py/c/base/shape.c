/* Pure functions of shapes and strides. */
#include "c/base/shape.h"

#include "c/base/dtype.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

int ga__shape_narrow(unsigned int nd, const size_t *dims, const char *operation,
                     const char *advice) {
  for (unsigned int axis = 1; axis < nd; axis++)
    if (dims[axis] > UINT32_MAX)
      return GA_FAIL(GA_XLARGE_ERROR,
                     "%s: a strided axis has %zu elements, too many; %s", operation,
                     dims[axis], advice);
  return GA_NO_ERROR;
}

int ga__shape_count(size_t *out, unsigned int nd, const size_t *dims) {
  size_t count = 1;
  bool too_large = false;
  for (unsigned int i = 0; i < nd; i++) {
    if (dims[i] == 0) {
      *out = 0;
      return GA_NO_ERROR;
    }
    too_large = too_large || count > (size_t)PTRDIFF_MAX / dims[i];
    if (!too_large)
      count *= dims[i];
  }
  if (too_large) {
    char text[GA_SHAPE_TEXT];
    return GA_FAIL(GA_XLARGE_ERROR, "shape %s has more elements than can be addressed",
                   ga__shape_text(text, nd, dims));
  }
  *out = count;
  return GA_NO_ERROR;
}

int ga__shape_bytes(size_t *out, int typecode, unsigned int nd, const size_t *dims) {
  size_t count, itemsize = gpuarray_get_elsize(typecode);
  GA_TRY(ga__shape_count(&count, nd, dims));
  if (count > PTRDIFF_MAX / itemsize) {
    char shape[GA_SHAPE_TEXT];
    return GA_FAIL(
        GA_XLARGE_ERROR,
        "shape %s of %s has more than %td bytes, the most that can be addressed",
        ga__shape_text(shape, nd, dims), ga__dtype_name(typecode), PTRDIFF_MAX);
  }
  *out = count * itemsize;
  return GA_NO_ERROR;
}

void ga__shape_c_strides(ssize_t *strides, unsigned int nd, const size_t *dims,
                         size_t itemsize) {
  size_t stride = itemsize;
  for (unsigned int i = nd; i-- > 0; stride *= dims[i])
    strides[i] = (ssize_t)stride;
}

void ga__shape_f_strides(ssize_t *strides, unsigned int nd, const size_t *dims,
                         size_t itemsize) {
  size_t stride = itemsize;
  for (unsigned int i = 0; i < nd; stride *= dims[i], i++)
    strides[i] = (ssize_t)stride;
}

int ga__shape_broadcast(unsigned int *out_nd, size_t *out, unsigned int nd,
                        const size_t *dims) {
  char ours[GA_SHAPE_TEXT], theirs[GA_SHAPE_TEXT];
  if (nd > GA_MAX_NDIM)
    return GA_FAIL(GA_VALUE_ERROR, "%u axes are more than the %d an array may have", nd,
                   GA_MAX_NDIM);
  unsigned int old_nd = *out_nd, common = old_nd < nd ? old_nd : nd;
  for (unsigned int i = 1; i <= common; i++) {
    size_t have = out[old_nd - i], want = dims[nd - i];
    if (have != want && have != 1 && want != 1)
      return GA_FAIL(GA_VALUE_ERROR,
                     "shapes %s and %s do not broadcast: axis -%u is %zu against %zu",
                     ga__shape_text(ours, old_nd, out),
                     ga__shape_text(theirs, nd, dims), i, have, want);
  }
  if (nd > old_nd) {
    memmove(out + (nd - old_nd), out, old_nd * sizeof *out);
    memcpy(out, dims, (nd - old_nd) * sizeof *out);
    *out_nd = nd;
  }
  for (unsigned int i = 1; i <= common; i++)
    if (out[*out_nd - i] == 1)
      out[*out_nd - i] = dims[nd - i];
  return GA_NO_ERROR;
}

static void move_axis(unsigned int n, size_t *dims, ssize_t *const *strides,
                      unsigned int to, unsigned int from) {
  dims[to] = dims[from];
  for (unsigned int k = 0; k < n; k++)
    if (strides[k])
      strides[k][to] = strides[k][from];
}

/* True if in every operand the adjacent axes `outer` and `inner` can be merged into
 * one. */
static bool is_mergeable(unsigned int n, const size_t *dims, ssize_t *const *strides,
                         unsigned int outer, unsigned int inner) {
  for (unsigned int k = 0; k < n; k++)
    if (strides[k] && strides[k][outer] != (ssize_t)dims[inner] * strides[k][inner])
      return false;
  return true;
}

void ga__shape_collapse(unsigned int n, unsigned int *nd, size_t *dims,
                        ssize_t *const *strides) {
  unsigned int kept = 0;
  for (unsigned int i = 0; i < *nd; i++) {
    bool last_chance = i + 1 == *nd && kept == 0;
    if (dims[i] == 1 && !last_chance)
      continue;
    move_axis(n, dims, strides, kept, i);
    if (kept > 0 && is_mergeable(n, dims, strides, kept - 1, kept)) {
      size_t merged = dims[kept - 1] * dims[kept];
      move_axis(n, dims, strides, kept - 1, kept);
      dims[kept - 1] = merged;
    } else {
      kept++;
    }
  }
  *nd = kept;
}

/* The i-th axis, counted from the fastest-varying one. */
static unsigned int fastest(unsigned int i, unsigned int nd, ga_order order) {
  return order == GA_F_ORDER ? i : nd - 1 - i;
}

/* NumPy's strides for axes of length 1 in C order: the stride of the next inner axis,
 * if a longer axis stands before them. */
static void set_unit_axis_strides(ssize_t *strides, unsigned int nd,
                                  const size_t *dims) {
  bool is_before = false;
  for (unsigned int i = nd; i-- > 0;) {
    if (dims[i] != 1)
      is_before = true;
    else if (is_before)
      strides[i] = (ssize_t)dims[i + 1] * strides[i + 1];
  }
}

/* Groups old and new axes, from the fastest on, into the shortest runs of equal
 * products; the old axes of a run must be contiguous in one another. */
bool ga__shape_reshape_strides(ssize_t *new_strides, unsigned int nd,
                               const size_t *dims, const ssize_t *strides,
                               unsigned int new_nd, const size_t *new_dims,
                               size_t itemsize, ga_order order) {
  size_t old_dim[GA_MAX_NDIM];
  ssize_t old_stride[GA_MAX_NDIM];
  unsigned int n_old = 0;
  bool empty = false;
  for (unsigned int i = 0; i < nd; i++) {
    unsigned int axis = fastest(i, nd, order);
    empty = empty || dims[axis] == 0;
    if (dims[axis] != 1) {
      old_dim[n_old] = dims[axis];
      old_stride[n_old++] = strides[axis];
    }
  }
  if (empty || n_old == 0) {
    if (order == GA_F_ORDER)
      ga__shape_f_strides(new_strides, new_nd, new_dims, itemsize);
    else
      ga__shape_c_strides(new_strides, new_nd, new_dims, itemsize);
    return true;
  }

  ssize_t stride = old_stride[0];
  unsigned int i = 0, j = 0;
  while (i < n_old && j < new_nd) {
    unsigned int first_new = j;
    stride = old_stride[i];
    size_t old_product = old_dim[i++];
    size_t new_product = new_dims[fastest(j++, new_nd, order)];
    while (old_product != new_product) {
      if (new_product < old_product) {
        if (j == new_nd)
          return false;
        new_product *= new_dims[fastest(j++, new_nd, order)];
      } else {
        if (i == n_old || old_stride[i] != (ssize_t)old_dim[i - 1] * old_stride[i - 1])
          return false;
        old_product *= old_dim[i++];
      }
    }
    for (; first_new < j; first_new++) {
      unsigned int axis = fastest(first_new, new_nd, order);
      new_strides[axis] = stride;
      stride *= (ssize_t)new_dims[axis];
    }
  }
  for (; j < new_nd; j++) /* the rest has length 1 */
    new_strides[fastest(j, new_nd, order)] = stride;
  if (order != GA_F_ORDER)
    set_unit_axis_strides(new_strides, new_nd, new_dims);
  return i == n_old;
}

/* Adds length * stride to *sum; saturates. */
static void add_reach(ptrdiff_t *sum, size_t length, ptrdiff_t stride) {
  ptrdiff_t limit = stride < 0 ? PTRDIFF_MIN : PTRDIFF_MAX, reach;
  if (length > (size_t)PTRDIFF_MAX ||
      __builtin_mul_overflow((ptrdiff_t)length, stride, &reach) ||
      __builtin_add_overflow(*sum, reach, sum))
    *sum = limit;
}

void ga__shape_extent(ptrdiff_t *low, ptrdiff_t *high, unsigned int nd,
                      const size_t *dims, const ssize_t *strides, size_t itemsize) {
  *low = *high = 0;
  for (unsigned int i = 0; i < nd; i++)
    if (dims[i] == 0)
      return;
  for (unsigned int i = 0; i < nd; i++)
    if (dims[i] > 1)
      add_reach(strides[i] < 0 ? low : high, dims[i] - 1, strides[i]);
  add_reach(high, 1, (ptrdiff_t)itemsize);
}

const char *ga__shape_text(char out[GA_SHAPE_TEXT], unsigned int nd,
                           const size_t *dims) {
  size_t used = 1;
  strcpy(out, "(");
  for (unsigned int i = 0; i < nd; i++) {
    char dim[32];
    int length = snprintf(dim, sizeof dim, i ? ", %zu" : "%zu", dims[i]);
    if (used + (size_t)length + sizeof ", ...)" > GA_SHAPE_TEXT) {
      strcpy(out + used, ", ...)");
      return out;
    }
    strcpy(out + used, dim);
    used += (size_t)length;
  }
  strcpy(out + used, nd == 1 ? ",)" : ")");
  return out;
}
