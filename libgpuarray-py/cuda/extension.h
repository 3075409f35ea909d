/* The functions of gpuarray/ext_cuda.h. */
#ifndef GA_CUDA_EXTENSION_H
#define GA_CUDA_EXTENSION_H

#include "c/backend/backend.h"

extern const ga_extension ga__cuda_extensions[];

#endif
