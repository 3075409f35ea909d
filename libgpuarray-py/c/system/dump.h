/* GPUARRAY_DUMP_KERNELS: kernel sources written to a folder, to be read. */
#ifndef GA_C_DUMP_H
#define GA_C_DUMP_H

#include "c/base/status.h"

/* Writes a kernel's body to <hash>.cluda in the folder that GPUARRAY_DUMP_KERNELS
 * names, made if missing; an existing file stays. Nothing without the variable.
 * GA_SYS_ERROR if it cannot be written. */
int ga__dump_source(const char *body);

#endif
