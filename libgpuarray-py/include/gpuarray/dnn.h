/* Layers of neural networks: convolution, pooling, and their gradients.
 *
 * Arrays are batch, channels, then one to three spatial axes, of any layout, all of one
 * type: float16, bfloat16, float32 or float64. Sums are in float32 at least, float64
 * for float64. The same arrays give the same bits, unless GA_CONV_ANY_ORDER.
 *
 * Ownership: arrays are borrowed. Waiting: nothing waits. Threads: functions may be
 * called from several at once. Failure: with the result untouched, GA_INVALID_ERROR
 * (types, contexts, a description whose `size` is wrong), GA_VALUE_ERROR (ranks,
 * shapes, a read-only result), GA_UNALIGNED_ERROR, GA_DEVSUP_ERROR, GA_MEMORY_ERROR. */
#ifndef GPUARRAY_DNN_H
#define GPUARRAY_DNN_H

#include <gpuarray/array.h>

GPUARRAY_BEGIN_DECLS

/* cdef: begin */
/* ---- convolution ---- */

#define GA_CONV_FLIP 0x1     /* filters are turned around, as in mathematics */
#define GA_CONV_UNSHARED 0x2 /* filters of their own for each place of the result */
/* `before` and `after` are half the extent of the filters, or the extent less 1; that
 * of n elements with dilation d is (n - 1) * d + 1. */
#define GA_CONV_HALF 0x4
#define GA_CONV_FULL 0x8
/* Sums may be in any order: also by engines of the vendor that give other bits each
 * time. */
#define GA_CONV_ANY_ORDER 0x10

/* A convolution. Per spatial axis, in elements: the stride between results, the
 * dilation between a filter's elements, and the zeros before and after the data. */
typedef struct _gpuconv {
  size_t size;     /* sizeof(gpuconv) */
  unsigned int nd; /* spatial axes, 1 to 3 */
  unsigned int groups;
  int flags;
  size_t stride[3], dilation[3];
  size_t before[3], after[3];
} gpuconv;

/* Sets `size` and `nd`: one group, stride and dilation 1, no padding. */
void gpuconv_init(gpuconv *c, unsigned int nd);

/* Shape of a result: `image` and `filters` are shapes of 2 + nd lengths (of filters 2 +
 * 2 nd if unshared). GA_VALUE_ERROR where they do not fit together. */
int gpuconv_shape(size_t *out, const gpuconv *c, const size_t *image,
                  const size_t *filters);

/* Convolution of `image` (batch, channels, ...) by `filters` (results, channels /
 * groups, ...) to `out` (batch, results, ...); out[o] is the sum over filter elements f
 * of image[o * stride + f * dilation - before] * filters[f]. Unshared filters are
 * (results, out's spatial axes, channels / groups, ...). Channels and results are split
 * into `groups` that do not mix. `out` overlaps no input. */
int GpuArray_conv(GpuArray *out, const GpuArray *image, const GpuArray *filters,
                  const gpuconv *c);
/* Gradient by the image, whose shape `out` has, of a convolution by `filters` whose
 * result's gradient is `grad`. This is also the transposed convolution of `grad`. */
int GpuArray_conv_grad_image(GpuArray *out, const GpuArray *grad,
                             const GpuArray *filters, const gpuconv *c);
/* Gradient by the filters, whose shape `out` has. */
int GpuArray_conv_grad_filters(GpuArray *out, const GpuArray *image,
                               const GpuArray *grad, const gpuconv *c);

/* ---- neighbourhoods ---- */

/* Which neighbourhoods an image has. */
enum gpuneighbours_mode {
  GA_NEIGHBOURS_VALID,          /* those inside; the last one ends at the edge */
  GA_NEIGHBOURS_IGNORE_BORDERS, /* those inside */
  GA_NEIGHBOURS_WRAP_CENTERED, /* around each place, over the edges to the other side */
  GA_NEIGHBOURS_HALF,          /* as valid, with zeros of half a neighbourhood around */
  GA_NEIGHBOURS_FULL           /* as valid, with zeros of a neighbourhood less 1 */
};

/* Neighbourhoods of images, per axis: their length, the step between them, what the
 * first one has before the image, and how many there are. */
typedef struct _gpuneighbours {
  size_t size; /* sizeof(gpuneighbours) */
  int mode;
  size_t shape[2], step[2], before[2], count[2];
} gpuneighbours;

/* Fills in all that follows from the mode, and from lengths of two axes: of `image`,
 * of a neighbourhood, and of the steps. GA_VALUE_ERROR where they do not fit. */
int gpuneighbours_init(gpuneighbours *n, int mode, const size_t *image,
                       const size_t *shape, const size_t *step);
/* Neighbourhoods of `images` (batch, channels, rows, columns) of any type: each is a
 * row of `out` (batch * channels * count[0] * count[1], shape[0] * shape[1]). */
