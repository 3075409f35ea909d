/* An expression as the epilogue of another kernel, which computes one of its inputs. */
#ifndef GA_C_ELEMWISE_MAP_H
#define GA_C_ELEMWISE_MAP_H

#include "c/elemwise/elemwise_state.h"

/* An epilogue: an expression of at most GA_MAPPED_ARGS arguments; input `made` is what
 * the kernel computes, `values` has all others. Arrays are aligned and broadcast to the
 * shape of what is computed, which the outputs have. No output aliases what the kernel
 * reads; an input that aliases an output is the same array. */
typedef struct ga_mapping {
  GpuElemwise *ge;
  unsigned int made;
  void *const *values;
} ga_mapping;
#define GA_MAPPED_ARGS 16

/* Generates the source of the kernel that `spec` describes, with an epilogue; the
 * caller clears its body. */
typedef int (*ga_make_mapped)(ga_source *out, const gpucontext *ctx, const void *spec,
                              const ga_elem_spec *map);
/* The kernel that `make` generates, compiled at first use; it is kept with the
 * expression, for its text takes time. Specs, of at most GA_MAPPED_SPEC bytes, are
 * compared as bytes: zero the padding. GA_DEVSUP_ERROR where the device has too few
 * registers for blocks of `threads`. */
#define GA_MAPPED_SPEC 48
int ga__mapped_kernel(gpukernel **out, const ga_mapping *map, ga_make_mapped make,
                      const void *spec, size_t size, size_t threads);
/* Frees what is kept of these kernels, which the context owns. */
void ga__mapped_free(GpuElemwise *ge);

#endif
