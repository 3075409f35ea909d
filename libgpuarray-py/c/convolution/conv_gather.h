/* Convolutions and their gradients as one gather, and what its kernels share. */
#ifndef GA_C_CONV_GATHER_H
#define GA_C_CONV_GATHER_H

#include "c/convolution/conv_call.h"

/* An axis of the gather: columns and terms meet at place column * step + first + term *
 * by of array b, of that length. */
typedef struct ga_gather_axis {
  size_t columns, terms, length;
  ssize_t step, first, by;
  ssize_t a, b, c; /* strides, in elements */
} ga_gather_axis;

/* Where elements are in the output: the outer axis that rows and groups are along, the
 * other being that of columns, and of each spatial axis the place of the first and the
 * step to the next. */
typedef struct ga_gather_output {
  unsigned int row_axis;
  ssize_t first[GA_CONV_AXES], step[GA_CONV_AXES];
} ga_gather_output;

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
  const ga_mapping *map; /* epilogue, or NULL */
  ga_gather_output out;
} ga_gather;

/* The convolution as a gather, or for an image's gradient its phase of this number: the
 * elements that the same elements of the filters reach. */
ga_gather ga__gather_of(const ga_conv *c, size_t phase);
size_t ga__gather_phases(const ga_conv *c);

/* Sizes of the product: rows, columns and terms of a group. */
typedef struct ga_gather_sizes {
  size_t m, n, k;
} ga_gather_sizes;

ga_gather_sizes ga__gather_sizes(const ga_gather *g);

/* Arguments: pointers, the output's first; 32-bit numbers; a number of each axis;
 * lengths that divide: an empty axis is divided by 1. */
void ga__gather_add_arrays(ga_args *args, const ga_gather *g);
void ga__gather_add(ga_args *args, unsigned int n, const ssize_t *numbers);
void ga__gather_add_lengths(ga_args *args, const ga_gather *g, bool of_terms);
#define GA_GATHER_AXES(args, g, field)                                                 \
  ga__gather_add(args, GA_CONV_AXES,                                                   \
                 (ssize_t[]){(ssize_t)(g)->axes[0].field, (ssize_t)(g)->axes[1].field, \
                             (ssize_t)(g)->axes[2].field})

/* Launches a kernel that leaves out[part] at c, `parts` arrays of rows and columns in
 * order, of the type of sums; with one part the results themselves. */
typedef int (*ga_gather_launch)(const ga_gather *g, size_t parts, const void *how);
/* Splits the terms into parts and adds these up, or does not, where memory lacks. */
int ga__gather_in_parts(const ga_gather *g, size_t parts, ga_gather_launch launch,
                        const void *how);

#endif
