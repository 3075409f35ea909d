/* Batch normalisation: its reductions and elementwise passes. */
#ifndef GA_C_NORMALIZATION_H
#define GA_C_NORMALIZATION_H

#include "c/array/array.h"

/* Elementwise passes; batch_norm_passes.c has their arguments. */
enum ga_norm_pass {
  GA_NORM_STATISTICS,
  GA_NORM_AVERAGES,
  GA_NORM_TRAIN,
  GA_NORM_INFERENCE,
  GA_NORM_PRODUCT,
  GA_NORM_GRADIENT,
  GA_NORM_FILTERS, /* times the scale of each result */
  GA_NORM_BIAS,    /* less the scaled centre */
  GA_NORM_PASSES
};

/* Runs a pass over arrays, whose axes of length 1 broadcast, and numbers. */
int ga__norm_pass(enum ga_norm_pass which, int work, const GpuArray *const *arrays,
                  const double *numbers);

/* Makes two arrays of type `work` and of length 1 along the axes: the mean of x -
 * first, and the variance. */
int ga__norm_moments(GpuArray out[2], int work, const GpuArray *x,
                     const GpuArray *first, unsigned int axes);
/* The same for the sums of grad and of grad * (x - mean). */
int ga__norm_sums(GpuArray out[2], int work, const GpuArray *grad, const GpuArray *x,
                  const GpuArray *mean, unsigned int axes);

#endif
