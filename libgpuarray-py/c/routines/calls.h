/* The routines, and what they share. */
#ifndef GA_C_ROUTINES_CALLS_H
#define GA_C_ROUTINES_CALLS_H

#include <string.h>

#include "c/array/array.h"
#include "c/routines/routine.h"

/* Normalizes an axis that may be negative. */
static inline int check_axis(unsigned int *axis, const GpuArray *a, long long number,
                             const char *name) {
  const long long at = number < 0 ? number + (long long)a->nd : number;
  if (at < 0 || at >= (long long)a->nd)
    return GA_FAIL(GA_VALUE_ERROR,
                   "%s: axis %lld is out of range for an array of %u axes", name,
                   number, a->nd);
  *axis = (unsigned int)at;
  return GA_NO_ERROR;
}

/* Saturates: no int beyond is an axis or a flag. */
static inline int as_int(long long number) {
  return number < INT32_MIN || number > INT32_MAX ? INT32_MAX : (int)number;
}

static inline int empty_like(ga_routine_call *c, unsigned int i, const GpuArray *a,
                             int typecode) {
  return GpuArray_empty(c->outs[i], c->context, typecode, a->nd, a->dimensions,
                        GA_C_ORDER);
}

/* Clears the results where computing them failed. */
static inline int or_clear(ga_routine_call *c, int status) {
  for (unsigned int i = 0; status != GA_NO_ERROR && i < c->n_out; i++)
    GpuArray_clear(c->outs[i]);
  return status;
}

/* The number of inputs before the integers. */
static inline unsigned int count_arrays(const ga_routine_call *c) {
  unsigned int n = 0;
  while (n < c->n_in && c->ins[n] != NULL)
    n++;
  return n;
}

/* Bit cast. */
static inline double as_double(long long bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

int ga__source_of_count(ga_source *out, const char *const *texts);
int ga__source_of_rows(ga_source *out, const char *const *texts);
/* Numbers of a gpuconv: nd, groups, flags, then three strides, dilations, and zeros
 * before and after. Of a result five more: whether its only reader is a sum of it (1)
 * or max(0, ) of that (2), and the places of bias, residual, scale and centre among the
 * reader's inputs, from 1 on; 0 where there is none (ga_conv_reader). */
enum { GA_CONV_PARAMS = 15, GA_CONV_RESULT_PARAMS = 20 };

int ga__conv_shape(unsigned int *nd, size_t *dims, const ga_routine_call *c);
int ga__conv_grad_image_shape(unsigned int *nd, size_t *dims, const ga_routine_call *c);
int ga__conv_grad_filters_shape(unsigned int *nd, size_t *dims,
                                const ga_routine_call *c);
bool ga__conv_apart(const ga_routine_call *c);
int ga__map_conv(GpuArray *out, const ga_routine_call *c, const ga_mapping *map);
int ga__map_conv_grad_image(GpuArray *out, const ga_routine_call *c,
                            const ga_mapping *map);
int ga__map_conv_grad_filters(GpuArray *out, const ga_routine_call *c,
                              const ga_mapping *map);

int ga__run_add_at(ga_routine_call *c);
int ga__run_affine_grid(ga_routine_call *c);
int ga__run_affine_grid_grad(ga_routine_call *c);
int ga__run_arange(ga_routine_call *c);
int ga__run_argsort(ga_routine_call *c);
int ga__run_assert(ga_routine_call *c);
int ga__run_assign(ga_routine_call *c);
int ga__run_at_most(ga_routine_call *c);
int ga__run_batch_norm(ga_routine_call *c);
int ga__run_batch_norm_grad(ga_routine_call *c);
int ga__run_batch_norm_train(ga_routine_call *c);
int ga__run_cast(ga_routine_call *c);
int ga__run_contiguous(ga_routine_call *c);
int ga__run_conv(ga_routine_call *c);
int ga__run_conv_grad_filters(ga_routine_call *c);
int ga__run_conv_grad_image(ga_routine_call *c);
int ga__run_ctc(ga_routine_call *c);
int ga__run_diagonal(ga_routine_call *c);
int ga__run_empty(ga_routine_call *c);
int ga__run_extremum(ga_routine_call *c);
int ga__run_fft(ga_routine_call *c);
int ga__run_ger(ga_routine_call *c);
int ga__run_grid_sample(ga_routine_call *c);
int ga__run_grid_sample_grad_grid(ga_routine_call *c);
int ga__run_grid_sample_grad_images(ga_routine_call *c);
int ga__run_images_to_neighbours(ga_routine_call *c);
int ga__run_join(ga_routine_call *c);
int ga__run_kernel(ga_routine_call *c);
int ga__run_length(ga_routine_call *c);
int ga__run_mask(ga_routine_call *c);
int ga__run_matrices(ga_routine_call *c);
int ga__run_neighbours_to_images(ga_routine_call *c);
int ga__run_nonzero(ga_routine_call *c);
int ga__run_pool(ga_routine_call *c);
int ga__run_pool_at_first(ga_routine_call *c);
int ga__run_pool_at_maxima(ga_routine_call *c);
int ga__run_pool_grad(ga_routine_call *c);
int ga__run_product(ga_routine_call *c);
int ga__run_put(ga_routine_call *c);
int ga__run_random(ga_routine_call *c);
int ga__run_require(ga_routine_call *c);
int ga__run_row_products(ga_routine_call *c);
int ga__run_row_totals(ga_routine_call *c);
int ga__run_rows(ga_routine_call *c);
int ga__run_scan(ga_routine_call *c);
int ga__run_search(ga_routine_call *c);
int ga__run_sort(ga_routine_call *c);
int ga__run_sparse_convert(ga_routine_call *c);
int ga__run_sparse_dense(ga_routine_call *c);
int ga__run_sparse_diagonal(ga_routine_call *c);
int ga__run_sparse_match(ga_routine_call *c);
int ga__run_sparse_merge(ga_routine_call *c);
int ga__run_sparse_product(ga_routine_call *c);
int ga__run_sparse_product_add(ga_routine_call *c);
int ga__run_sparse_sample(ga_routine_call *c);
int ga__run_sparse_sampled(ga_routine_call *c);
int ga__run_sparse_solve(ga_routine_call *c);
int ga__run_sparse_sort(ga_routine_call *c);
int ga__run_sparse_sum(ga_routine_call *c);
int ga__run_sparse_take(ga_routine_call *c);
int ga__run_sparse_take_count(ga_routine_call *c);
int ga__run_sparse_spgemm(ga_routine_call *c);
int ga__run_sparse_spgemm_count(ga_routine_call *c);
int ga__run_sparse_unique(ga_routine_call *c);
int ga__run_sparse_unique_count(ga_routine_call *c);
int ga__run_take(ga_routine_call *c);
int ga__run_topk(ga_routine_call *c);
int ga__run_upsample(ga_routine_call *c);
int ga__run_upsample_grad(ga_routine_call *c);
int ga__run_zeros(ga_routine_call *c);

#endif
