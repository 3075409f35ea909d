/* Convolutions on processors: what their kernels share. */
#ifndef GA_C_CONV_CPU_H
#define GA_C_CONV_CPU_H

#include "c/convolution/conv.h"

/* Elements of a filter that kernels have tables for. */
#define GA_CONV_TAPS 1024
/* Products of strides, into whose phases the gradient by the image is split. */
#define GA_CONV_PHASES 256
/* Rows of a chunk of the gradient by filters. */
#define GA_CONV_ROWS 256
/* Elements of the image that stay in a processor's second cache. */
#define GA_CONV_CACHE 32768

enum ga_conv_cpu_kernel {
  GA_CONV_CPU_ROWS,
  GA_CONV_CPU_RESULT,
  GA_CONV_CPU_IMAGE,
  GA_CONV_CPU_FILTERS,
  GA_CONV_CPU_PARTS,
  GA_CONV_CPU_SCATTER
};

/* Block in registers: `tall` results by `broad` vectors, of places or of taps. */
typedef struct ga_conv_block {
  unsigned char tall, broad;
} ga_conv_block;

/* The block that computes `tall` results at `broad` vectors in least time. */
ga_conv_block ga__conv_block(size_t tall, size_t broad);
/* Elements of a vector. */
unsigned int ga__conv_lanes(const ga_conv *c);
int ga__conv_cpu_kernel(gpukernel **out, const ga_conv *c, enum ga_conv_cpu_kernel kind,
                        ga_conv_block block);
/* Queues groups of one item, `groups` at most as many as keep processors busy. */
int ga__conv_cpu_launch(gpukernel *kernel, const ga_args *args, size_t groups,
                        size_t parts);

/* Spatial axes of an array as a kernel reads them: `length` elements from `from`, which
 * may be outside. */
typedef struct ga_conv_window {
  ssize_t from[GA_CONV_AXES];
  size_t length[GA_CONV_AXES];
} ga_conv_window;

/* A window: contiguous along the last axis, or along each phase of that axis. */
typedef struct ga_conv_rows {
  ga_conv_array array; /* at the window's first element */
  ssize_t phase;       /* elements from a phase to the next */
  gpudata *copy;       /* NULL if the array itself is read */
} ga_conv_rows;

/* The image, the result's gradient and the filters as kernels read them: as the array
 * itself if vectors can be loaded from it, else as a copy that the caller releases. */
int ga__conv_image_rows(ga_conv_rows *out, ga_conv_window *window, const ga_conv *c);
int ga__conv_result_rows(ga_conv_rows *out, ga_conv_window *window, const ga_conv *c);
int ga__conv_filters_rows(ga_conv_rows *out, const ga_conv *c);
/* True for the gradient by filters of short rows: the image is copied for each element
 * of the filters' last axis, so that its rows, and those of the result, join: 256
 * filters of 3x3 over 256 channels of 14x14 take 8.6 ms of a core, instead of 14.7. */
bool ga__conv_is_flat(const ga_conv *c);
/* True if an int counts the elements of such copies. */
bool ga__conv_windows_are_narrow(const ga_conv *c);

/* Adds the numbers of CV_TAPS_PARAMETERS. */
void ga__conv_taps_args(ga_args *args, const ga_conv *c, const ga_conv_rows *x,
                        const ga_conv_array *w);
static inline void ga__conv_args(ga_args *args, unsigned int n,
                                 const ssize_t *numbers) {
  for (unsigned int i = 0; i < n; i++)
    ga__args_i32(args, (int32_t)numbers[i]);
}

int ga__conv_cpu_filters(const ga_conv *c);
/* True if the gradient by the image is faster by adding products to it. */
bool ga__conv_cpu_scatters(const ga_conv *c);
int ga__conv_cpu_scatter(const ga_conv *c);

#endif
