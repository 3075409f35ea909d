/* Source of an FFT pass. */
#include "c/library/fourier_spec.h"
#include "c/library/kernels/fourier.inc"
#include "c/program/kernel_text.h"

int ga__fourier_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  const ga_fourier_spec *s = spec;
  ga_strbuf text = {0};
  (void)ctx;
  ga__strbuf_addf(&text, "#define FOURIER_TYPE %s\n#define FOURIER_INDEX %s\n",
                  ga__dtype_ctype(s->typecode), s->wide ? "ga_ulong" : "ga_uint");
  ga__strbuf_add(&text, fourier_text);
  out->is_closed = true;
  return ga__text_finish_named(out, "fourier", NULL, "#define FOURIER_NAME %\n", &text);
}
