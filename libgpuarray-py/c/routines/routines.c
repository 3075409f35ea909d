/* Table of the library's routines that plans call by name. */
#include "c/reduce/rows_call.h"
#include "c/routines/calls.h"
#include "c/routines/kernel_routine.h"

static const ga_routine routines[] = {
    {"sort", "a", 2, 0, 1, -1, ga__run_sort, NULL},
    {"argsort", "a", 2, 0, 1, -1, ga__run_argsort, NULL},
    {"topk", "ai", 2, 0, 2, -1, ga__run_topk, NULL},
    {"scan", "a", 3, 0, 1, -1, ga__run_scan, NULL},
    {"extremum", "a", 3, 0, 0, -1, ga__run_extremum, NULL},
    {"join", "a+", 1, 0, 1, -1, ga__run_join, NULL},
    {"take", "aa+", 1, 0, 1, -1, ga__run_take, NULL},
    {"nonzero", "a", 0, 0, 1, -1, ga__run_nonzero, NULL},
    {"put", "aaa+", 1, 0, 1, 0, ga__run_put, NULL},
    {"add_at", "aaa+", 1, 0, 1, 0, ga__run_add_at, NULL},
    {"assign", "aa", 0, 0, 1, 0, ga__run_assign, NULL},
    {"product", "aaa", 7, 0, 1, 2, ga__run_product, NULL},
    {"searchsorted", "aa", 1, 0, 1, -1, ga__run_search, NULL},
    {"matrices", "a+", 3, 1, 0, -1, ga__run_matrices, NULL},
    {"fft", "ai", 2, 0, 1, -1, ga__run_fft, NULL},
    {"conv", "aa", GA_CONV_RESULT_PARAMS, 0, 1, -1, ga__run_conv, NULL},
    {"conv_grad_image", "aai*", GA_CONV_PARAMS, 0, 1, -1, ga__run_conv_grad_image,
     NULL},
    {"conv_grad_filters", "aai*", GA_CONV_PARAMS, 0, 1, -1, ga__run_conv_grad_filters,
     NULL},
    {"images_to_neighbours", "aiiii", 1, 0, 1, -1, ga__run_images_to_neighbours, NULL},
    {"neighbours_to_images", "aiiiiiiii", 1, 0, 1, -1, ga__run_neighbours_to_images,
     NULL},
    {"ctc", "aaa", 0, 0, 0, -1, ga__run_ctc, NULL},
    {"pool", "ai*", 2, 0, 1, -1, ga__run_pool, NULL},
    {"pool_grad", "aa+i*", 2, 0, 1, -1, ga__run_pool_grad, NULL},
    {"pool_at_maxima", "aaai*", 2, 0, 1, -1, ga__run_pool_at_maxima, NULL},
    {"pool_at_first", "aai*", 2, 0, 1, -1, ga__run_pool_at_first, NULL},
    {"batch_norm_train", "a+", 3, 0, 0, -1, ga__run_batch_norm_train, NULL},
    {"batch_norm", "aaaaa", 3, 0, 1, -1, ga__run_batch_norm, NULL},
    {"batch_norm_grad", "aaaaa", 3, 0, 0, -1, ga__run_batch_norm_grad, NULL},
    {"upsample", "a", 4, 0, 1, -1, ga__run_upsample, NULL},
    {"upsample_grad", "aii", 4, 0, 1, -1, ga__run_upsample_grad, NULL},
    {"affine_grid", "aii", 0, 0, 1, -1, ga__run_affine_grid, NULL},
    {"affine_grid_grad", "a", 0, 0, 1, -1, ga__run_affine_grid_grad, NULL},
    {"grid_sample", "aa", 0, 0, 1, -1, ga__run_grid_sample, NULL},
    {"grid_sample_grad_images", "aaii", 0, 0, 1, -1, ga__run_grid_sample_grad_images,
     NULL},
    {"grid_sample_grad_grid", "aaa", 0, 0, 1, -1, ga__run_grid_sample_grad_grid, NULL},
    {"ger", "aaa", 2, 0, 1, 0, ga__run_ger, NULL},
    {"sparse_product", "aaaaii", 2, 0, 1, -1, ga__run_sparse_product, NULL},
    {"sparse_product_add", "aaaaaii", 6, 0, 1, 4, ga__run_sparse_product_add, NULL},
    {"sparse_sampled", "aaaaii", 1, 0, 1, -1, ga__run_sparse_sampled, NULL},
    {"sparse_sample", "aaaii", 1, 0, 1, -1, ga__run_sparse_sample, NULL},
    {"sparse_solve", "aaaaii", 2, 0, 1, 3, ga__run_sparse_solve, NULL},
    {"sparse_dense", "aaaii", 1, 0, 1, -1, ga__run_sparse_dense, NULL},
    {"sparse_convert", "aaaii", 2, 0, 3, -1, ga__run_sparse_convert, NULL},
    {"sparse_sort", "aaaii", 1, 0, 3, -1, ga__run_sparse_sort, NULL},
    {"sparse_sum", "aaaii", 2, 0, 1, -1, ga__run_sparse_sum, NULL},
    {"sparse_diagonal", "aaaii", 2, 0, 1, -1, ga__run_sparse_diagonal, NULL},
    {"sparse_unique_count", "aaaii", 1, 0, 1, -1, ga__run_sparse_unique_count, NULL},
    {"sparse_unique", "aaaaiii", 1, 0, 3, -1, ga__run_sparse_unique, NULL},
    {"sparse_take_count", "aaaaii", 2, 0, 1, -1, ga__run_sparse_take_count, NULL},
    {"sparse_take", "aaaaaiii", 2, 0, 3, -1, ga__run_sparse_take, NULL},
    {"sparse_match", "aaaaaaii", 1, 0, 1, -1, ga__run_sparse_match, NULL},
    {"sparse_merge", "aaaaaaaiii", 6, 0, 3, -1, ga__run_sparse_merge, NULL},
    {"sparse_spgemm_count", "aaaaaaiii", 1, 0, 1, -1, ga__run_sparse_spgemm_count,
     NULL},
    {"sparse_spgemm", "aaaaaaaiiii", 1, 0, 3, -1, ga__run_sparse_spgemm, NULL},
    {"rows", "a+i*", GA_ANY_PARAMS, 3 + 2 * GA_ROWS_TEXTS, 0, GA_OVER_PARAMS,
     ga__run_rows, ga__source_of_rows},
    {"row_products", "a+i*", GA_ANY_PARAMS, 3 + 2 * GA_ROWS_TEXTS, 0, GA_OVER_PARAMS,
     ga__run_row_products, ga__source_of_rows},
    {"row_totals", "a+i*", GA_ANY_PARAMS, 3 + 2 * GA_ROWS_TEXTS, 0, GA_OVER_PARAMS,
     ga__run_row_totals, NULL},
    {GA_PLAN_KERNEL, "a+i*", GA_ANY_PARAMS, 2, 1, 0, ga__run_kernel, NULL},
    {"empty", "i*", 0, 0, 1, -1, ga__run_empty, NULL},
    {"zeros", "i*", 0, 0, 1, -1, ga__run_zeros, NULL},
    {"arange", "i", 0, 0, 1, -1, ga__run_arange, ga__source_of_count},
    {"random", "aaaa", 4, 1, 1, -1, ga__run_random, NULL},
    {"cast", "a", 0, 0, 1, -1, ga__run_cast, NULL},
    {"contiguous", "a", 0, 0, 1, -1, ga__run_contiguous, NULL},
    {"diagonal", "a", 3, 0, 1, -1, ga__run_diagonal, NULL},
    {"require", "ai*", 0, 1, 1, -1, ga__run_require, NULL},
    {"length", "aii", 0, 1, 1, -1, ga__run_length, NULL},
    {"at_most", "aii", 0, 0, 1, -1, ga__run_at_most, NULL},
    {"mask", "aa", 1, 0, 1, -1, ga__run_mask, NULL},
    {"assert", "ai*", 0, 1, 1, -1, ga__run_assert, NULL},
};

const ga_routine *ga__routine_find(const char *name) {
  for (size_t i = 0; i < sizeof routines / sizeof *routines; i++)
    if (strcmp(routines[i].name, name) == 0)
      return &routines[i];
  return NULL;
}

static const ga_mappable mappable[] = {
    {"conv", ga__conv_shape, ga__map_conv, ga__conv_apart},
    {"conv_grad_image", ga__conv_grad_image_shape, ga__map_conv_grad_image, NULL},
    {"conv_grad_filters", ga__conv_grad_filters_shape, ga__map_conv_grad_filters, NULL},
};

const ga_mappable *ga__routine_mappable(const ga_routine *row) {
  for (size_t i = 0; i < sizeof mappable / sizeof *mappable; i++)
    if (strcmp(mappable[i].name, row->name) == 0)
      return &mappable[i];
  return NULL;
}
