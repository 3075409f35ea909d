/* Launches of elementwise kernels: geometry and arguments. */
#ifndef GA_C_ELEMWISE_LAUNCH_H
#define GA_C_ELEMWISE_LAUNCH_H

#include "c/elemwise/elemwise_walk.h"

/* Adds argument i of an expression: the value of a scalar as the expression has it, or
 * the pointer and offset of an array. */
void ga__launch_add_scalar(ga_args *list, const GpuElemwise *ge, unsigned int i,
                           const void *value);
void ga__launch_add_buffer(ga_args *list, const GpuElemwise *ge, unsigned int i,
                           gpudata *data, size_t offset);

/* The flat kernel on `n` elements. `w`, or NULL: the walk that found them flat, whose
 * offsets then count instead of the arrays' own. */
int ga__launch_flat(GpuElemwise *ge, ga_elem_variant *v, void *const *args, size_t n,
                    const ga_walk *w);
/* A strided kernel of at least the walk's axes; on a GPU of under 2^31 elements. */
int ga__launch_strided(GpuElemwise *ge, ga_elem_variant *v, const ga_walk *w,
                       void *const *args);
/* The tiled kernel, with the arguments in `turned` through local memory. */
int ga__launch_tiled(GpuElemwise *ge, ga_elem_variant *v, const ga_walk *w,
                     uint64_t turned, void *const *args);

#endif
