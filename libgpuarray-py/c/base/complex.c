/* Complex arithmetic in the kernel language, added only to programs that mention it. */
#include "c/base/complex.h"

#include <string.h>

static const char functions[] = {
#include "complex.inc"
};

unsigned int ga__complex_widths(const char *body) {
  return (strstr(body, "ga_cfloat") ? GA_HAS_CFLOAT : 0u) |
         (strstr(body, "ga_cdouble") ? GA_HAS_CDOUBLE : 0u);
}

static void add_width(ga_strbuf *out, const char *real, const char *pair,
                      const char *exact) {
  ga__strbuf_addf(out,
                  "\n#define GA_REAL %s\n#define GA_PAIR %s\n#define GA_EXACT(x) %s\n",
                  real, pair, exact);
  ga__strbuf_add(out, functions);
  ga__strbuf_add(out, "#undef GA_REAL\n#undef GA_PAIR\n#undef GA_EXACT\n");
}

void ga__complex_add(ga_strbuf *out, unsigned int widths) {
  if (widths & GA_HAS_CFLOAT)
    add_width(out, "ga_float", "ga_cfloat", "x##f");
  if (widths & GA_HAS_CDOUBLE)
    add_width(out, "ga_double", "ga_cdouble", "x");
}
