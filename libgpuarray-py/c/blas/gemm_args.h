/* Helpers for the arguments and launches of built-in products. */
#ifndef GA_C_GEMM_ARGS_H
#define GA_C_GEMM_ARGS_H

#include "c/base/counts.h"
#include "c/blas/products.h"

static inline bool ga__is_zero(const double factor[2]) {
  return factor[0] == 0 && factor[1] == 0;
}

/* True for a single real product on a GPU, which skinny and split-K kernels require. */
static inline bool ga__product_is_single(const ga_product *p) {
  const bool is_real = p->typecode != GA_CFLOAT && p->typecode != GA_CDOUBLE;
  return !p->context->info.is_cpu && is_real && p->batch == 1 &&
         p->epilogue == GA_BLAS_PLAIN && !ga__is_zero(p->alpha);
}

static inline void ga__args_factor(ga_args *args, const ga_factor *f, bool is_written) {
  ga__args_pointer(args, f->data, f->offset, !is_written);
}

static inline void ga__args_numbers(ga_args *args, size_t n, const ssize_t *numbers) {
  for (size_t i = 0; i < n; i++)
    ga__args_i64(args, numbers[i]);
}

/* alpha, beta, and if c is read. */
static inline void ga__args_scale(ga_args *args, const ga_product *p) {
  ga__args_real(args, p->typecode, p->alpha[0]);
  ga__args_real(args, p->typecode, p->beta[0]);
  ga__args_i32(args, !ga__is_zero(p->beta));
}

static inline int ga__product_launch(gpukernel *kernel, const ga_args *args,
                                     const size_t grid[3], size_t x, size_t y) {
  const ga_launch geometry = {.nd = 3,
                              .grid = {grid[0], grid[1], grid[2]},
                              .block = {x, y, 1},
                              .n_args = args->n,
                              .args = args->list};
  return ga__kernel_launch(kernel, &geometry);
}

#endif
