/* What the C code of an op is compiled with: the names that Theano's ops use, over
 * libgpuarray. There is no Python and no NumPy behind them, so a compiled op runs
 * without either.
 *
 * Arrays of the host are PyArrayObject (op/host.h), those of a device PyGpuArrayObject
 * (op/device.h); both count their references. A failure is an exception that is set
 * (op/errors.h) before the code jumps to `fail`; the caller asks for it
 * (gpuarray_op_error). All else is static: each op has its own. An op's code runs on
 * one thread at a time: calls take turns. */
#ifndef GPUARRAY_OP_H
#define GPUARRAY_OP_H

#if defined(__GNUC__) || defined(__clang__)
#pragma GCC system_header
#endif

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <gpuarray/array.h>
#include <gpuarray/blas.h>
#include <gpuarray/buffer.h>
#include <gpuarray/elemwise.h>
#include <gpuarray/error.h>
#include <gpuarray/kernel.h>
#include <gpuarray/types.h>
#include <gpuarray/util.h>

#include "op/objects.h"

#include "op/errors.h"

#include "op/host.h"

#include "op/device.h"

#include "op/values.h"

static pthread_mutex_t ga_op_turn = PTHREAD_MUTEX_INITIALIZER;

#endif
