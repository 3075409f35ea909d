/* A BLAS behind the backend's table, where there is one: see c/backend/backend.h. */
#ifndef GA_OPENCL_BLAS_H
#define GA_OPENCL_BLAS_H

#include "opencl/device.h"

extern const ga_blas ga__opencl_blas;

/* A BLAS of the host for CPUs, CLBlast for the others; GA_LOAD_ERROR without. */
int ga__opencl_blas_open(void *device, bool with_epilogues);
/* Adds what was searched and found, a line each. */
void ga__opencl_blas_report(ga_strbuf *out);

#endif
