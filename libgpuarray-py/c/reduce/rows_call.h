/* Row kernels from the caller's source templates: arrays and device choose the
 * template, its specialization, the grid and the arguments. */
#ifndef GA_C_ROWS_CALL_H
#define GA_C_ROWS_CALL_H

#include "c/array/array.h"
#include "c/program/kernel.h"

/* Templates: `ANY` for any strides, `UNIT` for contiguous rows. The KEPT ones hold a
 * row in registers: `$kept` elements for each of `$lanes` items of a block, of which
 * `$sure` are in every row; `$blocks` blocks are resident on a multiprocessor (launch
 * bounds). `$name` is the kernel's name. */
enum ga_rows_text {
  GA_ROWS_ANY,
  GA_ROWS_UNIT,
  GA_ROWS_KEPT_ANY,
  GA_ROWS_KEPT_UNIT,
  GA_ROWS_KEPT_PACKS, /* vector loads and stores */
  GA_ROWS_TEXTS
};

enum { GA_ROWS_PACK = 4 }; /* elements of a vector */

/* Totals, folded over all rows: bytes of all totals of one column, and 4-byte words of
 * them per element of an item, both from the totals' types; and bytes per item of a
 * block's fold of a row, from the caller. */
typedef struct ga_rows_totals {
  size_t place_bytes, words, fold_bytes;
} ga_rows_totals;

/* `arguments` has a letter for each input: C matrix, R vector of an element per row, V
 * vector of an element per column, T table of rows, S scalar, i host integer. `outputs`
 * has C or R for each result, then P for each total. `names` and `texts` have
 * GA_ROWS_TEXTS entries; an empty text is unsupported. */
typedef struct ga_rows_call {
  const char *arguments, *outputs;
  const char *operation;    /* named in an index error, or "" */
  const char *const *names; /* of the kernels, without the specialization */
  const char *const *texts; /* CLUDA */
  unsigned int words;       /* 4-byte words kept of an element */
  const long long *over; /* the input each result overwrites in place, or -1; or NULL */
  ga_rows_totals totals;
  bool is_product; /* only a product of the first matrix by a vector */
} ga_rows_call;

/* Results and inputs, each in the order of their letters. */
typedef struct ga_rows_operands {
  gpucontext *context;
  GpuArray *const *outs;
  const int *typecodes; /* of the results */
  const GpuArray *const *arrays;
  const long long *ints;
  unsigned int n_out, n_arrays, n_ints;
} ga_rows_operands;

/* Computes the results, matrices (rows, length) or (rows, 1); in place where an
 * overwritten input is in C order. Results of a product are empty where the BLAS is
 * faster. GA_VALUE_ERROR for other shapes. */
int ga__rows_run(const ga_rows_operands *given, const ga_rows_call *call);

/* The same with totals: each block stores its partial totals as a row of the matrices
 * that follow the results. All are empty where storing the terms is faster than folding
 * them. An item folds the totals of `$own` elements in registers, the rest in local
 * memory. */
int ga__rows_totals(const ga_rows_operands *given, const ga_rows_call *call);

/* The UNIT kernel's source. */
int ga__rows_source(ga_source *out, const ga_rows_call *call);

#endif
