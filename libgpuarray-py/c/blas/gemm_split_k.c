/* Split-K: partial products and their sum. */
#include "c/blas/gemm_split_k.h"

#include "c/base/dtype.h"

bool ga__parts_fit(const ga_product *p) {
  return ga__dtype_work(p->typecode) == p->typecode;
}

int ga__parts_new(ga_factor *parts, const ga_product *p, const ga_factor *c, size_t n) {
  const size_t count = c->m * c->n;
  *parts = (ga_factor){
      .m = c->m, .n = c->n, .si = (ssize_t)c->n, .sj = 1, .step = (ssize_t)count};
  return ga__buffer_new(&parts->data, p->context,
                        n * count * gpuarray_get_elsize(p->typecode));
}

int ga__parts_sum(const ga_product *p, const ga_factor *c, const ga_factor *parts,
                  size_t n, const ga_mapping *map) {
  const size_t count = parts->m * parts->n;
  gpukernel *kernel;
  GA_TRY(ga__product_kernel(&kernel, p, GA_PARTS_SUM, map));
  ga_args args;
  args.n = 0;
  ga__args_factor(&args, parts, false);
  ga__args_numbers(&args, 3,
                   (ssize_t[]){(ssize_t)count, (ssize_t)n, (ssize_t)parts->n});
  ga__product_args(&args, p, c, false, map);
  return ga__product_launch(kernel, &args, (size_t[]){ga__ceil_div(count, 128), 1, 1},
                            128, 1);
}
