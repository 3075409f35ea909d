/* Specialization of row kernels. Pure. */
#ifndef GA_C_ROWS_FORM_H
#define GA_C_ROWS_FORM_H

#include "c/base/counts.h"
#include "c/reduce/rows_call.h"

/* A call with arrays that fit its letters. */
typedef struct ga_rows_problem {
  const ga_rows_call *call;
  ga_rows_operands given;
  size_t rows, length;
  bool is_unit; /* contiguous rows */
} ga_rows_problem;

/* Each of `lanes` items keeps `kept` elements of a row in registers (0: none), in
 * vectors of `pack`, and the totals of `own` of them. */
typedef struct ga_rows_form {
  enum ga_rows_text text;
  size_t kept, lanes, pack, own;
} ga_rows_form;

/* The letter of the next array. */
char ga__rows_letter(const char **at);
/* True if an input has an element per column. */
bool ga__rows_is_walked(char letter);

/* The form that loads rows again in each pass; the best form. */
ga_rows_form ga__rows_plain(const ga_rows_problem *p);
ga_rows_form ga__rows_choose(const ga_rows_problem *p);
/* The form that folds totals in the kernel, and its number of blocks; 0 where storing
 * the terms is faster. */
size_t ga__rows_choose_totals(ga_rows_form *f, const ga_rows_problem *p);

/* True if our kernel is faster than the BLAS: not for large matrices with long rows. */
bool ga__rows_suits_product(const ga_rows_problem *p);
/* Items along a row, and rows per block. */
void ga__rows_choose_block(size_t *lanes, size_t *slots, const ga_rows_problem *p);

/* Kept elements that every row has. */
size_t ga__rows_sure(const ga_rows_form *f);
/* Resident blocks of a multiprocessor, by their registers (occupancy). */
size_t ga__rows_blocks_at_once(const ga_rows_call *call, const ga_rows_form *f);
/* Local memory of a block, for totals that are not in registers. */
size_t ga__rows_local_bytes(const ga_rows_call *call, const ga_rows_form *f,
                            size_t length);

#endif
