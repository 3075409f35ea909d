/* Interoperability with other users of OpenCL; see c/backend/backend.h. */
#ifndef GA_OPENCL_SHARE_H
#define GA_OPENCL_SHARE_H

#include "opencl/device_state.h"

extern const ga_sharing ga__opencl_sharing;

#endif
