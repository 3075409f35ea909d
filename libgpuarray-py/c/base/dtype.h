/* One table of element types: size, alignment, C name, kind. */
#ifndef GA_C_DTYPE_H
#define GA_C_DTYPE_H

#include "c/base/strbuf.h"
#include <gpuarray/util.h>

/* 'b' bool, 'i' signed, 'u' unsigned, 'f' float, 'c' complex, 0 if not a dtype. */
char ga__dtype_kind(int typecode);
/* "float32", for messages; "type 18" if not a dtype. Static or thread-local. */
const char *ga__dtype_name(int typecode);
/* "ga_float", what kernels call it, or the type that they compute with. Static. */
const char *ga__dtype_ctype(int typecode);
const char *ga__dtype_work_ctype(int typecode);
/* "ga_uint", the unsigned type of 1, 2, 4, 8 or 16 bytes, to copy elements by. Static.
 */
const char *ga__dtype_word(size_t bytes);
/* Element size and the alignment of a load (a complex number is loaded in one piece).
 * False if arrays cannot have the type. */
bool ga__dtype_layout(size_t *size, size_t *alignment, int typecode);
/* Accumulation type: the typecode in which a kernel computes; float for half and
 * bfloat16. */
int ga__dtype_work(int typecode);
/* Load and store conversions as C text with '%' for the operand, between the stored
 * type and the work type: "ga_half2float(%)" or "%"; "ga_float2half(%)", "(%) != 0" or
 * "%". Static. */
const char *ga__dtype_load(int typecode);
const char *ga__dtype_store(int typecode);
/* C text of the work type's greatest or least value, infinities where it has them.
 * Static. */
const char *ga__dtype_extreme(int typecode, bool greatest);
/* Cast: adds `text`, of the work type of `from`, converted to the work type of `to` as
 * NumPy's astype does (complex to real drops the imaginary part, to bool compares with
 * 0). `text` may be repeated, so it must have no side effects. */
void ga__dtype_convert(ga_strbuf *out, const char *text, int from, int to);
/* GA_VALUE_ERROR with a text unless arrays can have the type. */
int ga__dtype_check(int typecode, const char *operation);

#endif
