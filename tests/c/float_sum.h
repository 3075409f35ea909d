/* The sum of a float32 input, as a reduction. */
#ifndef FLOAT_SUM_H
#define FLOAT_SUM_H

#include <gpuarray/reduction.h>

static inline gpureduction_spec float_sum(const gpuelemwise_arg *input) {
  return (gpureduction_spec){.size = sizeof(gpureduction_spec),
                             .map = "x",
                             .combine = "a + b",
                             .identity = "0",
                             .acc_typecode = GA_FLOAT,
                             .out_typecode = GA_FLOAT,
                             .n = 1,
                             .inputs = input};
}

#endif
