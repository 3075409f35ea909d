/* Scan calls: checks, and a copy if the output overlaps the input. */
#include "c/scan/scan.h"

int ga__axis_check(unsigned int *out, const GpuArray *a, int axis,
                   const char *operation) {
  const int nd = (int)a->nd;
  if (nd == 0)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: a 0-d array has no axis; give it one of length 1", operation);
  if (axis < -nd || axis >= nd)
    return GA_FAIL(
        GA_VALUE_ERROR,
        "%s: axis %d is out of range for an array of %d axes; expected %d to %d",
        operation, axis, nd, -nd, nd - 1);
  *out = (unsigned int)(axis < 0 ? axis + nd : axis);
  return GA_NO_ERROR;
}

int GpuScan_call(GpuScan *gs, GpuArray *out, const GpuArray *a, int axis, int flags) {
  unsigned int at = 0;
  char given[GA_ARRAY_TEXT], expected[GA_ARRAY_TEXT];
  if (gs == NULL || out == NULL || a == NULL)
    return GA_FAIL(GA_VALUE_ERROR,
                   "scan: needs a scan, a result and an array; got NULL");
  GA_TRY(ga__context_check(ga__scan_context(gs)));
  GA_TRY(ga__array_fits(a, ga__scan_context(gs), ga__scan_typecode(gs, 0), "scan",
                        "array"));
  GA_TRY(ga__array_fits(out, ga__scan_context(gs), ga__scan_typecode(gs, 1), "scan",
                        "result"));
  GA_TRY(ga__axis_check(&at, a, axis, "scan"));
  GA_TRY(ga__array_writeable(out, "scan"));
  if (flags & ~(GA_SCAN_EXCLUSIVE | GA_SCAN_REVERSE))
    return GA_FAIL(GA_INVALID_ERROR, "scan: flags 0x%x, expected bits of 0x%x",
                   (unsigned int)flags, GA_SCAN_EXCLUSIVE | GA_SCAN_REVERSE);
  if (!ga__array_same_shape(out, a))
    return GA_FAIL(GA_VALUE_ERROR,
                   "scan: the result is %s, the array %s; expected one "
                   "shape",
                   ga__array_text(given, out), ga__array_text(expected, a));
  if (ga__array_count(a) == 0)
    return GA_NO_ERROR;
  if (!GpuArray_share(out, a) || ga__array_same_place(out, a))
    return ga__scan_run(gs, out, a, at, flags);
  GpuArray copy;
  GA_TRY(GpuArray_copy(&copy, a, GA_C_ORDER));
  int status = ga__scan_run(gs, out, &copy, at, flags);
  GpuArray_clear(&copy);
  return status;
}
