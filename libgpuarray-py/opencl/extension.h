/* The "cl_" functions of gpuarray/extension.h. */
#ifndef GA_OPENCL_EXTENSION_H
#define GA_OPENCL_EXTENSION_H

#include "c/backend/backend.h"

extern const ga_extension ga__opencl_extensions[];

#endif
