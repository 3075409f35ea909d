/* Parts of a loop's text that several files write. Pure. */
#ifndef GA_C_LOOP_TEXT_H
#define GA_C_LOOP_TEXT_H

#include <stdio.h>

#include "c/base/dtype.h"
#include "c/loop/loop.h"
#include "c/program/kernel_text.h"

#define GA_LOOP_NAME 32 /* bytes of a variable's name */

/* The parts that the files in kernels/ name. */
enum ga_loop_part {
  LP_PARAMETERS,
  LP_LOCALS,
  LP_STARTS,
  LP_SPLIT,
  LP_PLACES,
  LP_LOADS,
  LP_NEXT,
  LP_VALUES,
  LP_STEPS,
  LP_TRACES,
  LP_CARRY,
  LP_UNIFORMS,
  LP_PASSES,
  LP_ADVANCE,
  LP_STOP,
  LP_FINALS,
  LP_LASTS,
  GA_LOOP_PARTS
};

/* The variable of a value. */
static inline const char *ga__loop_variable(char name[GA_LOOP_NAME], const ga_loop *l,
                                            unsigned int value) {
  snprintf(name, GA_LOOP_NAME, GA_ELEM_PREFIX "v%u", l->root[value]);
  return name;
}

static inline bool ga__loop_has_rows(const ga_loop_operand *o) {
  return o->kind == GA_LOOP_ROW || o->kind == GA_LOOP_TRACE;
}

static inline const char *ga__loop_type(const ga_loop_operand *o) {
  return ga__dtype_ctype(o->array->typecode);
}

/* Zero, of a number or of the fields of a type. */
static inline const char *ga__loop_zero(int typecode) {
  return ga__dtype_kind(typecode) == 'c' ? "{0, 0}" : "{0}";
}

/* True if the chunks of the loop are along axis k. */
static inline bool ga__loop_is_chunk_axis(const ga_loop *l, unsigned int k) {
  return l->n_total > 0 && k == l->chunk_axis;
}

/* Adds " + position * stride" along axis k of operand i. */
void ga__loop_add_term(ga_strbuf *sb, const ga_loop *l, unsigned int i, unsigned int k,
                       const char *position);
/* Adds the positions along axes `from` to 1 of what ga_i_r counts. */
void ga__loop_add_split(ga_strbuf *sb, unsigned int from);
/* Adds the condition of a store: `first`, unless it is NULL, and only the first element
 * along an axis that the operand lacks, and only the last chunk. `last`: the position
 * along the last axis. */
void ga__loop_add_condition(ga_strbuf *sb, const ga_loop *l, const ga_loop_operand *o,
                            const char *first, const char *last);
/* Adds an elementwise step and the variables of its results. */
void ga__loop_add_step(ga_strbuf *sb, const ga_loop *l, const ga_loop_step *step);

/* Adds a reduction to the iteration's text `sb`, and its local memory: one item has one
 * element. */
void ga__loop_add_reduction(ga_text_part *locals, ga_strbuf *sb, const ga_loop *l,
                            const ga_loop_step *step, bool is_cpu);
/* In pieces: adds the statement that gives `own` an element's accumulator, that which
 * makes it one of its item's, and the text that makes the result of all of them. */
void ga__loop_add_map(ga_strbuf *sb, const ga_loop *l, const ga_loop_step *step,
                      const char *own, const char *condition);
void ga__loop_add_own(ga_strbuf *before, ga_strbuf *within, const ga_loop_step *step,
                      const char *own, const char *place);
void ga__loop_add_combination(ga_strbuf *sb, const ga_loop_step *step, const char *own);
/* Type of a reduction's accumulators. */
const char *ga__loop_accumulator(const ga_loop_step *step);

/* The parts of loop_pieces.cl.h that follow from the operands and the steps. */
int ga__loop_add_pieces(ga_text_part *parts, ga_strbuf *words, const ga_loop *l);

#endif
