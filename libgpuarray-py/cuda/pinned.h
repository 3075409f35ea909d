/* Pinned (page-locked) host memory. */
#ifndef GA_CUDA_PINNED_H
#define GA_CUDA_PINNED_H

#include "cuda/device_state.h"

extern const ga_pinning ga__cuda_pinning;

#endif
