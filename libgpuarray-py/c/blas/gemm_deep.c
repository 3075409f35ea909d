/* DEEP GEMM: few tiles with many terms, which the teams of a group share. */
#include "c/blas/gemm_deep.h"

int ga__product_deep(const ga_product *p, enum ga_blas_kind kind,
                     const ga_mapping *map) {
  const ga_blas_shape s = ga__blas_shape(p->context, kind, p->typecode);
  const size_t tiles = ga__ceil_div(p->c.m, s.rows) * ga__ceil_div(p->c.n, s.columns);
  const size_t terms = ga__is_zero(p->alpha) ? 0 : p->a.n;
  gpukernel *kernel;
  GA_TRY(ga__product_kernel(&kernel, p, kind, map));
  ga_args args;
  args.n = 0;
  ga__args_factor(&args, &p->a, false);
  ga__args_factor(&args, &p->b, false);
  ga__args_numbers(&args, 7,
                   (ssize_t[]){(ssize_t)p->c.m, (ssize_t)p->c.n, (ssize_t)terms,
                               p->a.si, p->a.sj, p->b.si, p->b.sj});
  ga__product_args(&args, p, &p->c, false, map);
  const ga_launch launch = {.nd = 1,
                            .grid = {tiles},
                            .block = {s.items},
                            .shared = s.local * sizeof(float),
                            .n_args = args.n,
                            .args = args.list};
  return ga__kernel_launch(kernel, &launch);
}
