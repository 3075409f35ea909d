/* GpuArray_maxandargmax: maxima and their positions, into the caller's arrays. */
#include "c/reduce/reduction.h"

static int check_axes(const GpuArray *src, unsigned int n, const unsigned int *list) {
  char text[GA_ARRAY_TEXT];
  unsigned int seen = 0;
  if (src->nd == 0)
    return GA_FAIL(GA_INVALID_ERROR,
                   "maxandargmax: an array of no axes, expected at least one");
  if (list == NULL)
    return ga__fail_null("maxandargmax", "list of axes");
  if (n == 0 || n > src->nd)
    return GA_FAIL(GA_INVALID_ERROR,
                   "maxandargmax: got %u axes to reduce of %s, expected 1 to %u", n,
                   ga__array_text(text, src), src->nd);
  for (unsigned int k = 0; k < n; k++) {
    if (list[k] >= src->nd)
      return GA_FAIL(GA_INVALID_ERROR,
                     "maxandargmax: axis %u of %s, expected one below %u", list[k],
                     ga__array_text(text, src), src->nd);
    if ((seen >> list[k]) & 1)
      return GA_FAIL(GA_INVALID_ERROR, "maxandargmax: axis %u is given twice", list[k]);
    seen |= 1u << list[k];
  }
  return GA_NO_ERROR;
}

/* Shape of the results, as an array without memory. */
static void shape_of_results(GpuArray *shape, const GpuArray *src, unsigned int n,
                             const unsigned int *list) {
  unsigned int seen = 0;
  for (unsigned int k = 0; k < n; k++)
    seen |= 1u << list[k];
  *shape = (GpuArray){.typecode = src->typecode};
  for (unsigned int axis = 0; axis < src->nd; axis++)
    if (!((seen >> axis) & 1))
      shape->dimensions[shape->nd++] = src->dimensions[axis];
}

static int check_output(const GpuArray *dst, const GpuArray *src, const GpuArray *shape,
                        const char *name, bool has_type) {
  char text[GA_ARRAY_TEXT], expected[GA_SHAPE_TEXT];
  GA_TRY(ga__array_check(dst, "maxandargmax"));
  GA_TRY(ga__array_same_context(dst, src, "maxandargmax"));
  GA_TRY(ga__array_writeable(dst, "maxandargmax"));
  if (!has_type)
    return GA_FAIL(GA_VALUE_ERROR,
                   "maxandargmax: the output of the %s is %s, expected %s", name,
                   ga__array_text(text, dst),
                   name[0] == 'm' ? ga__dtype_name(src->typecode) : "int64 or uint64");
  if (!ga__array_same_shape(dst, shape))
    return GA_FAIL(GA_VALUE_ERROR,
                   "maxandargmax: the output of the %s is %s, expected shape %s", name,
                   ga__array_text(text, dst),
                   ga__shape_text(expected, shape->nd, shape->dimensions));
  if (!GpuArray_ISALIGNED(dst))
    return GA_FAIL(
        GA_UNALIGNED_ERROR,
        "maxandargmax: the output of the %s, %s, is not aligned; use a new array", name,
        ga__array_text(text, dst));
  return GA_NO_ERROR;
}

/* Both results, newly allocated. */
static int compute(GpuArray results[2], const GpuArray *src, unsigned int n,
                   const unsigned int *list) {
  GpuReduction *gr;
  GA_TRY(ga__extremum_get(&gr, GpuArray_context(src), src->typecode, false,
                          GA_EXTREMUM_BOTH));
  const void *ins[] = {src};
  return ga__reduction_apply(gr, results, (void *const *)(uintptr_t)ins, n, list, 0);
}

int GpuArray_maxandargmax(GpuArray *dstMax, GpuArray *dstArgmax, const GpuArray *src,
                          unsigned int reduxLen, const unsigned int *reduxList) {
  GpuArray shape, results[2];
  if (dstMax == NULL || dstArgmax == NULL || src == NULL)
    return GA_FAIL(GA_VALUE_ERROR,
                   "maxandargmax: needs two results and an array; got NULL");
  GA_TRY(ga__array_check(src, "maxandargmax"));
  GA_TRY(ga__context_check(GpuArray_context(src)));
  GA_TRY(check_axes(src, reduxLen, reduxList));
  shape_of_results(&shape, src, reduxLen, reduxList);
  GA_TRY(
      check_output(dstMax, src, &shape, "maxima", dstMax->typecode == src->typecode));
  GA_TRY(
      check_output(dstArgmax, src, &shape, "positions",
                   dstArgmax->typecode == GA_LONG || dstArgmax->typecode == GA_ULONG));
  if (GpuArray_share(dstMax, dstArgmax))
    return GA_FAIL(
        GA_VALUE_ERROR,
        "maxandargmax: both outputs are in the same memory, expected separate arrays");
  GA_TRY(compute(results, src, reduxLen, reduxList));
  int status = GpuArray_move(dstMax, &results[0]);
  GA_THEN(status, GpuArray_move(dstArgmax, &results[1]));
  GpuArray_clear(&results[0]);
  GpuArray_clear(&results[1]);
  return status;
}
