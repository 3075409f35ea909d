/* Serialized bindings: the recorded tapes of a plan, by signature.
 *
 * A file has them only where its reader cannot bind the plan: for a step that is a
 * function of the saving process. Other plans are bound at the first call, with the
 * launch sizes of that call's arrays.
 *
 * The section: a count, then each binding as a byte string: signature, buffers that the
 * commands refer to, slots, commands, outputs. Checksums ("seals") cover each launch
 * with the sizes of its buffers, and the whole binding, for a kernel may trust what
 * earlier commands wrote. Sizes and offsets are those of the device, so bindings are
 * valid where the compiled kernels are. */
#ifndef GA_C_PLAN_BINDINGS_H
#define GA_C_PLAN_BINDINGS_H

#include "c/base/hash.h"
#include "c/saving/plan_file.h"
#include "c/tape/tape_state.h"

/* References to buffers; a number follows. */
enum buffer_kind {
  NO_BUFFER,
  OF_SLOT,
  OF_CONSTANT,
  OF_REPORTS,
  OF_FILE,
  OF_COUNT,
  BUFFER_KINDS
};

/* True if a step is a function of the process: a reader lacks it, and the step's body,
 * if it has one, launches other kernels. */
bool ga__plan_needs_bindings(const GpuPlan *p);

/* Other buffers: the file has their contents. */
typedef struct extras {
  gpudata **list;
  unsigned int n;
} extras;

/* True if argument `i` of a launch is the number of a report site; two texts follow
 * it. */
static inline bool ga__arg_is_site(const ga_arg *args, unsigned int i) {
  return i > 0 && args[i].kind == GA_ARG_VALUE && args[i - 1].kind == GA_ARG_OFFSET &&
         (args[i - 1].buffer->flags & GA_BUFFER_WORD) != 0;
}

/* Bounds checks of a file's commands (plan_bindings_check.c). Extents in bytes of the
 * slots of inputs and views, by a signature's layouts; calls match these.
 * GA_VALUE_ERROR for layouts that are impossible. */
int ga__binding_reach(size_t *reach, const GpuPlan *p, const uint64_t *signature);
/* Bytes of a buffer that commands may access. */
size_t ga__binding_size(const gpudata *buffer, const size_t *reach);
/* True if a command or a result is in bounds. */
bool ga__transfer_fits(const transfer *t, const size_t *reach);
bool ga__product_fits(const ga_blas_call *c, const size_t *reach);
bool ga__output_fits(const GpuArray *a, const ga_value *v, const size_t *reach);
/* Checksum of a binding; differs from that of a file with the same bytes. */
ga_hash ga__binding_seal(const char *bytes, size_t size);
/* Checksum of a launch with the sizes of its buffers. */
int ga__launch_seal(ga_hash *seal, const gpukernel *k, const ga_launch *l,
                    const size_t *sizes);

#endif
