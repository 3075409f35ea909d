/* Convolutions on processors: what their kernels share. */
#ifndef GA_C_CONV_CPU_CALL_H
#define GA_C_CONV_CPU_CALL_H

#include "c/convolution/conv_call.h"

/* Elements of a filter that kernels have tables for. */
#define GA_CONV_TAPS 1024
/* Products of strides, into whose phases the gradient by the image is split. */
#define GA_CONV_PHASES 256
/* Rows of a chunk of the gradient by filters. */
#define GA_CONV_ROWS 256
/* Places of a panel of the result's gradient: with AVX it is as large as the first
 * cache. */
#define GA_CONV_PLACES 512
/* Elements of the image that stay in a processor's second cache. */
#define GA_CONV_CACHE 32768

enum ga_conv_cpu_kernel {
  GA_CONV_CPU_ROWS,
  GA_CONV_CPU_RESULT,
  GA_CONV_CPU_IMAGE,
  GA_CONV_CPU_FILTERS,
  GA_CONV_CPU_PANELS,
  GA_CONV_CPU_PARTS,
  GA_CONV_CPU_SCATTER
};

/* Block in registers: `tall` results by `broad` vectors, of places or of taps, or
 * `tall` taps by `broad` vectors of results. */
typedef struct ga_conv_block {
  unsigned char tall, broad;
} ga_conv_block;

/* Elements of a vector in rows of so many: of half a register of AVX-512 where rows are
 * no longer than that. */
unsigned int ga__conv_lanes(const ga_conv *c, size_t row);
/* True with the registers of AVX-512, of 64 bytes, twice as many as AVX has. */
bool ga__conv_has_wide_registers(const ga_conv *c);
/* The most that a vector has. */
unsigned int ga__conv_most_lanes(const ga_conv *c);
/* The block that computes `tall` results at `broad` vectors in least time. */
ga_conv_block ga__conv_block(const ga_conv *c, unsigned int lanes, size_t tall,
                             size_t broad);
int ga__conv_cpu_kernel(gpukernel **out, const ga_conv *c, enum ga_conv_cpu_kernel kind,
                        unsigned int lanes, ga_conv_block block);
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
/* Rows that are not split by phase, for kernels that read one element at a time. */
int ga__conv_image_places(ga_conv_rows *out, const ga_conv *c);
int ga__conv_result_rows(ga_conv_rows *out, ga_conv_window *window, const ga_conv *c);
int ga__conv_filters_rows(ga_conv_rows *out, const ga_conv *c);
/* True if the gradient by the image has phases, which have places of their own. Without
 * them it is a convolution of the result's gradient, its taps turned around. */
bool ga__conv_has_phases(const ga_conv *c);
/* Places of the output along an axis, of the result for the gradient by filters. */
static inline size_t ga__conv_places(const ga_conv *c, int axis) {
  return c->role == GA_CONV_IMAGE ? c->axes[axis].image : c->axes[axis].result;
}
/* True for short rows, which are copied for each element of the filters' last axis, so
 * that the places of two axes join: the gradient by 256 filters of 3x3 over 256
 * channels of 14x14 takes 8.6 ms of a core, instead of 14.7, and the result of 512 over
 * 512 of 7x7 11.5, with AVX-512, instead of 20.3. */
bool ga__conv_is_flat(const ga_conv *c);
/* The places of these axes as one axis; its filters' elements are phases of rows. */
ga_conv ga__conv_flattened(const ga_conv *c);
/* Elements of a row of places: of both axes where they join. */
static inline size_t ga__conv_row(const ga_conv *c) {
  const size_t row = ga__conv_places(c, 2);
  return ga__conv_is_flat(c) ? row * ga__conv_places(c, 1) : row;
}
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
