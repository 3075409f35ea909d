/* Source generator of factorization kernels. */
#include "c/library/kernels/cholesky.inc"
#include "c/library/kernels/det.inc"
#include "c/library/kernels/eig.inc"
#include "c/library/kernels/eigh.inc"
#include "c/library/kernels/expm.inc"
#include "c/library/kernels/qr.inc"
#include "c/library/kernels/solve.inc"
#include "c/library/kernels/svd.inc"
#include "c/library/matrices_spec.h"
#include "c/program/kernel_text.h"

int ga__matrices_source(ga_source *out, const gpucontext *ctx, const void *spec) {
  static const char *const texts[] = {[GA_MATRICES_SOLVE] = solve_text,
                                      [GA_MATRICES_DET] = det_text,
                                      [GA_MATRICES_CHOLESKY] = cholesky_text,
                                      [GA_MATRICES_QR] = qr_text,
                                      [GA_MATRICES_EIGH] = eigh_text,
                                      [GA_MATRICES_SVD] = svd_text,
                                      [GA_MATRICES_PINV] = svd_text,
                                      [GA_MATRICES_EXPM] = expm_text,
                                      [GA_MATRICES_EIG] = eig_text};
  const ga_matrices_spec *s = spec;
  const int real = ga__matrices_real(s->typecode);
  ga_strbuf text = {0};
  (void)ctx;
  ga__strbuf_addf(&text, "#define MX_TYPE %s\n#define MX_REAL %s\n",
                  ga__dtype_ctype(s->typecode), ga__dtype_ctype(real));
  /* MX_EPSILON: machine epsilon */
  ga__strbuf_addf(&text,
                  "#define MX_EPSILON (R)%s\n#define MX_IS_COMPLEX %d\n"
                  "#define MX_IS_INVERSE %d\n#define MX_KERNEL KERNEL\n",
                  real == GA_DOUBLE ? "2.220446049250313e-16" : "1.1920929e-7f",
                  ga__dtype_kind(s->typecode) == 'c', s->kind == GA_MATRICES_PINV);
  ga__strbuf_add(&text, texts[s->kind]);
  out->is_closed = true;
  return ga__text_finish_named(out, "matrices", NULL, "#define MX_NAME %\n", &text);
}
