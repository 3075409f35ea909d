/* The registry of backends; the only place of c/ that names vendors. */
#ifndef GA_C_BACKENDS_H
#define GA_C_BACKENDS_H

#include "c/backend/backend.h"

/* NULL for an unknown name. */
const ga_backend *ga__backend_find(const char *name);
/* The names, for messages: "cuda, opencl, null". */
const char *ga__backend_names(void);

/* Address of a device that is not open yet. */
typedef struct ga_address {
  const ga_backend *backend;
  unsigned int platform, index;
} ga_address;
#define GA_DEVICE_NAME 32

/* Fork check around calls of a vendor's runtime. GA_FORK_ERROR in the child of a
 * process that has called it: the runtime's threads are gone, and it would wait for
 * them forever. */
int ga__backend_check_fork(const ga_backend *backend);
void ga__backend_note_asked(const ga_backend *backend);

/* Parses a device name ("cuda0", "cuda", "opencl0:1", "opencl", "null"). NULL is the
 * default device, the first of: CUDA, discrete OpenCL GPU, any OpenCL GPU, OpenCL CPU.
 * GA_INVALID_ERROR for another form, GA_NODEV_ERROR or GA_LOAD_ERROR with advice if
 * there is none. */
int ga__backend_device(ga_address *out, const char *name);
/* The device's name in that form. */
void ga__backend_device_name(char out[GA_DEVICE_NAME], const ga_address *address);
/* Adds advice to the message of a device that could not be opened. */
int ga__backend_advise(int status);

/* GA_DEVSUP_ERROR if `flags` (GA_USE_CUDA, GA_USE_OPENCL) demand another vendor's
 * language. */
int ga__backend_speaks(const ga_backend *backend, int flags);

#endif
