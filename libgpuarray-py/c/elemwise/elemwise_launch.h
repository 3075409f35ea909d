/* Launches of elementwise kernels: geometry and arguments. */
#ifndef GA_C_ELEMWISE_LAUNCH_H
#define GA_C_ELEMWISE_LAUNCH_H

#include "c/elemwise/elemwise_walk.h"

/* Adds argument i: a scalar's value in the expression's type, or an array's pointer and
 * offset. */
void ga__launch_add_scalar(ga_args *list, const GpuElemwise *ge, unsigned int i,
                           const void *value);
void ga__launch_add_buffer(ga_args *list, const GpuElemwise *ge, unsigned int i,
                           gpudata *data, size_t offset);

/* Flat kernel on `n` elements. `w` (or NULL): a walk found to be flat, whose offsets
 * replace the arrays' own. */
int ga__launch_flat(GpuElemwise *ge, ga_elem_variant *v, void *const *args, size_t n,
                    const ga_walk *w);
/* Strided kernel for at least the walk's axes; on GPUs below 2^31 elements. */
int ga__launch_strided(GpuElemwise *ge, ga_elem_variant *v, const ga_walk *w,
                       void *const *args);
/* True if most items of the rows kernel have work in rows of so many vectors. */
bool ga__launch_fills_rows(size_t vectors);
/* Rows kernel, for walks that ga__walk_is_rows. */
int ga__launch_rows(GpuElemwise *ge, ga_elem_variant *v, const ga_walk *w,
                    void *const *args);
/* Tiled kernel; the arguments in `turned` are transposed through shared memory. */
int ga__launch_tiled(GpuElemwise *ge, ga_elem_variant *v, const ga_walk *w,
                     uint64_t turned, void *const *args);

#endif
