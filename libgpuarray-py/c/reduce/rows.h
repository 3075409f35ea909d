/* Kernels along rows, of texts that the caller wrote: which of the texts runs, on what
 * grid, and with which arguments follows from the arrays and the device. */
#ifndef GA_C_ROWS_H
#define GA_C_ROWS_H

#include "c/array/array.h"
#include "c/program/kernel.h"

/* Which text runs: `ANY` where rows have strides of their own, `UNIT` where neighbours
 * in a row are neighbours in memory. Those that keep a row in registers are templates:
 * `$kept` elements for each of `$lanes` items of a block, of which `$sure` are in every
 * row, and `$blocks` blocks share a processor. In all of them `$name` is the kernel. */
enum ga_rows_text {
  GA_ROWS_ANY,
  GA_ROWS_UNIT,
  GA_ROWS_KEPT_ANY,
  GA_ROWS_KEPT_UNIT,
  GA_ROWS_KEPT_PACKS, /* elements are read and stored in packs of neighbours */
  GA_ROWS_TEXTS
};

enum { GA_ROWS_PACK = 4 }; /* the elements of a pack */

/* What is folded over all rows, if anything: the bytes of all totals of one place in a
 * row, and the words of 4 bytes that an item has of them for an element, which follow
 * from the types of the totals; and the bytes that a block's folds of a row take for
 * each item, which the caller gives. */
typedef struct ga_rows_totals {
  size_t place_bytes, words, fold_bytes;
} ga_rows_totals;

/* `arguments` has a letter for each input: C a matrix of rows, R a vector with a number
 * for each row, V one with a number for each place in a row, T a table of rows, S one
 * number, i a host integer. `outputs` has C or R for each result, then P
 * for each total. `names` and `texts`
 * have GA_ROWS_TEXTS; an empty text is of a form that there is not. */
typedef struct ga_rows_call {
  const char *arguments, *outputs;
  const char *operation;    /* told of with an index that is out of bounds, or "" */
  const char *const *names; /* of the kernels, without the numbers of the form */
  const char *const *texts; /* CLUDA */
  unsigned int words;       /* of 4 bytes that are kept of an element */
  const long long *over; /* for each result: the array it takes over, or -1; or NULL */
  ga_rows_totals totals;
  bool is_product; /* all that is done with elements is to multiply the first matrix by
                      a vector */
} ga_rows_call;

/* Makes `outs`, matrices (rows, length) or (rows, 1), from `arrays` and `ints`, in the
 * order of their letters; in the memory of an array that one takes over, if that is in
 * C order. Results of a product have no rows where the BLAS does better. GA_VALUE_ERROR
 * for arrays of other shapes. */
int ga__rows_run(GpuArray *const *outs, const int *typecodes, unsigned int n_out,
                 const GpuArray *const *arrays, unsigned int n_arrays,
                 const long long *ints, unsigned int n_ints, gpucontext *ctx,
                 const ga_rows_call *call);

/* The same with `$own` elements of an item in the texts of those that keep rows. Behind
 * the results come matrices of totals, with a row for each block; none, and results
 * without elements, where it is better to store what is folded. */
int ga__rows_totals(GpuArray *const *outs, const int *typecodes, unsigned int n_out,
                    const GpuArray *const *arrays, unsigned int n_arrays,
                    const long long *ints, unsigned int n_ints, gpucontext *ctx,
                    const ga_rows_call *call);

/* The source of the kernel of rows whose elements are neighbours. */
int ga__rows_source(ga_source *out, const ga_rows_call *call);

#endif
