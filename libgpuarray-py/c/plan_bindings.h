/* The bindings of a plan in its file: what was recorded for each signature, on kernels
 * that the file has.
 *
 * They are there only where the library cannot bind the plan itself, for a step that is
 * a function of the program which saved it. All else is bound from the steps when it is
 * first called, so that a launch's sizes come from the arrays of the call.
 *
 * The section: how many, then each as bytes of its own: the signature, buffers that the
 * commands refer to, the tape's slots, its commands, the outputs. Sizes and places on
 * the device are the device's own, so a binding is of use where its kernels are. */
#ifndef GA_C_PLAN_BINDINGS_H
#define GA_C_PLAN_BINDINGS_H

#include "c/plan_file.h"
#include "c/tape_state.h"

/* What a buffer in a file is; a number follows. */
enum buffer_kind {
  NO_BUFFER,
  OF_SLOT,
  OF_CONSTANT,
  OF_REPORTS,
  OF_FILE,
  OF_COUNT,
  BUFFER_KINDS
};

/* Whether a step is a function that the program which loads the plan has not. */
static inline bool ga__plan_needs_bindings(const GpuPlan *p) {
  for (unsigned int i = 0; i < p->n_steps; i++)
    if (p->steps[i].kind == GA_STEP_FUNCTION)
      return true;
  return false;
}

/* Buffers that are none of these: the file has their bytes. */
typedef struct extras {
  gpudata **list;
  unsigned int n;
} extras;

/* Whether argument `i` of a launch is the number by which its kernel reports; two texts
 * follow it. */
static inline bool ga__arg_is_site(const ga_arg *args, unsigned int i) {
  return i > 0 && args[i].kind == GA_ARG_VALUE && args[i - 1].kind == GA_ARG_OFFSET &&
         (args[i - 1].buffer->flags & GA_BUFFER_WORD) != 0;
}

#endif
