/* Convolutions: one description for the three roles, and the kernels that run them. */
#ifndef GA_C_CONV_CALL_H
#define GA_C_CONV_CALL_H

#include "c/elemwise/elemwise_map.h"
#include "c/program/kernel.h"
#include <gpuarray/dnn.h>

/* Which of the three arrays is computed from the other two. */
enum ga_conv_role { GA_CONV_RESULT, GA_CONV_IMAGE, GA_CONV_FILTERS };

/* Spatial axes: fewer are preceded by axes of length 1. */
enum { GA_CONV_AXES = 3 };

/* Lengths and geometry of a spatial axis, in elements. */
typedef struct ga_conv_axis {
  size_t image, filter, result;
  size_t stride, dilation, before;
} ga_conv_axis;

/* Memory of an array: strides are in elements, of axes of length 1 they are 0. */
typedef struct ga_conv_array {
  gpudata *data;
  size_t offset;
  ssize_t outer[2];            /* batch and channel; of filters: result and channel */
  ssize_t inner[GA_CONV_AXES]; /* spatial */
} ga_conv_array;

/* A checked convolution. `channels` and `results` are those of a group. Flipped filters
 * are a view with negative strides. */
typedef struct ga_conv {
  enum ga_conv_role role;
  gpucontext *context;
  int typecode;
  size_t batch, groups, channels, results;
  ga_conv_axis axes[GA_CONV_AXES];
  ga_conv_array image, filters, result;
  bool is_unshared;
  bool is_flipped; /* the strides of filters are negated */
  bool is_deterministic;
  ssize_t places[GA_CONV_AXES]; /* strides of unshared filters over places */
  const ga_mapping *map;        /* epilogue, or NULL */
} ga_conv;

static inline const ga_conv_array *ga__conv_output(const ga_conv *c) {
  return c->role == GA_CONV_RESULT  ? &c->result
         : c->role == GA_CONV_IMAGE ? &c->image
                                    : &c->filters;
}

/* First spatial axis of filters. */
static inline unsigned int ga__conv_first_axis(const gpuconv *c) {
  return c->flags & GA_CONV_UNSHARED ? 2 + c->nd : 2;
}

/* GA_INVALID_ERROR or GA_VALUE_ERROR unless it describes a convolution. */
int ga__conv_check(const gpuconv *c, const char *operation);
/* Fills in the axes from the shapes. GA_VALUE_ERROR where they do not fit. */
int ga__conv_geometry(ga_conv_axis axes[GA_CONV_AXES], const gpuconv *c,
                      const size_t *image, const size_t *filters,
                      const char *operation);
/* Elements of the output. */
size_t ga__conv_count(const ga_conv *c);

/* True if an int counts the elements of the three arrays, also between strides. */
bool ga__conv_is_narrow(const ga_conv *c);

/* What alone reads a result, where a vendor's library may know it: (the result less a
 * centre) times a scale, plus a bias, plus a residual, then max(0, ), each if it is
 * there. They are by their places among the arguments of the expression, 0 for none;
 * all but the residual are by channel. With a centre there are a scale and a bias. */
typedef struct ga_conv_reader {
  bool is_known, is_relu;
  unsigned int bias, residual, scale, centre;
} ga_conv_reader;

/* A convolution by the role, of the two arrays that it reads in the order of the
 * functions of gpuarray/dnn.h, and an expression that alone reads it: `out`, of its
 * shape and any type, is the only output of `map`, and `reader` what that computes.
 * GA_DEVSUP_ERROR, with nothing queued, unless what computes the convolution can store
 * the expression. */
int ga__conv_mapped(GpuArray *out, enum ga_conv_role role, const GpuArray *a,
                    const GpuArray *b, const gpuconv *c, const ga_mapping *map,
                    const ga_conv_reader *reader);

/* Any convolution: an item computes an element. */
int ga__conv_direct(const ga_conv *c);
/* Filters of one element: a product of matrices for each image, without copies, where
 * it is worth a call. */
bool ga__conv_product_takes(const ga_conv *c);
int ga__conv_product(const ga_conv *c);
/* The same on GPUs: one product for all images, whose places are copied to one axis
 * where they are not. */
bool ga__conv_columns_takes(const ga_conv *c);
int ga__conv_columns(const ga_conv *c);
/* On processors: shared filters, of an extent that the kernels have tables for. */
bool ga__conv_cpu_takes(const ga_conv *c);
int ga__conv_cpu(const ga_conv *c);

#endif
