/* The version of the interface, for programs of libgpuarray 0.7 that ask here:
 * GPUARRAY_ABI_VERSION and GPUARRAY_API_VERSION.
 *
 * Words only. Ownership: nothing here is owned. Waiting: none. Failure: none. Threads:
 * nothing is shared. */
#ifndef GPUARRAY_ABI_VERSION_H
#define GPUARRAY_ABI_VERSION_H

#include <gpuarray/config.h>

#endif
