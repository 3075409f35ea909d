/* Interoperability with other users of CUDA; see c/backend/backend.h. */
#ifndef GA_CUDA_SHARE_H
#define GA_CUDA_SHARE_H

#include "cuda/device_state.h"

extern const ga_sharing ga__cuda_sharing;

#endif
