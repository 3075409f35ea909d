/* Convolutions on GPUs as products of matrices: geometry and kernels. */
#ifndef GA_C_CONV_TILES_H
#define GA_C_CONV_TILES_H

#include "c/dnn/conv.h"

/* An axis of the gather: columns and terms meet at place column * step + first + term *
 * by of array b, of that length. */
typedef struct ga_gather_axis {
  size_t columns, terms, length;
  ssize_t step, first, by;
  ssize_t a, b, c; /* strides, in elements */
} ga_gather_axis;

/* c[m, column] = sum over terms of a[m, term] b[column, term], for each group. Columns
 * and terms are an outer index and three axes. Strides are in elements. */
typedef struct ga_gather {
  gpucontext *context;
  int typecode;
  size_t groups, rows, columns, terms; /* columns and terms: outer lengths */
  ga_gather_axis axes[GA_CONV_AXES];
  gpudata *data[3]; /* a, b, c */
  size_t offsets[3];
  ssize_t a_row, a_term, b_column, b_term, c_row, c_column;
  ssize_t a_group, b_group, c_group;
} ga_gather;

/* The convolution as a gather, or for an image's gradient its phase of this number: the
 * elements that the same elements of the filters reach. */
ga_gather ga__gather_of(const ga_conv *c, size_t phase);
size_t ga__gather_phases(const ga_conv *c);

/* True if our kernel for GPUs takes it: a GPU, shared filters, and 32-bit offsets. */
bool ga__conv_tiles_serve(const ga_conv *c);
int ga__conv_tiles(const ga_conv *c);

#endif
