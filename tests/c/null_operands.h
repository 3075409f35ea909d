/* Arrays for the tests of NULL arguments. */
#ifndef GA_TESTS_NULL_OPERANDS_H
#define GA_TESTS_NULL_OPERANDS_H

#include "null_arguments.h"

#include <gpuarray/buffer_collectives.h>
#include <gpuarray/collectives.h>
#include <gpuarray/dlpack.h>
#include <gpuarray/dnn.h>
#include <gpuarray/ext_cuda.h>
#include <gpuarray/host.h>
#include <gpuarray/index.h>
#include <gpuarray/kernel.h>
#include <gpuarray/profile.h>
#include <gpuarray/random.h>
#include <gpuarray/reduction.h>
#include <gpuarray/scan.h>
#include <gpuarray/sort.h>
#include <gpuarray/sparse.h>

#include "c/array/array.h"
#include "float_sum.h"

static GpuArray a, b, positions, mask;

/* For functions that give a pointer, with the status in *ret. */
static int ret;
#define STATUS_OF(pointer) (ret = 0, (pointer) == NULL ? ret : GA_NO_ERROR)

static const size_t dims[2] = {4, 4};
static const ssize_t zeros[2] = {0, 0}, ends[2] = {4, 4}, steps[2] = {1, 1};
static const int order[2] = {1, 0};
static const unsigned int axes[2] = {1, 0};

static void make_arrays(void) {
  CHECK_OK(GpuArray_zeros(&a, ctx, GA_FLOAT, 2, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&b, ctx, GA_FLOAT, 2, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&positions, ctx, GA_LONG, 1, dims, GA_C_ORDER));
  CHECK_OK(GpuArray_zeros(&mask, ctx, GA_BOOL, 2, dims, GA_C_ORDER));
}

#endif
