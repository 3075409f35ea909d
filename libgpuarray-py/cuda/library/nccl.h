/* NCCL as the backend's table of collectives; see c/backend/backend.h. */
#ifndef GA_CUDA_NCCL_H
#define GA_CUDA_NCCL_H

#include "cuda/device_state.h"

extern const ga_collectives ga__cuda_collectives;

#endif
