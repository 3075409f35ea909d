/* Launch helpers of sorts. */
#ifndef GA_C_SORT_RUN_H
#define GA_C_SORT_RUN_H

#include "c/base/counts.h"
#include "c/sort/sort_task.h"

/* Buffers of a launch; unused ones get any buffer. */
typedef struct ga_sort_moves {
  ga_sort_place in, out, vin, vout, indices;
} ga_sort_moves;

static inline size_t ga__sort_key_size(const ga_sort_task *t) {
  return gpuarray_get_elsize(t->typecode);
}

int ga__sort_kernel(gpukernel **out, gpucontext *ctx, int kind, int typecode,
                    int value_size, bool is_large);

/* Starts an argument list. */
void ga__sort_add_moves(ga_args *args, const ga_sort_moves *m);
/* Adds `p`, or `otherwise` if it has no buffer. */
void ga__sort_add_place(ga_args *args, ga_sort_place p, gpudata *otherwise);

int ga__sort_launch(gpukernel *kernel, const ga_args *args, size_t groups, size_t items,
                    size_t slots);

#endif
