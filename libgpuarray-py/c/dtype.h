/* One table of element types: size, alignment, C name, kind. */
#ifndef GA_C_DTYPE_H
#define GA_C_DTYPE_H

#include "c/status.h"
#include <gpuarray/util.h>

/* 'b' bool, 'i' signed, 'u' unsigned, 'f' float, 'c' complex, 0 for what is not a
 * dtype. */
char ga__dtype_kind(int typecode);
/* "float32", for messages; "type 17" for what is not a dtype. Static or the thread's.
 */
const char *ga__dtype_name(int typecode);
/* The typecode in which a kernel computes with values of this one: half computes in
 * float. */
int ga__dtype_work(int typecode);
/* Whether arrays of it can be made (GA_VALUE_ERROR with a text if not). */
int ga__dtype_check(int typecode, const char *operation);

#endif