int GpuArray_images_to_neighbours(GpuArray *out, const GpuArray *images,
                                  const gpuneighbours *n);
/* The gradient of that: each element of the images `out` is the sum of all its copies
 * in `neighbours`. Any type but bool. */
int GpuArray_neighbours_to_images(GpuArray *out, const GpuArray *neighbours,
                                  const gpuneighbours *n);

/* ---- connectionist temporal classification ---- */

/* Costs of sequences: minus the logarithm of the probability of their labels, summed
 * over all ways to align them with time, with blanks (class 0) between. `activations`
 * (time, batch, classes) become probabilities by a softmax. `labels` (batch, length),
 * int32, are classes from 1; a number below 0 ends a row. `lengths` (batch), int32, are
 * times to look at. `costs` (batch) are float32, or float64 for float64; `grad`, unless
 * NULL, gets the gradient of each cost by the activations. A cost is infinite, with a
 * gradient of 0, where the labels need more time, and NaN where there is no such class
 * or time. The same arrays give the same bits. */
int GpuArray_ctc(GpuArray *costs, GpuArray *grad, const GpuArray *activations,
                 const GpuArray *labels, const GpuArray *lengths);
/* ---- pooling ---- */

#define GA_POOL_MAX_AXES 3

typedef enum _gpupool_mode {
  GA_POOL_MAX,           /* nan if one is nan */
  GA_POOL_SUM,           /* padding counts as zeros */
  GA_POOL_AVERAGE,       /* of the elements without padding */
  GA_POOL_AVERAGE_PADDED /* padding counts as zeros */
} gpupool_mode;

/* The last windows may be cut short. Without, what a whole window does not cover at the
 * end is left out. */
#define GA_POOL_CEIL 0x1
/* The gradient of a maximum is divided equally among the elements of its window that
 * equal it. */
#define GA_POOL_SHARED 0x2

/* Pooling over the last axes of an array; those before are a batch, of any number. Per
 * spatial axis, in elements: the window, the stride between windows, and the padding
 * before and after the data, less than the window. */
typedef struct _gpupool {
  size_t size;     /* sizeof(gpupool) */
  unsigned int nd; /* spatial axes, 1 to GA_POOL_MAX_AXES */
  gpupool_mode mode;
  int flags;
  size_t window[3], stride[3];
  size_t before[3], after[3];
} gpupool;

/* Sets `size`, `nd`, `mode`, and `nd` lengths of windows, which do not overlap: strides
 * are windows, without padding. */
void gpupool_init(gpupool *p, unsigned int nd, gpupool_mode mode, const size_t *window);

/* Lengths of a result's spatial axes for those of the data, both of `nd` elements: with
 * padding the data has v; then (v - window) / stride + 1, rounded down, and 0 if it has
 * no window. With GA_POOL_CEIL, rounded up, less windows that begin behind the data; v
 * less than a window is one. */
int gpupool_shape(size_t *out, const gpupool *p, const size_t *lengths);

/* Writes the pooled `a` to `out`. Integers too, for maxima and sums, which wrap. In all
 * these functions `out` may overlap inputs. */
int GpuArray_pool(GpuArray *out, const GpuArray *a, const gpupool *p);
/* Writes the gradient by `a`, in its shape, from `grad`, that of the result. Of maxima
 * it goes, whole or shared, to each element of `a` that equals its window's in
 * `result`; otherwise `a` and `result` are not read and may be NULL. */
int GpuArray_pool_grad(GpuArray *out, const GpuArray *a, const GpuArray *result,
                       const GpuArray *grad, const gpupool *p);
/* Writes, for each window of `a`, the sum of the elements of `v`, of the shape of `a`,
 * where `a` equals the window's maximum in `result`. It is the gradient by `grad` of
 * GpuArray_pool_grad with GA_POOL_MAX, the mode that `p` has. With GA_POOL_SHARED the
 * sum is over their number. */
int GpuArray_pool_at_maxima(GpuArray *out, const GpuArray *a, const GpuArray *result,
                            const GpuArray *v, const gpupool *p);
/* Writes, for each window of `a`, the element of `v` where its first maximum is (of
 * nan the first nan). The mode is GA_POOL_MAX. */
int GpuArray_pool_at_first(GpuArray *out, const GpuArray *a, const GpuArray *v,
                           const gpupool *p);

/* ---- batch normalisation ---- */

/* Normalisation by the mean and the variance over some axes of an array. */
typedef struct _gpubatchnorm {
  size_t size;       /* sizeof(gpubatchnorm) */
  unsigned int axes; /* bit i: over axis i */
  double epsilon;    /* added to variances */
  double factor;     /* share of new statistics in the running averages */
} gpubatchnorm;

