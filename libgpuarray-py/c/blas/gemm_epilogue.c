/* GEMM with a fused elementwise epilogue. */
#include "c/blas/gemm_epilogue.h"

#include "c/blas/gemm_deep.h"
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
  const ga_division way = ga__product_division(p);
  return (way.terms > 0 || way.deep != GA_BLAS_KIND_COUNT) &&
         !ga__product_is_vendored(p);
}

int ga__product_mapped(const ga_product *p, const ga_mapping *map) {
  const ga_sides s = ga__sides_of(p);
  if (s.is_outer)
    return ga__product_outer(p, &s, map);
  const ga_division way = ga__product_division(p);
  return way.deep != GA_BLAS_KIND_COUNT ? ga__product_deep(p, way.deep, map)
                                        : ga__product_in_parts(p, way.terms, map);
}
