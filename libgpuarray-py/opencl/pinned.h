/* Pinned host memory for discrete GPUs. */
#ifndef GA_OPENCL_PINNED_H
#define GA_OPENCL_PINNED_H

#include "opencl/device_state.h"

extern const ga_pinning ga__opencl_pinning;

#endif
