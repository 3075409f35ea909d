/* Complex arithmetic in the kernel language, added only to programs that mention it. */
#ifndef GA_C_COMPLEX_H
#define GA_C_COMPLEX_H

#include "c/base/strbuf.h"

/* Which complex types a kernel's text mentions: ga_cfloat, ga_cdouble. */
enum { GA_HAS_CFLOAT = 1, GA_HAS_CDOUBLE = 2 };
unsigned int ga__complex_widths(const char *body);
/* Adds the functions of these types; call it before the first text that mentions
 * one. */
void ga__complex_add(ga_strbuf *out, unsigned int widths);

#endif
