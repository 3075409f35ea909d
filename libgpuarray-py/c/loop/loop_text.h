/* Parts of a loop's text that several files write. Pure. */
#ifndef GA_C_LOOP_TEXT_H
#define GA_C_LOOP_TEXT_H

#include <stdio.h>

#include "c/loop/loop.h"
#include "c/program/kernel_text.h"

#define GA_LOOP_NAME 32 /* bytes of a variable's name */

/* The variable of a value. */
static inline const char *ga__loop_variable(char name[GA_LOOP_NAME], const ga_loop *l,
                                            unsigned int value) {
  snprintf(name, GA_LOOP_NAME, GA_ELEM_PREFIX "v%u", l->root[value]);
  return name;
}
/* Adds a reduction to the iteration's text `sb`, and its local memory. */
void ga__loop_add_reduction(ga_text_part *locals, ga_strbuf *sb, const ga_loop *l,
                            const ga_loop_step *step, bool is_cpu);

#endif
