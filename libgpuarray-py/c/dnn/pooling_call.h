/* Pooling: one description for its roles, and the kernels that run them. */
#ifndef GA_C_POOLING_CALL_H
#define GA_C_POOLING_CALL_H

#include "c/array/array.h"
#include "c/program/kernel.h"
#include <gpuarray/dnn.h>

enum ga_pooling_role {
  GA_POOL_RESULT,
  GA_POOL_GRAD,
  GA_POOL_AT_MAXIMA,
  GA_POOL_AT_FIRST,
  GA_POOL_SHARES /* a window's gradient over the number of its maxima */
};

/* Spatial axes: fewer are preceded by axes of length 1. */
enum { GA_POOL_AXES = GA_POOL_MAX_AXES };

/* Operands: the output, the data, the maxima of its windows, and what is gathered. */
enum ga_pooling_operand {
  GA_POOL_OUT,
  GA_POOL_DATA,
  GA_POOL_MAXIMA,
  GA_POOL_VALUES,
  GA_POOL_OPERANDS
};

typedef struct ga_pooling_axis {
  size_t length, result; /* of the data, of windows */
  size_t window, stride, before, after;
} ga_pooling_axis;

/* Memory of an operand: strides in elements. `data` is NULL if there is none. */
typedef struct ga_pooling_array {
  gpudata *data;
  size_t offset;
  ssize_t outer[2], inner[GA_POOL_AXES];
} ga_pooling_array;

/* A checked pooling, none of whose arrays is empty. */
typedef struct ga_pooling {
  enum ga_pooling_role role;
  int mode, typecode;
  bool is_shared; /* at maxima: over their number */
  gpucontext *context;
  size_t outer[2];
  ga_pooling_axis axes[GA_POOL_AXES];
  ga_pooling_array operands[GA_POOL_OPERANDS];
} ga_pooling;

/* True if the role reads or writes the operand, and if that has the shape of the data.
 */
bool ga__pooling_has(enum ga_pooling_role role, int mode,
                     enum ga_pooling_operand which);
bool ga__pooling_is_data(enum ga_pooling_role role, enum ga_pooling_operand which);

int ga__pooling_launch(const ga_pooling *p);

#endif