/* Sets `size`, `axes`, epsilon 1e-4 and factor 0.1. The axes are the first one (per
 * activation), or if `is_spatial`, all of `nd` but the second. */
void gpubatchnorm_init(gpubatchnorm *b, unsigned int nd, int is_spatial);

/* Writes (x - mean) * invstd * gamma + beta to `out`, of the type of `x`. `mean` and
 * `invstd`, 1 / sqrt(variance + epsilon), are those of `x` over the axes; either may be
 * NULL. They are float32, or float64 for float64, as is the computation.
 *
 * Parameters and statistics have the shape of `x` with length 1 along the axes, or
 * without these. Those that are read are of any type that the computation's holds.
 * `running_mean` and `running_var`, unless both are NULL, are moved towards the mean
 * and the unbiased variance: old * (1 - factor) + new * factor. `out` may overlap
 * inputs, the other results nothing. */
int GpuArray_batch_norm_train(GpuArray *out, GpuArray *mean, GpuArray *invstd,
                              GpuArray *running_mean, GpuArray *running_var,
                              const GpuArray *x, const GpuArray *gamma,
                              const GpuArray *beta, const gpubatchnorm *b);
/* Writes (x - mean) / sqrt(variance + epsilon) * gamma + beta. */
int GpuArray_batch_norm(GpuArray *out, const GpuArray *x, const GpuArray *gamma,
                        const GpuArray *beta, const GpuArray *mean,
                        const GpuArray *variance, const gpubatchnorm *b);
/* Gradients of GpuArray_batch_norm_train's `out` by `x`, gamma and beta from its own,
 * `grad`, and the `mean` and `invstd` that it wrote. Each result may be NULL. They
 * overlap no other; `out` may overlap inputs. */
int GpuArray_batch_norm_grad(GpuArray *out, GpuArray *gamma_grad, GpuArray *beta_grad,
                             const GpuArray *grad, const GpuArray *x,
                             const GpuArray *gamma, const GpuArray *mean,
                             const GpuArray *invstd, const gpubatchnorm *b);

/* ---- bilinear upsampling ---- */

/* Interpolation by the fraction up / down, of rows and of columns. */
typedef struct _gpuupsampling {
  size_t size; /* sizeof(gpuupsampling) */
  size_t up[2], down[2];
} gpuupsampling;

/* Sets `size`, and the same fraction for both axes. */
void gpuupsampling_init(gpuupsampling *u, size_t up, size_t down);
/* Rows and columns of a result for those of images: n * up / down, rounded up. */
int gpuupsampling_shape(size_t *out, const gpuupsampling *u, const size_t *lengths);
/* Interpolates `images` (batch, channels, rows, columns) to `out`, with up / down in
 * lowest terms: element i of an axis is at the place (i * down - (up - 1) / 2) / up of
 * the images, whose first and last element go on beyond the ends. `out` overlaps no
 * input, here and below. */
int GpuArray_upsample(GpuArray *out, const GpuArray *images, const gpuupsampling *u);
/* Gradient by the images, whose shape `out` has, from `grad`, that of the result. */
int GpuArray_upsample_grad(GpuArray *out, const GpuArray *grad, const gpuupsampling *u);

/* ---- spatial transformer ---- */

/* Writes the points (batch, rows, columns, 2) at which affine maps look: of each matrix
 * of `theta` (batch, 2, 3) the products with (x, y, 1). x goes from -1 to 1 over the
 * columns, y over the rows; one column or row is at 0. `out` overlaps no input, here
 * and below. */
int GpuArray_affine_grid(GpuArray *out, const GpuArray *theta);
/* Gradient by theta from `grad`, that of the points. */
int GpuArray_affine_grid_grad(GpuArray *out, const GpuArray *grad);
/* Interpolates `images` (batch, channels, height, width) at the points (x, y) of `grid`
 * (batch, rows, columns, 2) to `out` (batch, channels, rows, columns). -1 is the first
 * column or row, 1 the last one, so that x is at the column (x + 1) * (width - 1) / 2.
 * Beyond the images are zeros. A point that is nan has 0. The grid of float16 or
 * bfloat16 images may be float32, here and below. */
int GpuArray_grid_sample(GpuArray *out, const GpuArray *images, const GpuArray *grid);
/* Gradient by the images, whose shape `out` has, from `grad`, that of the result. */
int GpuArray_grid_sample_grad_images(GpuArray *out, const GpuArray *grid,
                                     const GpuArray *grad);
/* Gradient by the grid, whose shape `out` has. At a pixel, where
 * there is none, it is that on the side of the next one. */
int GpuArray_grid_sample_grad_grid(GpuArray *out, const GpuArray *images,
                                   const GpuArray *grid, const GpuArray *grad);
/* cdef: end */

GPUARRAY_END_DECLS

#endif
