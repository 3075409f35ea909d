/* The bindings of a plan in its file: what was recorded for each signature, on kernels
 * that the file has.
 *
 * They are there only where the library cannot bind the plan itself, for a step that is
 * a function of the program which saved it. All else is bound from the steps when it is
 * first called, so that a launch's sizes come from the arrays of the call.
 *
 * The section: how many, then each as bytes of its own: the signature, buffers that the
 * commands refer to, the tape's slots, its commands, the outputs. Behind each launch
 * stand the sizes of the buffers that it was recorded with, and a seal of all of it;
 * behind each binding a seal of the binding, as a kernel relies on what those before it
 * have written.
 * Sizes and places on the device are the device's own, so a binding is of use where its
 * kernels are. */
#ifndef GA_C_PLAN_BINDINGS_H
#define GA_C_PLAN_BINDINGS_H

#include "c/base/hash.h"
#include "c/saving/plan_file.h"
#include "c/tape/tape_state.h"

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

/* Whether a step is a function of the program: one that loads the plan has it not, and
 * its body, if it has one, runs by other kernels. */
bool ga__plan_needs_bindings(const GpuPlan *p);

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

/* Checks of what a file says (plan_bindings_check.c). How many bytes each slot of an
 * input or view has at least, by the layouts of a signature, which the arrays of each
 * call have. GA_VALUE_ERROR where there are no such layouts. */
int ga__binding_reach(size_t *reach, const GpuPlan *p, const uint64_t *signature);
/* Bytes of a buffer that commands may use. */
size_t ga__binding_size(const gpudata *buffer, const size_t *reach);
/* Whether a command or a result stays within its buffers. */
bool ga__transfer_fits(const transfer *t, const size_t *reach);
bool ga__product_fits(const ga_blas_call *c, const size_t *reach);
bool ga__output_fits(const GpuArray *a, const ga_value *v, const size_t *reach);
/* A hash of a binding's bytes, which is not that of a file of them. */
ga_hash ga__binding_seal(const char *bytes, size_t size);
/* A hash of a launch, with the sizes of its buffers. */
int ga__launch_seal(ga_hash *seal, const gpukernel *k, const ga_launch *l,
                    const size_t *sizes);

#endif
