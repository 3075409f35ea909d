/* Checks and arguments that layers with an item for each element share. */
#ifndef GA_C_LAYERS_H
#define GA_C_LAYERS_H

#include "c/array/array.h"
#include "c/program/kernel.h"

/* Checks of an array of `nd` axes, whose type and context the others have:
 * GA_INVALID_ERROR unless it has floats. */
int ga__layer_check_first(const GpuArray *a, unsigned int nd, const char *operation,
                          const char *role);
/* The same of another array: GA_VALUE_ERROR unless it has this shape. */
int ga__layer_check(const GpuArray *a, const GpuArray *first, unsigned int nd,
                    const size_t *dims, const char *operation, const char *role);
/* GA_VALUE_ERROR unless the output may be written and shares memory with no input. */
int ga__layer_check_output(const GpuArray *out, const GpuArray *const *inputs,
                           unsigned int n, const char *operation);
/* True if an int does not count the elements that an array reaches over. */
bool ga__layer_is_wide(const GpuArray *a);
/* Adds strides in elements; those of axes of length 1 are 0. */
void ga__layer_add_strides(ga_args *args, bool is_wide, const GpuArray *a);
/* Adds PREFIX_TYPE, PREFIX_ACC, PREFIX_INT, PREFIX_LOAD and PREFIX_STORE. */
void ga__layer_add_types(ga_strbuf *text, const char *prefix, int typecode,
                         bool is_wide);
/* Launches an item for each of `count` elements. */
int ga__layer_launch(gpukernel *kernel, ga_args *args, gpucontext *ctx, size_t count);
/* On a processor, launches groups that take whole rows, of which there are `rows`
 * (layer_walk.cl.h). */
int ga__layer_launch_rows(gpukernel *kernel, ga_args *args, gpucontext *ctx,
                          size_t rows);

#endif
