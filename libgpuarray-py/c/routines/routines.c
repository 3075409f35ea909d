/* Table of the library's routines that plans call by name. */
#include "c/reduce/rows.h"
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
    {"conv", "aa", GA_CONV_PARAMS, 0, 1, -1, ga__run_conv, NULL},
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
