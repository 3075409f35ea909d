/* A BLAS as the backend's table; see c/backend/backend.h. */
#ifndef GA_OPENCL_BLAS_H
#define GA_OPENCL_BLAS_H

#include "opencl/device_state.h"

extern const ga_blas ga__opencl_blas;

/* The host's BLAS for CPUs, else CLBlast; GA_LOAD_ERROR without. */
int ga__opencl_blas_open(void *device, bool with_epilogues);
/* Appends what was searched and found, a line each. */
void ga__opencl_blas_report(ga_strbuf *out);

#endif
