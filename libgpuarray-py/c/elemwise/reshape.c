/* Reshape: a view where strides permit, else a copy. */
#include <string.h>

#include "c/array/array.h"

/* Metadata of the reshaped view; *fits is false if it needs a copy. */
static int reshape_metadata(GpuArray *view, bool *fits, ga_order *order,
                            const GpuArray *a, unsigned int nd, const size_t *dims) {
  GA_TRY(ga__array_check(a, "reshape"));
  if (nd > GA_MAX_NDIM || (nd > 0 && dims == NULL))
    return GA_FAIL(GA_VALUE_ERROR, "reshape: got %u axes%s, expected at most %d", nd,
                   dims == NULL ? " without dimensions" : "", GA_MAX_NDIM);
  if (*order != GA_ANY_ORDER && *order != GA_C_ORDER && *order != GA_F_ORDER)
    return GA_FAIL(GA_VALUE_ERROR, "reshape: got order %d, expected -1, 0 or 1",
                   (int)*order);
  size_t count;
  int status = ga__shape_count(&count, nd, dims);
  if (status != GA_NO_ERROR)
    return ga__fail_within(status, "reshape");
  if (count != ga__array_count(a)) {
    char text[GA_ARRAY_TEXT], shape[GA_SHAPE_TEXT];
    return GA_FAIL(GA_VALUE_ERROR,
                   "reshape: %s has %zu elements, the new shape %s has %zu",
                   ga__array_text(text, a), ga__array_count(a),
                   ga__shape_text(shape, nd, dims), count);
  }
  if (*order == GA_ANY_ORDER)
    *order =
        GpuArray_ISFORTRAN(a) && !GpuArray_IS_C_CONTIGUOUS(a) ? GA_F_ORDER : GA_C_ORDER;

  size_t itemsize = gpuarray_get_elsize(a->typecode);
  view->data = a->data;
  view->offset = a->offset;
  view->nd = nd;
  view->flags = a->flags;
  view->typecode = a->typecode;
  if (nd > 0)
    memcpy(view->dimensions, dims, nd * sizeof *dims);
  *fits = true;
  bool is_same = nd == a->nd;
  for (unsigned int i = 0; i < nd && is_same; i++)
    is_same = dims[i] == a->dimensions[i];
  if (is_same)
    memcpy(view->strides, a->strides, nd * sizeof *view->strides);
  else if (count > 0)
    *fits = ga__shape_reshape_strides(view->strides, a->nd, a->dimensions, a->strides,
                                      nd, view->dimensions, itemsize, *order);
  else if (*order == GA_F_ORDER)
    ga__shape_f_strides(view->strides, nd, view->dimensions, itemsize);
  else
    ga__shape_c_strides(view->strides, nd, view->dimensions, itemsize);
  return GA_NO_ERROR;
}

static int refuse_copy(const GpuArray *a) {
  char text[GA_ARRAY_TEXT];
  return GA_FAIL(GA_COPY_ERROR,
                 "reshape: the strides of %s need a copy, which nocopy forbids",
                 ga__array_text(text, a));
}

int GpuArray_reshape(GpuArray *res, const GpuArray *a, unsigned int nd,
                     const size_t *newdims, ga_order ord, int nocopy) {
  GpuArray view, copy;
  bool fits = false;
  GA_TRY(reshape_metadata(&view, &fits, &ord, a, nd, newdims));
  if (fits)
    return ga__array_give_view(res, &view, "reshape");
  if (nocopy)
    return refuse_copy(a);
  GA_TRY(GpuArray_copy(&copy, a, ord));
  int status = GpuArray_reshape(res, &copy, nd, newdims, ord, 1);
  GpuArray_clear(&copy);
  return status;
}

int GpuArray_reshape_inplace(GpuArray *a, unsigned int nd, const size_t *newdims,
                             ga_order ord) {
  GpuArray view;
  bool fits = false;
  GA_TRY(reshape_metadata(&view, &fits, &ord, a, nd, newdims));
  if (!fits)
    return refuse_copy(a);
  GpuArray_fix_flags(&view);
  *a = view;
  return GA_NO_ERROR;
}
