/* One table of element types: size, alignment, C name, kind. */
#ifndef GA_C_DTYPE_H
#define GA_C_DTYPE_H

#include "c/base/strbuf.h"
#include <gpuarray/util.h>

/* 'b' bool, 'i' signed, 'u' unsigned, 'f' float, 'c' complex, 0 for what is not a
 * dtype. */
char ga__dtype_kind(int typecode);
/* "float32", for messages; "type 18" for what is not a dtype. Static or the thread's.
 */
const char *ga__dtype_name(int typecode);
/* The size of an element and how kernels load one (complex numbers in one piece); false
 * for what is not the type of an array. */
bool ga__dtype_layout(size_t *size, size_t *alignment, int typecode);
/* The typecode in which a kernel computes with values of this one: half and bfloat16
 * compute in float. */
int ga__dtype_work(int typecode);
/* C texts with one '%' for an operand: the value, of the work type, of a stored element
 * ("ga_half2float(%)" or "%"), and what to store for a value of the work type
 * ("ga_float2half(%)", "(%) != 0" or "%"). Static. */
const char *ga__dtype_load(int typecode);
const char *ga__dtype_store(int typecode);
/* The C text of the work type's greatest value, or of its least; infinities where there
 * are. Static. */
const char *ga__dtype_extreme(int typecode, bool greatest);
/* Adds `text`, a value of the work type of `from`, converted to the work type of `to`
 * as NumPy's astype does (complex to real drops the imaginary part, to bool compares
 * with 0). `text` may be used twice: it is a name or has no side effects. */
void ga__dtype_convert(ga_strbuf *out, const char *text, int from, int to);
/* Whether arrays of it can be made (GA_VALUE_ERROR with a text if not). */
int ga__dtype_check(int typecode, const char *operation);

#endif
