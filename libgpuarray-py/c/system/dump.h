/* Sources of kernels, written to a folder for a reader. */
#ifndef GA_C_DUMP_H
#define GA_C_DUMP_H

#include "c/base/status.h"

/* Writes the body of a kernel to "<hash of it>.cluda" in the folder that
 * GPUARRAY_DUMP_KERNELS names, which is made if it is missing; a file that is there
 * stays. Without the variable nothing happens. GA_SYS_ERROR if it cannot be written. */
int ga__dump_source(const char *body);

#endif
