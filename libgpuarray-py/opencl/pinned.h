/* Memory of the host that OpenCL allocates for a discrete GPU. */
#ifndef GA_OPENCL_PINNED_H
#define GA_OPENCL_PINNED_H

#include "opencl/device.h"

extern const ga_pinning ga__opencl_pinning;

#endif
