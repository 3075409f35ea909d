/* Type flags, and merging of axes, for users. */
#include <stdarg.h>

#include "c/base/dtype.h"
#include "c/base/shape.h"
#include <gpuarray/elemwise.h>

static int flags_of(int typecode) {
  size_t size = gpuarray_get_elsize(typecode);
  int flags = size > 0 && size < 4 ? GA_USE_SMALL : 0;
  if (typecode == GA_DOUBLE || typecode == GA_CDOUBLE)
    flags |= GA_USE_DOUBLE;
  if (ga__dtype_kind(typecode) == 'c')
    flags |= GA_USE_COMPLEX;
  if (typecode == GA_HALF)
    flags |= GA_USE_HALF;
  return flags;
}

int gpuarray_type_flags(int init, ...) {
  int flags = 0;
  va_list list;
  va_start(list, init);
  for (int typecode = init; typecode != -1; typecode = va_arg(list, int))
    flags |= flags_of(typecode);
  va_end(list);
  return flags;
}

int gpuarray_type_flagsa(unsigned int n, gpuelemwise_arg *arg) {
  int flags = 0;
  for (unsigned int i = 0; arg && i < n; i++)
    flags |= flags_of(arg[i].typecode);
  return flags;
}

void gpuarray_elemwise_collapse(unsigned int n, unsigned int *nd, size_t *dim,
                                ssize_t **strs) {
  if (nd && dim && (strs || n == 0))
    ga__shape_collapse(n, nd, dim, strs);
}
