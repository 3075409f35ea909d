/* CLBlast, opened at run time, for devices that are no CPU. */
#ifndef GA_OPENCL_CLBLAST_H
#define GA_OPENCL_CLBLAST_H

#include "opencl/device.h"

/* GA_LOAD_ERROR without the library, or where the device's OpenCL is not the loader
 * that CLBlast calls. */
int ga__clblast_open(void *device);
bool ga__clblast_serves(void *device, const ga_blas_call *call);
int ga__clblast_product(ga_opencl_device *device, const ga_blas_call *call);
/* Adds what was searched and found, a line each. */
void ga__clblast_report(ga_strbuf *out);

#endif
