/* GEMM with a fused elementwise epilogue. */
#include "c/blas/gemm_epilogue.h"

#include "c/blas/gemm_heuristic.h"
#include "c/blas/gemm_sides.h"
#include "c/blas/gemm_split_k.h"

bool ga__product_is_mapped(const ga_product *p) {
  const ga_sides s = ga__sides_of(p);
  if (p->c.m == 0 || p->c.n == 0 || ga__product_is_vendors(p) ||
      !ga__product_is_single(p))
    return false;
  if (ga__sides_fit(p, &s))
    return s.is_outer;
  return ga__product_terms(p) > 0 && !ga__product_is_vendored(p);
}

int ga__product_mapped(const ga_product *p, const ga_mapping *map) {
  const ga_sides s = ga__sides_of(p);
  return s.is_outer ? ga__product_outer(p, &s, map)
                    : ga__product_in_parts(p, ga__product_terms(p), map);
}
