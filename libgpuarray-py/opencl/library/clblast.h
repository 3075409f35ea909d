/* CLBlast, loaded dynamically, for devices other than CPUs. */
#ifndef GA_OPENCL_CLBLAST_H
#define GA_OPENCL_CLBLAST_H

#include "opencl/device_state.h"

/* GA_LOAD_ERROR without the library, or where the device's OpenCL is not the ICD loader
 * that CLBlast links to. */
int ga__clblast_open(void *device);
bool ga__clblast_serves(void *device, const ga_blas_call *call);
int ga__clblast_product(ga_opencl_device *device, const ga_blas_call *call);
/* Appends what was searched and found, a line each. */
void ga__clblast_report(ga_strbuf *out);

#endif
