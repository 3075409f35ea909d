/* The form of a kernel along rows: what its text leaves open. Pure. */
#ifndef GA_C_ROWS_FORM_H
#define GA_C_ROWS_FORM_H

#include "c/base/counts.h"
#include "c/reduce/rows.h"

/* What is given: the call, and arrays that fit its letters. */
typedef struct ga_rows_problem {
  const ga_rows_call *call;
  gpucontext *context;
  GpuArray *const *outs;
  const GpuArray *const *arrays;
  const long long *ints;
  unsigned int n_out, n_arrays, n_ints;
  size_t rows, length;
  bool is_unit; /* neighbours in rows are neighbours in memory */
} ga_rows_problem;

/* Of a row each of `lanes` items keeps `kept` elements, 0: none, in packs of `pack`; of
 * `own` of them it has what is folded over all rows. */
typedef struct ga_rows_form {
  enum ga_rows_text text;
  size_t kept, lanes, pack, own;
} ga_rows_form;

/* The letter of the next array. */
char ga__rows_letter(const char **at);
/* Whether an input has a number for each place in a row. */
bool ga__rows_is_walked(char letter);

/* The form that reads rows again in each walk, and the one that is best. */
ga_rows_form ga__rows_plain(const ga_rows_problem *p);
ga_rows_form ga__rows_choose(const ga_rows_problem *p);
/* The form that folds totals in the kernel, and how many blocks do; 0: that is worse
 * than to store what is folded. */
size_t ga__rows_choose_totals(ga_rows_form *f, const ga_rows_problem *p);

/* Whether a kernel of rows is better than the BLAS at products of the first matrix and
 * a vector: not at large matrices of long rows, which the BLAS reads a little faster.
 */
bool ga__rows_suits_product(const ga_rows_problem *p);
/* How many items walk along a row, and how many rows a block has. */
void ga__rows_choose_block(size_t *lanes, size_t *slots, const ga_rows_problem *p);

/* How many of the elements that an item keeps are in every row. */
size_t ga__rows_sure(const ga_rows_form *f);
/* How many blocks share the registers of a processor. */
size_t ga__rows_blocks_at_once(const ga_rows_call *call, const ga_rows_form *f);
/* The local memory that a block asks for: for the totals that are not its items' own.
 */
size_t ga__rows_local_bytes(const ga_rows_call *call, const ga_rows_form *f,
                            size_t length);

#endif
